#include "store/store_repair.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr const char* kLogSuffixes[] = {"-wal", "-shm"};

/// A name that nothing has that was set aside before.
std::string FreeName(const std::string& path, const std::string& why) {
  auto now = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  std::string first = absl::StrCat(path, ".", why, "-", now.count(), "-", getpid());
  std::string name = first;
  auto is_taken = [&](const char* suffix) {
    struct stat info {};
    return lstat((name + suffix).c_str(), &info) == 0;
  };
  for (int i = 1; is_taken("") || is_taken("-wal") || is_taken("-shm"); ++i) name = absl::StrCat(first, "-", i);
  return name;
}

void RenameLog(const std::string& path, const std::string& name) {
  for (const char* suffix : kLogSuffixes) std::rename((path + suffix).c_str(), (name + suffix).c_str());
}

}  // namespace

Status SetAside(const std::string& path, const std::string& why) {
  std::string name = FreeName(path, why);
  RenameLog(path, name);  // Renamed first: without its log the file is in the state of the last checkpoint.
  if (std::rename(path.c_str(), name.c_str()) == 0) return Status();
  return UnavailableError(absl::StrCat("the store ", path, " (", why, ") cannot be renamed: ", std::strerror(errno)));
}

void SetLogAside(const std::string& path) {
  struct stat info {};
  for (const char* suffix : kLogSuffixes) {
    if (lstat((path + suffix).c_str(), &info) == 0) return RenameLog(path, FreeName(path, "left"));
  }
}

}  // namespace v0
}  // namespace tuneonce
