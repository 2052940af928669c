#include "store/store_place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/deadline.h"
#include "base/file.h"
#include "base/printable.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/plugin/wait_limits.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::string ErrorText() { return std::strerror(errno); }

struct SplitPath {
  std::string folder;  // "." for a path without a folder; "/" for the root.
  std::string name;
};

SplitPath Split(const std::string& path) {
  std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  std::size_t end = path.find_last_not_of('/', slash);
  return {end == std::string::npos ? "/" : path.substr(0, end + 1), path.substr(slash + 1)};
}

Status MakeFolder(const std::string& folder) {
  struct stat info {};
  if (lstat(folder.c_str(), &info) == 0) return Status();
  if (std::string parent = Split(folder).folder; parent != folder) TUNEONCE_RETURN_IF_ERROR(MakeFolder(parent));
  if (mkdir(folder.c_str(), 0700) != 0) {
    if (errno == EEXIST) return Status();
    return UnavailableError(absl::StrCat("the store's folder ", folder, " cannot be made: ", ErrorText()));
  }
  if (lstat(folder.c_str(), &info) != 0 || (info.st_mode & S_IRWXU) == S_IRWXU) return Status();
  rmdir(folder.c_str());
  return FailedPreconditionError(absl::StrCat(
      "the store's folder ", folder,
      " was created without permissions for its owner, because of the process's umask: set a umask such as 077"));
}

/// Checks that only this user can write a file, because a stored cubin is executable code.
Status CheckTrusted(const std::string& path, const struct stat& info, const char* what) {
  std::string subject = absl::StrCat("the store's ", what, " ", path);
  if (S_ISLNK(info.st_mode))
    return FailedPreconditionError(subject + " is a symbolic link: use its target as the path");
  constexpr mode_t kShared = S_ISVTX | S_IWOTH;  // As in /tmp, where each user has a folder of his own.
  if (S_ISDIR(info.st_mode) && (info.st_mode & kShared) == kShared) {
    return FailedPreconditionError(absl::StrCat(subject,
                                                " is shared by all users: a stored cubin is executable code; "
                                                "use a folder of your own inside it, for example ",
                                                path, "/tuneonce-", geteuid()));
  }
  if (info.st_uid != geteuid()) {
    return FailedPreconditionError(absl::StrCat(subject, " belongs to user ", info.st_uid,
                                                ": a stored cubin is executable code; use a folder of your own"));
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return FailedPreconditionError(subject +
                                   " can be written by others: a stored cubin is executable code; chmod go-w it");
  }
  return Status();
}

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kPlaceByte = 0;
/// How soon a waiting thread notices a free lock or a cancellation.
constexpr std::chrono::milliseconds kPoll(10);

struct flock ByteAt(std::int64_t offset) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = offset;
  lock.l_len = 1;
  return lock;
}

/// Returns whether the open file still has this name. A lock on a file that was moved or removed excludes no one.
bool IsStill(int file, const std::string& name) {
  struct stat open_file {};
  struct stat named {};
  return fstat(file, &open_file) == 0 && stat(name.c_str(), &named) == 0 && open_file.st_ino == named.st_ino &&
         open_file.st_dev == named.st_dev;
}

enum class Attempt { kLocked, kBusy, kForeign, kMoved, kFailed };

Attempt TryLock(int file, const std::string& name, std::int64_t offset) {
  struct flock lock = ByteAt(offset);
  if (fcntl(file, F_OFD_SETLK, &lock) == 0) return IsStill(file, name) ? Attempt::kLocked : Attempt::kMoved;
  if (errno == EINTR) return Attempt::kBusy;
  if (errno != EAGAIN && errno != EACCES) return Attempt::kFailed;
  if (!IsStill(file, name)) return Attempt::kMoved;
  // This library's locks have one byte. Any other lock is held by a program that does not know about keys.
  struct flock holder = ByteAt(offset);
  if (fcntl(file, F_OFD_GETLK, &holder) != 0 || holder.l_type == F_UNLCK) return Attempt::kBusy;
  return holder.l_start == offset && holder.l_len == 1 ? Attempt::kBusy : Attempt::kForeign;
}

Result<std::shared_ptr<void>> LockByte(const std::string& path, std::int64_t offset, Clock::time_point deadline,
                                       Clock::time_point foreign_deadline, const StopToken& stop) {
  std::string name = path + ".lock";
  std::shared_ptr<void> held;
  for (int file = -1;;) {
    if (held == nullptr) {
      file = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
      if (file < 0) {
        return UnavailableError(absl::StrCat(
            name, " cannot be opened: ", std::strerror(errno),
            errno == EACCES ? "; give its owner read and write permission, and check the process's umask" : ""));
      }
      held = std::shared_ptr<void>(nullptr, [file](void*) { close(file); });
    }
    Attempt attempt = TryLock(file, name, offset);
    if (attempt == Attempt::kLocked) return held;
    if (attempt == Attempt::kFailed) {
      return UnavailableError(absl::StrCat(name, " cannot be locked: ", std::strerror(errno)));
    }
    if (stop.stop_requested()) return CancelledError("cancelled while another process was working on the same key");
    if (attempt == Attempt::kForeign && Clock::now() >= std::min(deadline, foreign_deadline)) {
      return UnavailableError(name + " is locked by another program");
    }
    if (Clock::now() >= deadline) return DeadlineExceededError(name + " is locked by another process");
    if (attempt == Attempt::kMoved) {
      held = nullptr;
    } else {
      std::this_thread::sleep_for(kPoll);
    }
  }
}

}  // namespace

bool IsNetworkFileSystem(unsigned long type) {
  for (unsigned long network :
       {0x6969ul /*NFS*/, 0x517Bul /*SMB*/, 0xFF534D42ul /*CIFS*/, 0xFE534D42ul /*SMB2*/, 0x5346414Ful /*AFS*/,
        0x00C36400ul /*Ceph*/, 0x0BD00BD0ul /*Lustre*/, 0x47504653ul /*GPFS*/, 0x19830326ul /*BeeGFS*/,
        0x65735546ul /*FUSE*/, 0x01021997ul /*9p*/, 0x20030528ul /*OrangeFS*/, 0xAAD7AAEAul /*PanFS*/,
        0x7461636Ful /*OCFS2*/, 0x01161970ul /*GFS2*/, 0x73757245ul /*Coda*/, 0x564Cul /*NCP*/}) {
    // f_type is signed, and on some systems 32 bits.
    if ((type & 0xFFFFFFFFul) == network) return true;
  }
  return false;
}

std::string ResolveParents(const std::string& path) {
  auto [folder, name] = Split(path);
  auto [parent, last] = Split(folder);
  bool has_last = !last.empty() && last != "." && last != "..";
  std::string resolved = RealPath(has_last ? parent : folder);
  if (resolved.empty()) return path;
  if (resolved == "/") resolved.clear();
  return has_last ? absl::StrCat(resolved, "/", last, "/", name) : absl::StrCat(resolved, "/", name);
}

Result<std::string> PrepareStorePlace(const std::string& path) {
  if (path.find('\0') != std::string::npos) {  // The system would open what its name begins with.
    return InvalidArgumentError(absl::StrCat("the store's path ", Printable(path), " contains a NUL byte"));
  }
  if (Split(path).name.empty()) {
    return InvalidArgumentError(absl::StrCat("the store's path ", path, " is a folder: add a file name"));
  }
  std::string folder = Split(path).folder;
  TUNEONCE_RETURN_IF_ERROR(MakeFolder(folder));
  struct stat info {};
  if (lstat(folder.c_str(), &info) != 0) {
    return UnavailableError(absl::StrCat("the store's folder ", folder, " cannot be read: ", ErrorText()));
  }
  TUNEONCE_RETURN_IF_ERROR(CheckTrusted(folder, info, "folder"));
  struct statfs system {};
  if (statfs(folder.c_str(), &system) == 0 && IsNetworkFileSystem(static_cast<unsigned long>(system.f_type))) {
    return FailedPreconditionError(absl::StrCat("the store's folder ", folder,
                                                " is on a network, cluster or FUSE file system, where SQLite cannot "
                                                "share a file: set TUNEONCE_STORE to a local path"));
  }
  if (lstat(path.c_str(), &info) == 0) {
    TUNEONCE_RETURN_IF_ERROR(CheckTrusted(path, info, "file"));
  } else if (errno != ENOENT) {
    return UnavailableError(absl::StrCat("the store ", path, " cannot be read: ", ErrorText()));
  }
  return ResolveParents(path);
}

Result<std::shared_ptr<void>> LockPlace(const std::string& path, Clock::time_point deadline) {
  return LockByte(path, kPlaceByte, deadline, Clock::time_point::max(), nullptr);
}

Result<std::shared_ptr<void>> LockKey(const std::string& path, const Fingerprint& key, const WaitLimits& limits) {
  // Two keys on one byte would only wait for each other.
  std::int64_t offset = 1 + static_cast<std::int64_t>(key.low >> 2);
  Clock::time_point now = Clock::now();
  Result<std::shared_ptr<void>> lock =
      LockByte(path, offset, DeadlineIn(limits.timeout, now), now + SqliteStoreOptions().busy_timeout, limits.stop);
  if (lock.status().code() != StatusCode::kDeadlineExceeded) return lock;
  return DeadlineExceededError("another process is working on the same key and did not finish in time");
}

}  // namespace v0
}  // namespace tuneonce
