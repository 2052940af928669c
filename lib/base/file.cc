#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// "cannot read PATH: REASON".
Status FileError(const char* what, const std::string& path, int error) {
  std::string message = absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return NotFoundError(std::move(message));
  if (error == ENOSPC || error == EDQUOT || error == EFBIG || error == EMFILE || error == ENFILE || error == ENOMEM) {
    return ResourceExhaustedError(std::move(message));
  }
  return UnavailableError(std::move(message));
}

/// Returns the name of a kind of file that has no bytes to read.
const char* KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

Status CheckReadable(const struct stat& info, const std::string& path, std::size_t most_bytes) {
  if (!S_ISREG(info.st_mode)) {
    return InvalidArgumentError(absl::StrCat("cannot read ", path, ": it is ", KindOf(info.st_mode), ", not a file"));
  }
  if (info.st_size >= 0 && static_cast<std::uint64_t>(info.st_size) > most_bytes) {
    return InvalidArgumentError(absl::StrCat("cannot read ", path, ": the file has ", info.st_size, " bytes; at most ",
                                             most_bytes, " are possible"));
  }
  return Status();
}

/// `call` again while signals interrupt it.
template <typename Call>
auto Uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// 0, or the error of the first call that failed.
int WriteWhole(const std::string& path, const std::string& content) {
  int file = Uninterrupted([&] { return open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666); });
  if (file < 0) return errno;
  int error = 0;
  for (std::size_t done = 0; error == 0 && done < content.size();) {
    ssize_t written = Uninterrupted([&] { return write(file, content.data() + done, content.size() - done); });
    if (written < 0) error = errno;
    done += written < 0 ? 0 : static_cast<std::size_t>(written);
  }
  if (close(file) != 0 && error == 0 && errno != EINTR) error = errno;
  return error;
}

}  // namespace

bool IsDirectory(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool IsRegularFile(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::string RealPath(const std::string& path) {
  std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), std::free);
  return real == nullptr ? "" : real.get();
}

std::string AbsolutePath(const std::string& path) {
  if (!path.empty() && path.front() == '/') return path;
  std::unique_ptr<char, void (*)(void*)> current(getcwd(nullptr, 0), std::free);
  return current == nullptr ? path : absl::StrCat(current.get(), "/", path);
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  std::vector<std::string> names;
  while (const dirent* entry = open == nullptr ? nullptr : readdir(open.get())) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  return names;
}

Status WriteFile(const std::string& path, const std::string& content) {
  std::string partial = path + ".partial";
  int error = WriteWhole(partial, content);
  if (error == 0 && std::rename(partial.c_str(), path.c_str()) == 0) return Status();
  if (error == 0) error = errno;
  unlink(partial.c_str());
  return ResourceExhaustedError(absl::StrCat("cannot write ", path, ": ", std::strerror(error)));
}

Result<std::string> ReadFile(const std::string& path, std::size_t most_bytes) {
  struct stat info {};
  // Asked before opening too, since to open a device can mean something to it.
  if (stat(path.c_str(), &info) != 0) return FileError("read", path, errno);
  TUNEONCE_RETURN_IF_ERROR(CheckReadable(info, path, most_bytes));
  return ReadRegularFile(path, most_bytes);
}

Result<std::string> ReadRegularFile(const std::string& path, std::size_t most_bytes) {
  // O_NONBLOCK: what became a pipe meanwhile must not block.
  FileDescriptor file(Uninterrupted([&] { return open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); }));
  if (!file.is_open()) return FileError("read", path, errno);
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return FileError("read", path, errno);
  TUNEONCE_RETURN_IF_ERROR(CheckReadable(info, path, most_bytes));

  constexpr std::size_t kStep = std::size_t{64} << 10;
  // The size that the system gives is a hint: it is 0 under /proc, and files grow. Most are small, and are kept.
  const auto expected = static_cast<std::size_t>(info.st_size);
  std::string content(std::min(expected, most_bytes) + 1, '\0');
  std::size_t size = 0;
  for (;;) {
    if (size == content.size()) content.resize(size + kStep);
    ssize_t got = Uninterrupted([&] { return read(file.get(), content.data() + size, content.size() - size); });
    if (got < 0) return FileError("read", path, errno);
    size += static_cast<std::size_t>(got);
    if (size > most_bytes) {
      return InvalidArgumentError(
          absl::StrCat(path, ": the file has more than ", most_bytes, " bytes, which is the limit"));
    }
    if (got == 0 || (size == expected && size < content.size())) break;  // The end, at which nothing more was read.
  }
  content.resize(size);
  return content;
}

std::string_view WithoutByteOrderMark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text.substr(0, kMark.size()) == kMark) text.remove_prefix(kMark.size());
  return text;
}

}  // namespace v0
}  // namespace tuneonce
