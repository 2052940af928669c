#ifndef TUNEONCE_LIB_BUNDLE_BUNDLE_FOLDERS_H_
#define TUNEONCE_LIB_BUNDLE_BUNDLE_FOLDERS_H_

#include <string>
#include <vector>

#include "base/environment.h"
#include "tuneonce/bundle.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The folders whose bundles are found by name. A value. Thread rule: immutable; any thread.
class TUNEONCE_API BundleFolders {
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

#endif  // TUNEONCE_LIB_BUNDLE_BUNDLE_FOLDERS_H_
