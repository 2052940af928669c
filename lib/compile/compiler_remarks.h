#ifndef TUNEONCE_LIB_COMPILE_COMPILER_REMARKS_H_
#define TUNEONCE_LIB_COMPILE_COMPILER_REMARKS_H_

#include <string>
#include <string_view>
#include <vector>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Returns the remarks in a file of LLVM's YAML format, as Artifact::remarks has them: failed ones first, then missed,
/// analysis and passed ones, each kind by line and column, and each remark once. The order of the file differs from run
/// to run. At most 32 remarks are kept; a last line then counts the others. Whatever is not in that format is skipped.
std::vector<std::string> RemarksIn(std::string_view yaml);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_COMPILER_REMARKS_H_
