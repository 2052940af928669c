#ifndef TUNEONCE_BINDINGS_CLI_BUNDLE_COMPILE_H_
#define TUNEONCE_BINDINGS_CLI_BUNDLE_COMPILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bundle_folder.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/plugin/artifact.h"
#include "tuneonce/result.h"
#include "tuneonce/search_space.h"

namespace tuneonce::cli {

/// Returns the first file that a C++ source of the bundle in `folder` includes and that is neither one of its `headers`
/// nor the compiler's own. Such a file would not be shipped with the bundle, and is not part of the kernel's identity.
/// If the compile succeeded, its list of files decides, or without a list (NVRTC before 13) a "header" in the working
/// directory. If it failed, a "header" decides that the error names and the bundle's folder contains. The result is
/// relative to `folder` if the file is in it.
std::optional<std::string> FindLooseHeader(const std::string& folder, const KernelSource& source,
                                           const Result<Artifact>& compiled);

struct BundleCompileOptions {
  std::vector<std::string> targets;
  std::string selections;  ///< A store's file; empty: none.
  bool only_decided = false;
  bool no_sources = false;
  std::vector<std::string> dtypes;    ///< ProblemsOf.
  std::vector<std::string> variants;  ///< Those whose code travels (VariantsNamed); empty: all.
  std::string output;                 ///< A folder that is not there, or empty. Not used by a dry run.
  bool is_dry_run = false;            ///< Compile and write nothing: only find out what would be compiled.
  int timeout_ms = 0;                 ///< Limits one compile; 0 selects the default of CompileOptions::timeout_ms.
};

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

/// Runs CompileBundle and prints what was compiled. Errors: those of CompileBundle.
Status CompileAndPrint(const BundleFolder& folder, const BundleCompileOptions& options, bool json);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_BUNDLE_COMPILE_H_
