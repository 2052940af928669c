#include "own_absl.h"

namespace absl {

std::string StrCat(const std::string& a, const std::string& b) { return "own:" + a + b; }

}  // namespace absl
