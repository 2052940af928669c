#ifndef TUNEONCE_LIB_BASE_FILE_H_
#define TUNEONCE_LIB_BASE_FILE_H_

#include <unistd.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuneonce/result.h"

// Files and folders are accessed by POSIX calls and not by std::filesystem. torch's wheels up to at least 2.11 export
// parts of std::filesystem from libtorch.so. A libtuneonce.so in an extension that links libtorch.so would be bound to
// those and crash.

namespace tuneonce {
inline namespace v0 {

bool IsDirectory(const std::string& path);
bool IsRegularFile(const std::string& path);
/// Returns the absolute path without symbolic links, or empty if the file does not exist.
std::string RealPath(const std::string& path);
/// Returns the path itself if it starts with "/", else the path appended to the current directory, whether the file
/// exists or not. Without a current directory the path is unchanged.
std::string AbsolutePath(const std::string& path);
/// Returns the names in a folder without "." and "..", or an empty list if the folder does not exist.
std::vector<std::string> NamesIn(const std::string& folder);

/// Writes a file whole: errors leave no partial file. Errors: ResourceExhausted, with the path.
Status WriteFile(const std::string& path, const std::string& content);

/// Most bytes of a file that is read without another limit: what a compiler may write (base/process.h).
inline constexpr std::size_t kMostFileBytes = std::size_t{1} << 30;

/// Reads a whole file. It never blocks on a pipe and never returns a part of a file. Errors, with the path and the
/// reason: NotFound; InvalidArgument if it is not a regular file (a directory, pipe, device, or a link to one) or has
/// more than `most_bytes` bytes; ResourceExhausted; Unavailable for a failed read.
Result<std::string> ReadFile(const std::string& path, std::size_t most_bytes = kMostFileBytes);
/// Reads a file as ReadFile does, with fewer system calls. REQUIRES: `path` named a regular file just now.
Result<std::string> ReadRegularFile(const std::string& path, std::size_t most_bytes = kMostFileBytes);

/// Returns `text` without the byte-order mark (UTF-8) at its start, which some editors write and not every compiler
/// accepts.
std::string_view WithoutByteOrderMark(std::string_view text);

/// An open file descriptor, closed at the end. -1: none.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() { Close(); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_FILE_H_
