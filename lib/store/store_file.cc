#include "store/store_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tuneonce/base/environment.h"

namespace tuneonce {
namespace {

std::string ErrorText() { return std::strerror(errno); }

std::string FolderOf(const std::string& path) {
  std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

Status MakeFolder(const std::string& folder) {
  struct stat info {};
  if (lstat(folder.c_str(), &info) == 0) return Status();
  if (std::string parent = FolderOf(folder); parent != folder) TUNEONCE_RETURN_IF_ERROR(MakeFolder(parent));
  if (mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return Status();
  return UnavailableError(absl::StrCat("the store's folder ", folder, " cannot be made: ", ErrorText()));
}

/// A stored cubin is executable code: nobody else may put one there.
Status CheckTrusted(const std::string& path, const struct stat& info, const char* what) {
  if (S_ISLNK(info.st_mode)) {
    return FailedPreconditionError(
        absl::StrCat("the store's ", what, " ", path, " is a symbolic link: name its target"));
  }
  if (info.st_uid != geteuid()) {
    return FailedPreconditionError(absl::StrCat("the store's ", what, " ", path, " belongs to user ", info.st_uid,
                                                ": a stored cubin is executable code; use a folder of your own"));
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return FailedPreconditionError(
        absl::StrCat("the store's ", what, " ", path,
                     " can be written by others: a stored cubin is executable code; chmod go-w it"));
  }
  return Status();
}

Result<int> OpenLockFile(const std::string& path) {
  std::string name = path + ".lock";
  int file = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return UnavailableError(absl::StrCat(name, " cannot be opened: ", ErrorText()));
  return file;
}

struct flock ByteAt(std::int64_t offset) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = offset;
  lock.l_len = 1;
  return lock;
}

constexpr std::int64_t kPlaceByte = 0;

}  // namespace

bool IsNetworkFileSystem(unsigned long type) {
  for (unsigned long network : {0x6969ul /*NFS*/, 0x517Bul /*SMB*/, 0xFF534D42ul /*CIFS*/, 0xFE534D42ul /*SMB2*/,
                                0x5346414Ful /*AFS*/, 0x00C36400ul /*Ceph*/, 0x0BD00BD0ul /*Lustre*/}) {
    // f_type is signed, and on some systems 32 bits.
    if ((type & 0xFFFFFFFFul) == network) return true;
  }
  return false;
}

Result<std::string> DefaultStorePath() {
  Environment environment = Environment::Get();
  if (!environment.store.empty()) return environment.store;
  if (!environment.cache_folder.empty()) return environment.cache_folder + "/tuneonce/store.db";
  if (!environment.home.empty()) return environment.home + "/.cache/tuneonce/store.db";
  return FailedPreconditionError("there is no place for a store: set TUNEONCE_STORE, XDG_CACHE_HOME or HOME");
}

Status CheckStorePlace(const std::string& path) {
  std::string folder = FolderOf(path);
  TUNEONCE_RETURN_IF_ERROR(MakeFolder(folder));
  struct stat info {};
  if (lstat(folder.c_str(), &info) != 0) {
    return UnavailableError(absl::StrCat("the store's folder ", folder, " cannot be read: ", ErrorText()));
  }
  TUNEONCE_RETURN_IF_ERROR(CheckTrusted(folder, info, "folder"));
  struct statfs system {};
  if (statfs(folder.c_str(), &system) == 0 && IsNetworkFileSystem(static_cast<unsigned long>(system.f_type))) {
    return FailedPreconditionError(absl::StrCat("the store's folder ", folder,
                                                " is on a network file system, where SQLite cannot share a file: "
                                                "set TUNEONCE_STORE to a local path"));
  }
  if (lstat(path.c_str(), &info) == 0) return CheckTrusted(path, info, "file");
  if (errno == ENOENT) return Status();
  return UnavailableError(absl::StrCat("the store ", path, " cannot be read: ", ErrorText()));
}

std::shared_ptr<void> LockPlace(const std::string& path) {
  Result<int> file = OpenLockFile(path);
  if (!file.ok()) return nullptr;
  struct flock lock = ByteAt(kPlaceByte);
  while (fcntl(*file, F_OFD_SETLKW, &lock) != 0 && errno == EINTR) {
  }
  return std::shared_ptr<void>(nullptr, [descriptor = *file](void*) { close(descriptor); });
}

Status SetAside(const std::string& path, unsigned long inode) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 || info.st_ino != inode) return Status();
  auto now = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  std::string aside = absl::StrCat(path, ".corrupt-", now.count(), "-", getpid());
  for (int i = 1; lstat(aside.c_str(), &info) == 0; ++i) {  // Never over one that was set aside before.
    aside = absl::StrCat(path, ".corrupt-", now.count(), "-", getpid(), "-", i);
  }
  // The log first: without it the file itself is what it was at the last checkpoint.
  for (const char* suffix : {"-wal", "-shm", ""}) {
    if (std::rename((path + suffix).c_str(), (aside + suffix).c_str()) != 0 && *suffix == '\0') {
      return UnavailableError(absl::StrCat("the corrupt store ", path, " cannot be set aside: ", ErrorText()));
    }
  }
  return Status();
}

Result<std::shared_ptr<void>> LockKey(const std::string& path, const Fingerprint& key, const CompileLimits& limits) {
  TUNEONCE_ASSIGN_OR_RETURN(int file, OpenLockFile(path));
  std::shared_ptr<void> lease(nullptr, [file](void*) { close(file); });
  // Two keys on one byte would only wait for each other.
  struct flock lock = ByteAt(1 + static_cast<std::int64_t>(key.low >> 2));
  auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(limits.timeout_ms);
  while (fcntl(file, F_OFD_SETLK, &lock) != 0) {
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
      return UnavailableError(absl::StrCat(path, ".lock cannot be locked: ", ErrorText()));
    }
    if (limits.cancelled != nullptr && limits.cancelled->load()) return CancelledError("cancelled while waiting");
    if (std::chrono::steady_clock::now() >= deadline) {
      return DeadlineExceededError("another process works on the same key and did not end in time");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return lease;
}

}  // namespace tuneonce
