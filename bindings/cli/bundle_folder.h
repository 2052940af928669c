#ifndef TUNEONCE_BINDINGS_CLI_BUNDLE_FOLDER_H_
#define TUNEONCE_BINDINGS_CLI_BUNDLE_FOLDER_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "bundle/bundle_files.h"
#include "bundle/precompiled_bundle.h"
#include "tuneonce/bundle.h"

namespace tuneonce::cli {

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

/// Returns the files in the folder that nothing names, sorted, relative to it. The files of the bundle are
/// manifest.json, precompiled.json, and the files that these two name.
std::vector<std::string> UnreadFiles(const BundleFolder& folder);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_BUNDLE_FOLDER_H_
