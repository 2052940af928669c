#ifndef TUNEONCE_LIB_COMPILE_DEPENDENCY_FILE_H_
#define TUNEONCE_LIB_COMPILE_DEPENDENCY_FILE_H_

#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "compile/command_toolchain.h"
#include "compile/header_search.h"
#include "tuneonce/plugin/artifact.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The file names of a make rule as compilers write it ("-MD"): "target: a.cc some\ file.h \". Relative names stay so.
std::vector<std::string> NamesInRule(const std::string& rule);

/// Now, by the clock that files' times are taken from: to be had before a compile, for SetDependencies.
timespec FileClock();

/// Sets what `artifact` was made of: the files `names`, each of which may be named several times. It is not cacheable
/// then if a file is gone, or was changed since `started`: nobody knows which content was compiled.
void SetDependencies(std::vector<std::string> names, const timespec& started, Artifact* artifact);
/// The file names of the rule in `dependency_file`, without those in `folder`. Errors: the file cannot be read.
Result<std::vector<std::string>> NamesInRuleFile(const std::string& dependency_file, const std::string& folder);

/// Sets what `artifact` was made of: the files `read`, and what `search` finds besides them and finds missing.
void SetDependencies(std::vector<std::string> read, HeaderSearch* search, const timespec& started, Artifact* artifact);

/// Whether all files that `artifact` was made of exist with the content that they had, and none of those that were
/// missing exists.
bool DependenciesHold(const Artifact& artifact);

/// The folders that gcc and clang name under -v. Those that do not exist come first: where they stand is not stated,
/// and each would precede some of the others.
HeaderPath HeaderPathIn(std::string_view verbose_output);

/// Sets the dependencies of the artifact that the host's compiler made, or that it is not cacheable: options that are
/// not known here may hand over other files (libraries, plugins, profiles, files of options). `dependency_file` is what
/// the compiler wrote (-MF). Errors: the list of headers cannot be read.
Status SetHostDependencies(CommandRun* run, const std::string& dependency_file);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_DEPENDENCY_FILE_H_
