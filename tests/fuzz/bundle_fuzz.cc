// Feeds the manifest reader arbitrary bytes; the artifacts that it names are those of an example.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/file.h"
#include "tuneonce/kernel/bundle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string kernel =
      *tuneonce::ReadFile(std::string(TUNEONCE_TEST_DATA) + "/../../docs/examples/bundles/softmax/softmax.1024.tileir");
  const tuneonce::EmbeddedFile files[] = {
      {"manifest.json", data, size},
      {"softmax.1024.tileir", reinterpret_cast<const unsigned char*>(kernel.data()), kernel.size()}};
  static_cast<void>(tuneonce::Bundle::Load(tuneonce::EmbeddedBundle{"fuzz", files, 2}));
  return 0;
}
