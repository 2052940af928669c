#ifndef TUNEONCE_TOOLS_AUTHORING_COMPILER_OPTIONS_H_
#define TUNEONCE_TOOLS_AUTHORING_COMPILER_OPTIONS_H_

#include <string>
#include <vector>

#include "tuneonce/kernel_source.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Gives the compiler of `source` what option axes of these values ("ftz=true") would. Errors:
/// InvalidArgument for an option that is unknown, that takes other values, or that the compiler of these sources does
/// not take.
Status AddCompilerOptions(const std::vector<std::string>& settings, KernelSource* source);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_AUTHORING_COMPILER_OPTIONS_H_
