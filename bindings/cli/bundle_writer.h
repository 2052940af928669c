#ifndef TUNEONCE_BINDINGS_CLI_BUNDLE_WRITER_H_
#define TUNEONCE_BINDINGS_CLI_BUNDLE_WRITER_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bundle_folder.h"
#include "tuneonce/plugin/artifact.h"

namespace tuneonce::cli {

/// Writes a precompiled bundle: the files of the original bundle, code, and precompiled.json. What is added is kept in
/// memory until Write.
class BundleWriter {
 public:
  explicit BundleWriter(const BundleFolder& folder) : folder_(folder) {}

  /// Whether such a bundle can be made of this one, and put there. Errors: FailedPrecondition, InvalidArgument.
  Status Check(const std::string& output) const;

  void AddTarget(const std::string& name, const std::string& cpu);
  void AddImage(const BundleWay& way, const std::string& target, const Artifact& artifact);
  void AddRefusal(const BundleWay& way, const std::string& target, const std::string& why);
  void AddSelections(std::string records);
  /// The files that the manifest names, and the manifest; of sources that are compiled only what identifies them unless
  /// they are to come along. Errors: a file that cannot be read.
  Status AddBundlesFiles(bool with_sources);

  /// Returns the total size of the files for a target, which configs may share.
  std::int64_t BytesOf(const std::string& target) const;
  std::vector<std::string> ToolchainsOf(const std::string& target) const;
  /// Returns the first refusal, or an empty text.
  std::string FirstRefusal(const std::string& target) const;

  /// All of it, or nothing: beside `output`, then renamed. Errors: Unavailable, with the path.
  Status Write(const std::string& output) const;

 private:
  nlohmann::ordered_json Entry(const BundleWay& way, const std::string& target, const std::string& toolchain) const;
  Status AddWithheld(const NamedFile& file);
  Status WriteInto(const std::string& folder) const;

  const BundleFolder& folder_;
  std::map<std::string, std::string> files_;  // By name, relative to the folder.
  nlohmann::ordered_json targets_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json code_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json withheld_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json selections_;
};

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_BUNDLE_WRITER_H_
