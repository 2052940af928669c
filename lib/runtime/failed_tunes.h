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

/// The keys that could not be tuned, and when each is to be tried again: those that failed for a reason that may pass
/// (IsTransient) after a pause that doubles with each attempt, the others never. Thread-safe.
class FailedTunes {
 public:
  using Clock = std::chrono::steady_clock;
  /// Where doubling ends: what is away for hours costs one attempt in five minutes.
  static constexpr std::chrono::milliseconds kLongestPause = std::chrono::minutes(5);

  /// `first_pause`: after the first failure; zero: every attempt may be the next.
  explicit FailedTunes(std::chrono::milliseconds first_pause) : first_pause_(first_pause) {}

  /// How the last attempt ended, if the key is not to be tried again at `now`.
  std::optional<TuneOutcome> Find(const TuneOnce::Key& key, Clock::time_point now) const;
  /// Remembers an attempt that failed. Returns how often in a row the key did.
  int Add(const TuneOnce::Key& key, const TuneOutcome& outcome, Clock::time_point now);
  /// Forgets the key: it was tuned.
  void Remove(const TuneOnce::Key& key);
  /// Forgets the keys that failed longest ago, until there are `max_keys`.
  void DropOldest(std::size_t max_keys);

 private:
  struct Failed {
    TuneOutcome outcome;
    int attempts = 0;
    Clock::time_point again;  // When it may be tried; unused if it never is.
    std::uint64_t place = 0;  // In by_age_.
  };

  const std::chrono::milliseconds first_pause_;
  mutable Mutex mutex_;
  std::map<TuneOnce::Key, Failed> failed_ TUNEONCE_GUARDED_BY(mutex_);
  std::map<std::uint64_t, TuneOnce::Key> by_age_ TUNEONCE_GUARDED_BY(mutex_);  // The last failure is the last one.
  std::uint64_t last_place_ TUNEONCE_GUARDED_BY(mutex_) = 0;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_FAILED_TUNES_H_
