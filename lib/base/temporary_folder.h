#ifndef TUNEONCE_LIB_BASE_TEMPORARY_FOLDER_H_
#define TUNEONCE_LIB_BASE_TEMPORARY_FOLDER_H_

#include <string>
#include <utility>

#include "base/file.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// A temporary folder that is removed with its contents by the destructor. While it exists it holds a lock on a file in
/// it, which the system releases when the process dies. The first folder that a process makes removes those of this
/// user whose locks are free.
class TemporaryFolder {
 public:
  /// In `parent` (`Environment::temporary_folder`). Errors: ResourceExhausted, with the folder's name and the system's
  /// reason.
  static Result<TemporaryFolder> Create(const std::string& parent);
  ~TemporaryFolder();
  TemporaryFolder(TemporaryFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), owner_(std::move(other.owner_)) {}
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(owner_, other.owner_);
    return *this;
  }

  const std::string& path() const { return path_; }
  /// Writes `path()/name` and returns its full path.
  Result<std::string> WriteFile(const std::string& name, const std::string& content) const;

 private:
  TemporaryFolder(std::string path, FileDescriptor owner) : path_(std::move(path)), owner_(std::move(owner)) {}

  std::string path_;
  FileDescriptor owner_;  // Open and locked: this process still uses the folder.
};

/// Removes the temporary folders in `parent` that processes of this user left behind, and what a process left that was
/// killed while it removed one. Others' folders, links, and folders without our mark are passed over.
void RemoveAbandonedFolders(const std::string& parent);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_TEMPORARY_FOLDER_H_
