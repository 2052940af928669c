#ifndef TUNEONCE_LIB_BUNDLE_BUNDLE_FILES_H_
#define TUNEONCE_LIB_BUNDLE_BUNDLE_FILES_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "tuneonce/bundle.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The content of one file of a bundle.
struct BundleText {
  std::string_view text;
  std::shared_ptr<const std::string> owner;  ///< Null for an embedded bundle: its program owns the bytes.
};

/// The files of one bundle while it is read: of a folder, and only of what lies in it, or of a program. Each is read
/// once. Thread rule: one thread.
class BundleFiles {
 public:
  /// Most bytes of one file: a cubin has a few MiB.
  static constexpr std::size_t kMostFileBytes = std::size_t{64} << 20;
  /// Most bytes of all artifacts, one that is named twice counted twice: each is searched for its kernel.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 30;

  /// Errors: NotFound if there is no such folder.
  static Result<BundleFiles> Open(const std::string& folder);
  explicit BundleFiles(const EmbeddedBundle& embedded);

  /// Its folder's full path, or what an embedded one is called: for messages.
  std::string Where() const { return embedded_ ? "(embedded " + std::string(embedded_->name) + ")" : root_; }

  /// The texts (KernelSource::TextFingerprint) that did not come along, by variant and file.
  void SetWithheld(std::map<std::pair<std::string, std::string>, std::shared_ptr<const Fingerprint>> texts) {
    withheld_ = std::move(texts);
  }
  /// Returns the fingerprint of the withheld text of the artifact `file` of `variant`, or null if the text is in the
  /// bundle, which is the usual case.
  std::shared_ptr<const Fingerprint> Withheld(const std::string& variant, const std::string& file) const {
    if (withheld_.empty()) return nullptr;
    auto it = withheld_.find({variant, file});
    return it == withheld_.end() ? nullptr : it->second;
  }
  bool IsWithheld(const std::string& variant) const {
    auto it = withheld_.lower_bound({variant, ""});
    return it != withheld_.end() && it->first.first == variant;
  }
  /// Makes Withheld return null for `variant`, whose texts were put back into the bundle.
  void ForgetWithheld(const std::string& variant);
  /// Whether the bundle has a file `name`.
  bool Has(const std::string& name) const;

  /// Reads the file `name`, a path relative to the bundle's folder, and keeps its content. Errors: NotFound;
  /// InvalidArgument if the name leads out of the folder (by ".." or a symbolic link), if it does not name a regular
  /// file, or if the file has too many bytes.
  Result<BundleText> Read(const std::string& name, std::size_t most_bytes = kMostFileBytes);
  /// Reads the file `name` as Read does, but does not keep its content. Errors: as Read. Thread rule: any thread may
  /// call it, also after the bundle was read. REQUIRES: the bytes of an embedded bundle still exist.
  Result<std::string> ReadNow(const std::string& name, std::size_t most_bytes = kMostFileBytes) const;
  /// The full path of a folder of the bundle: for a compiler to look for headers. Errors: as Read; FailedPrecondition
  /// for an embedded bundle, which has no folders.
  Result<std::string> FolderPath(const std::string& name) const;

 private:
  BundleFiles() = default;
  /// The full path without links. `*is_file`: whether it is known to be a regular file. Errors: InvalidArgument if it
  /// is not in the folder, NotFound.
  Result<std::string> PathOf(const std::string& name, bool* is_file = nullptr) const;
  /// The bytes of a file of an embedded bundle. Errors: as Read.
  Result<std::string_view> Embedded(const std::string& name, std::size_t most_bytes) const;

  std::string root_;  // Without links; empty for an embedded one.
  std::optional<EmbeddedBundle> embedded_;
  std::map<std::string_view, const EmbeddedFile*> embedded_by_name_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const Fingerprint>> withheld_;
  std::map<std::string, std::shared_ptr<const std::string>> read_;
  std::size_t bytes_ = 0;
};

/// The folders whose bundles are found by name. A value. Thread rule: immutable; any thread.
class BundleFolders {
 public:
  /// Those of Environment::bundles, then share/tuneonce/bundles: as it lies beside an installed or built library or
  /// program, inside the Python package, and beside the folders in which this code's libraries are looked for (its run
  /// path leads to an installed tuneonce).
  static BundleFolders Of(const Environment& environment);

  /// Returns the folder of a bundle: `folder_or_name` itself if it has a slash, else the first bundle of that name in
  /// these folders, else the folder of that name in the working directory. A name that matches two different bundles,
  /// in these folders and in the working directory, is ambiguous, so that neither silently replaces the other. Errors:
  /// NotFound, which lists the folders and the existing names; InvalidArgument for an ambiguous name.
  Result<std::string> Find(const std::string& folder_or_name) const;
  /// Returns the sorted names of all bundles in these folders.
  std::vector<std::string> Names() const;

 private:
  explicit BundleFolders(std::vector<std::string> folders) : folders_(std::move(folders)) {}

  std::vector<std::string> folders_;
};

/// Bundle::Load and Bundle::Names, with the environment of a Runtime.
Result<Bundle> LoadBundle(const Environment& environment, const std::string& folder_or_name);
Result<Bundle> LoadBundle(const EmbeddedBundle& embedded);
std::vector<std::string> BundleNames(const Environment& environment);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BUNDLE_BUNDLE_FILES_H_
