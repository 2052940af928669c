#ifndef TUNEONCE_LIB_RUNTIME_FAILED_TUNES_H_
#define TUNEONCE_LIB_RUNTIME_FAILED_TUNES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "base/mutex.h"
#include "runtime/tune_once.h"

namespace tuneonce {
inline namespace v0 {

/// The keys that could not be tuned, and when each may be tried again. A key that failed for a transient reason
/// (IsTransient) is tried after a pause that doubles with each attempt. Other keys are never tried again. Thread-safe.
class FailedTunes {
 public:
  using Clock = std::chrono::steady_clock;
  /// The longest pause. A resource that is missing for hours costs one attempt in five minutes.
  static constexpr std::chrono::milliseconds kLongestPause = std::chrono::minutes(5);

  /// `first_pause` follows the first failure. With zero, the next attempt may follow at once.
  explicit FailedTunes(std::chrono::milliseconds first_pause) : first_pause_(first_pause) {}

  /// Returns how the last attempt ended, if the key must not be tried again at `now`.
  std::optional<TuneOutcome> Find(const TuneOnce::Key& key, Clock::time_point now) const;
  /// Records a failed attempt. Returns how many attempts failed in a row.
  int Add(const TuneOnce::Key& key, const TuneOutcome& outcome, Clock::time_point now);
  /// Forgets the key, which was tuned.
  void Remove(const TuneOnce::Key& key);
  /// Forgets the keys that failed longest ago until `max_keys` remain.
  void DropOldest(std::size_t max_keys);

 private:
  struct Failed {
    TuneOutcome outcome;
    int attempts = 0;
    Clock::time_point again;  // When the key may be tried again. Unused if it never may.
    std::uint64_t place = 0;  // Position in by_age_.
  };

  const std::chrono::milliseconds first_pause_;
  mutable Mutex mutex_;
  std::map<TuneOnce::Key, Failed> failed_ TUNEONCE_GUARDED_BY(mutex_);
  std::map<std::uint64_t, TuneOnce::Key> by_age_ TUNEONCE_GUARDED_BY(mutex_);  // In the order of the last failures.
  std::uint64_t last_place_ TUNEONCE_GUARDED_BY(mutex_) = 0;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_FAILED_TUNES_H_
