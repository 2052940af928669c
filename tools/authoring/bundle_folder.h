#ifndef TUNEONCE_TOOLS_AUTHORING_BUNDLE_FOLDER_H_
#define TUNEONCE_TOOLS_AUTHORING_BUNDLE_FOLDER_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "bundle/bundle_files.h"
#include "bundle/precompiled_bundle.h"
#include "definition/shared_source.h"
#include "tuneonce/arguments.h"
#include "tuneonce/bundle.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
inline namespace v0 {

/// A bundle's folder as the command works on it: the bundle that was read of it, and its files.
struct BundleFolder {
  std::string path;  ///< Without links.
  Bundle bundle;
  KernelDefinition definition;  ///< The bundle's, validated.
  BundleFiles files;
  std::shared_ptr<const PrecompiledBundle> precompiled;  ///< Null without one.
  nlohmann::ordered_json manifest;                       ///< The manifest, which was checked when the bundle was read.
};

/// Errors: as Bundle::Load.
Result<BundleFolder> OpenBundleFolder(const std::string& folder_or_name);

/// A file that a variant of a manifest names.
struct NamedFile {
  std::string variant;
  std::string source;                ///< The variant's kind of source.
  std::string file;                  ///< Relative to the folder.
  bool is_header = false;            ///< It is one of `headers`.
  const nlohmann::ordered_json* of;  ///< The variant.
};
std::vector<NamedFile> NamedFiles(const nlohmann::ordered_json& manifest);

/// Returns the files of the bundle, relative to its folder: manifest.json, precompiled.json, and the files that these
/// two name.
std::set<std::string> FilesOf(const BundleFolder& folder);

/// Returns the files in the folder that do not belong to the bundle, sorted, relative to it.
std::vector<std::string> UnreadFiles(const BundleFolder& folder);

/// One way to build one config of a bundle on a target, which a search there would compile.
struct BundleWay {
  const Variant* variant = nullptr;  ///< A variant of BundleWays::definition.
  Config config;
  SharedSource source;
  Hints hints;
  Fingerprint key;  ///< PrecompiledKey.
};

/// All ways to build a bundle on one target. A definition's functions are called as a search calls them.
struct BundleWays {
  std::vector<Config> configs;       ///< The configs of the target, in the space's order.
  std::vector<Fingerprint> kernels;  ///< KernelFingerprint, for each combination of dtypes.
  std::vector<BundleWay> ways;  ///< For all combinations of dtypes: by variant that accepts the dtypes, then by config.
};

/// The dtypes of the tensors whose dtype the bundle leaves open: `settings` ("x=float16", a name several times for
/// several), else all that variants are for, else the example's. One problem for each combination; its dims are 0.
/// Errors: InvalidArgument for a name that is no such tensor's, or no dtype.
Result<std::vector<Problem>> ProblemsOf(const KernelDefinition& definition, const Bundle::Example& example,
                                        const std::vector<std::string>& settings);

/// REQUIRES: `definition` was validated, and outlives the result. Errors: Unimplemented if no variant runs on the
/// target; those of the definition's functions.
Result<BundleWays> WaysOn(const KernelDefinition& definition, const Target& target, std::vector<Problem> problems);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_AUTHORING_BUNDLE_FOLDER_H_
