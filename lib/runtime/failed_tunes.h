#ifndef TUNEONCE_LIB_RUNTIME_FAILED_TUNES_H_
#define TUNEONCE_LIB_RUNTIME_FAILED_TUNES_H_

#include <chrono>
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

 private:
  struct Failed {
    TuneOutcome outcome;
    int attempts = 0;
    Clock::time_point again;  // When it may be tried; unused if it never is.
  };

  const std::chrono::milliseconds first_pause_;
  mutable Mutex mutex_;
  std::map<TuneOnce::Key, Failed> failed_ TUNEONCE_GUARDED_BY(mutex_);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_FAILED_TUNES_H_
