#ifndef TUNEONCE_LIB_BUNDLE_PRECOMPILED_BUNDLE_H_
#define TUNEONCE_LIB_BUNDLE_PRECOMPILED_BUNDLE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bundle/bundle_files.h"
#include "bundle/manifest.h"
#include "definition/precompiled_code.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The code that travels in a bundle's folder: what precompiled.json lists. An image is read, and its checksum
/// compared, when it is asked for: a process needs those of one target, and few of them. Thread rule: immutable; any
/// thread.
class PrecompiledBundle final : public PrecompiledCode {
 public:
  static constexpr const char* kFile = "precompiled.json";
  static constexpr std::int64_t kFormat = 1;
  /// A way to build one config or several, compiled for one target.
  struct Code {
    std::string target;
    std::string variant;  ///< The first that it was compiled for, as `config`: for people.
    std::string config;
    std::string file;      ///< Empty: the compiler refused it, as `refusal` says.
    Fingerprint checksum;  ///< The checksum of the file's bytes.
    std::string symbol;
    std::string toolchain;
    std::string refusal;
    std::vector<std::string> parameters;      ///< Artifact::parameters.
    std::vector<CodeAssumption> assumptions;  ///< Artifact::assumptions.
  };
  struct TargetCode {
    std::string name;
    std::string cpu;  ///< Image::cpu.
  };
  using Withheld = std::map<std::pair<std::string, std::string>, std::shared_ptr<const Fingerprint>>;

  /// Reads the precompiled code of the bundle `files`. Returns null if the bundle has no precompiled.json, which is the
  /// usual case. Errors: InvalidArgument, which names the line and the field.
  static Result<std::shared_ptr<const PrecompiledBundle>> Read(const BundleFiles& files);

  Result<std::optional<Image>> Find(const Fingerprint& key) const override;
  bool IsFor(const std::string& target) const override;
  std::string Description() const override;

  const std::vector<TargetCode>& targets() const { return targets_; }
  const std::map<Fingerprint, Code>& code() const { return code_; }
  /// The texts that did not come along.
  const Withheld& withheld() const { return withheld_; }
  /// The records that came along, as ShippedSelections has them. Errors: as an image's.
  Result<std::string> ReadSelections() const;
  const std::string& selections_file() const { return selections_file_; }
  /// The image of `code`. Errors: NotFound; InvalidArgument if the file was changed.
  Result<std::string> ReadImage(const Code& code) const { return ReadChecked(code.file, code.checksum); }

 private:
  explicit PrecompiledBundle(const BundleFiles& files) : files_(files) {}
  Status ReadFrom(const ManifestNode& root);
  Status ReadTargets(const ManifestNode& root);
  Status ReadCode(const ManifestNode& node);
  /// What the code says of its parameters, where it does.
  static Status ReadParameters(const ManifestNode& node, Code* code);
  Status ReadWithheld(const ManifestNode& root);
  Status ReadSelectionsField(const ManifestNode& root);
  Result<std::string> ReadChecked(const std::string& file, const Fingerprint& checksum) const;

  BundleFiles files_;
  std::vector<TargetCode> targets_;
  std::map<Fingerprint, Code> code_;
  Withheld withheld_;
  std::string selections_file_;
  Fingerprint selections_checksum_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BUNDLE_PRECOMPILED_BUNDLE_H_
