#ifndef TUNEONCE_TOOLS_AUTHORING_BUNDLE_COMPILE_H_
#define TUNEONCE_TOOLS_AUTHORING_BUNDLE_COMPILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "authoring/bundle_actions.h"
#include "authoring/bundle_folder.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/plugin/artifact.h"
#include "tuneonce/result.h"
#include "tuneonce/search_space.h"

namespace tuneonce {
inline namespace v0 {

/// Returns the first file that a C++ source of the bundle in `folder` includes and that is neither one of its `headers`
/// nor the compiler's own. Such a file would not be shipped with the bundle, and is not part of the kernel's identity.
/// If the compile succeeded, its list of files decides, or without a list (NVRTC before 13) a "header" in the working
/// directory. If it failed, a "header" decides that the error names and the bundle's folder contains. The result is
/// relative to `folder` if the file is in it.
std::optional<std::string> FindLooseHeader(const std::string& folder, const KernelSource& source,
                                           const Result<Artifact>& compiled);

/// What was compiled for one target, or would be by a dry run.
struct CompiledTarget {
  /// What a dry run would compile of one variant.
  struct OfVariant {
    std::string name;
    std::vector<std::string> configs;  ///< Each code once, by its first config.
  };

  std::string name;
  std::int64_t num_points = 0;       ///< Before conditions.
  SearchSpace::Exclusions excluded;  ///< Points, by the condition that excludes them.
  std::vector<OfVariant> variants;   ///< Empty unless this is a dry run.
  int num_configs = 0;
  int num_compiled = 0;                 ///< Ways to build them whose code travels.
  int num_refused = 0;                  ///< ... which the compiler refused.
  int num_as_they_are = 0;              ///< ... which are cubins already.
  std::int64_t bytes = 0;               ///< Total size of the files.
  std::vector<std::string> toolchains;  ///< With their versions.
  int num_selections = 0;
  int num_other_selections = 0;  ///< Records of the kernel's name that are of other sources or another version.
};

/// Compiles every config of a bundle for each target and writes a bundle whose folder contains the code
/// (precompiled.json). Errors: those of the options; a compiler that is missing or hangs; an output folder that cannot
/// be written. After an error no files are left. A dry run compiles and writes nothing, and needs no compiler.
Result<std::vector<CompiledTarget>> CompileBundle(const BundleFolder& folder, const BundleCompileOptions& options);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_AUTHORING_BUNDLE_COMPILE_H_
