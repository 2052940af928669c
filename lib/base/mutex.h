#ifndef TUNEONCE_LIB_BASE_MUTEX_H_
#define TUNEONCE_LIB_BASE_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

// Annotations for clang's -Wthread-safety: which lock guards which data, and which functions need it. They are empty
// for other compilers.
#if defined(__clang__)
#define TUNEONCE_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define TUNEONCE_THREAD_SAFETY(attribute)
#endif
/// A member that is read and written under this lock only.
#define TUNEONCE_GUARDED_BY(mutex) TUNEONCE_THREAD_SAFETY(guarded_by(mutex))
/// A function that is called with these locks held.
#define TUNEONCE_REQUIRES(...) TUNEONCE_THREAD_SAFETY(requires_capability(__VA_ARGS__))
/// Marks a function of the classes below that acquires or releases a lock.
#define TUNEONCE_ACQUIRE(...) TUNEONCE_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define TUNEONCE_RELEASE(...) TUNEONCE_THREAD_SAFETY(release_capability(__VA_ARGS__))

namespace tuneonce {
inline namespace v0 {

/// std::mutex, which ThreadSanitizer knows, as clang's analysis wants it. Taken by a MutexLock.
class TUNEONCE_THREAD_SAFETY(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

/// Holds a Mutex while it lives, but between Unlock and Lock.
class TUNEONCE_THREAD_SAFETY(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) TUNEONCE_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~MutexLock() TUNEONCE_RELEASE() {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Unlock() TUNEONCE_RELEASE() { lock_.unlock(); }
  void Lock() TUNEONCE_ACQUIRE() { lock_.lock(); }

 private:
  friend class ConditionVariable;
  std::unique_lock<std::mutex> lock_;
};

/// A std::condition_variable. Callers read the condition in a loop around Wait, where the analysis sees that the lock
/// is held, because it analyzes the body of a predicate as a function of its own.
class ConditionVariable {
 public:
  /// Gives up the lock until it is notified, or for no reason.
  void Wait(MutexLock& lock) { changed_.wait(lock.lock_); }
  /// Waits at most this long. Returns false if the time passed.
  template <typename Rep, typename Period>
  bool WaitFor(MutexLock& lock, std::chrono::duration<Rep, Period> most) {
    return changed_.wait_for(lock.lock_, most) == std::cv_status::no_timeout;
  }
  void NotifyAll() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_MUTEX_H_
