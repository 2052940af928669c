#ifndef TUNEONCE_LIB_COMPILE_COMPILE_SLOTS_H_
#define TUNEONCE_LIB_COMPILE_COMPILE_SLOTS_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "base/mutex.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Limits how many compiles run at a time. All searches of a Runtime share one instance. Requests are served in the
/// order of their arrival, so that a short search does not have to wait for the end of a long one. This class starts no
/// threads: each search has its own (CompilePool), which sleep while compiles of other searches hold all slots.
/// Thread-safe.
class CompileSlots {
 public:
  /// `limit` 0: the cores that this process may use less one, for the thread that measures; at least one.
  explicit CompileSlots(int limit = 0);

  int limit() const { return limit_; }
  /// As many of them as free memory holds now, at least one; all of them where the limit was given.
  int LimitFor(std::int64_t memory_per_compile_bytes) const;

  /// The right to compile, until it is destroyed: on any thread, before the slots are.
  using Slot = std::shared_ptr<void>;
  /// Waits until fewer than `most` (1 or more) compiles run, and fewer than the limit. Returns null once `is_over`
  /// returns true. `is_over` is called on this thread every 10 ms.
  Slot Acquire(int most, const std::function<bool()>& is_over);
  /// Compiles that a toolchain was asked for, whatever came of it.
  std::int64_t num_compiles() const { return num_compiles_; }
  void CountCompile() { ++num_compiles_; }

 private:
  void Release();

  std::atomic<std::int64_t> num_compiles_{0};
  const bool is_given_;
  const int limit_;
  Mutex mutex_;
  ConditionVariable changed_;
  int running_ TUNEONCE_GUARDED_BY(mutex_) = 0;
  std::uint64_t last_ticket_ TUNEONCE_GUARDED_BY(mutex_) = 0;
  std::deque<std::uint64_t> waiting_ TUNEONCE_GUARDED_BY(mutex_);  // Tickets, the first to be served first.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_COMPILE_SLOTS_H_
