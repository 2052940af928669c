#ifndef TUNEONCE_LIB_COMPILE_CPU_HEADERS_H_
#define TUNEONCE_LIB_COMPILE_CPU_HEADERS_H_

#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "base/temporary_folder.h"
#include "compile/header_search.h"
#include "compile/toolbox.h"
#include "tuneonce/artifact.h"
#include "tuneonce/compile_options.h"

namespace tuneonce {
inline namespace v0 {

/// A compile by the host's compiler that has ended.
struct HostCompile {
  std::vector<std::string> compiler;  ///< A program and its first arguments.
  std::vector<std::string> options;   ///< Without macros, which are `defines`.
  std::vector<std::string> defines;
  std::string text;             ///< What was compiled.
  std::string dependency_file;  ///< That the compiler wrote (-MF).
  timespec started{};           ///< By FileClock.
};

/// The folders that gcc and clang name under -v. Those that do not exist come first: where they stand is not stated,
/// and each would precede some of the others.
HeaderPath HeaderPathIn(std::string_view verbose_output);

/// Sets the dependencies of `artifact`, which the compiler made in `folder`, or that it is not cacheable: options that
/// are not known here may hand over other files (libraries, plugins, profiles, files of options). Errors: the list of
/// headers cannot be read.
Status SetHostDependencies(const HostCompile& compile, const Toolbox& tools, const TemporaryFolder& folder,
                           const WaitLimits& limits, Artifact* artifact);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_CPU_HEADERS_H_
