// Any bytes at all: refused, or patched into a well-formed file. Never a crash or an endless loop.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "testing/tile_ir_property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bool accepted = false;
  std::string violation =
      tuneonce::TileIrPropertyViolation(std::string_view(reinterpret_cast<const char*>(data), size), &accepted);
  if (!violation.empty()) {
    std::fprintf(stderr, "%s\n", violation.c_str());
    std::abort();
  }
  return 0;
}
