// PTX of any content: refused in one line, or looked at, and the same each time.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "inspect/classification.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  tuneonce::Result<tuneonce::KernelEvidence> first = tuneonce::PtxEvidence(text, "");
  if (!first.ok()) {
    if (first.status().message().find('\n') != std::string::npos) std::abort();
    return 0;
  }
  tuneonce::Result<tuneonce::KernelEvidence> second = tuneonce::PtxEvidence(text, "");
  if (!second.ok() || tuneonce::Classify(*second).reasons != tuneonce::Classify(*first).reasons) std::abort();
  return 0;
}
