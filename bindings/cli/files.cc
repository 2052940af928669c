#include "files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace tuneonce::cli {
namespace {

Status CannotWrite(const std::string& path, const std::string& why) {
  return UnavailableError("cannot write " + path + ": " + why);
}

/// Returns the name at the end of a chain of symbolic links, which need not exist.
Result<std::string> FollowLinks(const std::string& path) {
  std::filesystem::path at = path;
  constexpr int kMostLinks = 40;  // The limit of Linux.
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    std::filesystem::path target = std::filesystem::read_symlink(at, error);
    if (error) return at.string();  // No link.
    at = target.is_absolute() ? target : at.parent_path() / target;
  }
  return CannotWrite(path, std::strerror(ELOOP));
}

/// 0, or errno. Closes the file in any case.
int WriteAndClose(int file, std::string_view content) {
  int error = 0;
  while (!content.empty() && error == 0) {
    ssize_t written = write(file, content.data(), content.size());
    if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
    if (written < 0 && errno != EINTR) error = errno;
  }
  // On disk before it takes the old file's place. A pipe or a device knows no fsync.
  if (error == 0 && fsync(file) != 0 && errno != EINVAL && errno != EROFS) error = errno;
  if (close(file) != 0 && error == 0) error = errno;
  return error;
}

/// Writes a file in the same folder, with the owner and mode of `old` (null for a new file), and renames it to `path`.
Status Replace(const std::string& path, const struct stat* old, const std::string& content) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::string temporary = (folder / ".tuneonce-XXXXXX").string();
  int file = mkstemp(temporary.data());
  if (file < 0) return CannotWrite(path, std::strerror(errno));
  mode_t mask = umask(0);
  umask(mask);
  // Only root can give a file away; for others it becomes theirs, as with any new file.
  if (old != nullptr && fchown(file, old->st_uid, old->st_gid) != 0) errno = 0;
  int error = fchmod(file, old != nullptr ? old->st_mode & 0777 : 0666 & ~mask) != 0 ? errno : 0;
  if (int written = WriteAndClose(file, content); error == 0) error = written;
  if (error == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return Status();
  unlink(temporary.c_str());
  return CannotWrite(path, std::strerror(error));
}

}  // namespace

Status WriteFile(const std::string& path, const std::string& content) {
  struct stat info {};
  bool exists = stat(path.c_str(), &info) == 0;
  if (!exists && errno != ENOENT) return CannotWrite(path, std::strerror(errno));
  if (!exists || S_ISREG(info.st_mode)) {
    TUNEONCE_ASSIGN_OR_RETURN(std::string target, FollowLinks(path));
    return Replace(target, exists ? &info : nullptr, content);
  }
  if (S_ISDIR(info.st_mode)) return CannotWrite(path, "it is a folder: give a file name");
  if (S_ISBLK(info.st_mode)) return CannotWrite(path, "it is a block device");
  int file = open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  int error = file < 0 ? errno : WriteAndClose(file, content);
  return error == 0 ? Status() : CannotWrite(path, std::strerror(error));
}

}  // namespace tuneonce::cli
