// RemarksIn with any text: a bounded number of lines, each of one line.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "compile/compiler_remarks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto lines = tuneonce::RemarksIn(std::string_view(reinterpret_cast<const char*>(data), size));
  if (lines.size() > 33) std::abort();
  for (const std::string& line : lines) {
    if (line.empty() || line.size() > 400 || line.find('\n') != line.npos) std::abort();
  }
  return 0;
}
