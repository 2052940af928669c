#ifndef TUNEONCE_LIB_COMPILE_CPU_HEADERS_H_
#define TUNEONCE_LIB_COMPILE_CPU_HEADERS_H_

#include <string>
#include <string_view>

#include "compile/command_toolchain.h"
#include "compile/header_search.h"

namespace tuneonce {
inline namespace v0 {

/// The folders that gcc and clang name under -v. Those that do not exist come first: where they stand is not stated,
/// and each would precede some of the others.
HeaderPath HeaderPathIn(std::string_view verbose_output);

/// Sets the dependencies of the artifact that the host's compiler made, or that it is not cacheable: options that are
/// not known here may hand over other files (libraries, plugins, profiles, files of options). `dependency_file` is what
/// the compiler wrote (-MF). Errors: the list of headers cannot be read.
Status SetHostDependencies(CommandRun* run, const std::string& dependency_file);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_CPU_HEADERS_H_
