#include "store/store_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/sqlite_store.h"

namespace tuneonce {
inline namespace v0 {
namespace {

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
                                       Clock::time_point foreign_deadline, const std::atomic<bool>* cancelled) {
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
    if (cancelled != nullptr && cancelled->load())
      return CancelledError("cancelled while another process was working on the same key");
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

Result<std::shared_ptr<void>> LockPlace(const std::string& path, Clock::time_point deadline) {
  return LockByte(path, kPlaceByte, deadline, Clock::time_point::max(), nullptr);
}

Result<std::shared_ptr<void>> LockKey(const std::string& path, const Fingerprint& key, const WaitLimits& limits) {
  // Two keys on one byte would only wait for each other.
  std::int64_t offset = 1 + static_cast<std::int64_t>(key.low >> 2);
  Clock::time_point now = Clock::now();
  Result<std::shared_ptr<void>> lock =
      LockByte(path, offset, now + std::chrono::milliseconds(limits.timeout_ms),
               now + std::chrono::milliseconds(SqliteStoreOptions().busy_timeout_ms), limits.cancelled);
  if (lock.status().code() != StatusCode::kDeadlineExceeded) return lock;
  return DeadlineExceededError("another process is working on the same key and did not finish in time");
}

}  // namespace v0
}  // namespace tuneonce
