#ifndef TUNEONCE_LIB_RUNTIME_TUNE_ONCE_H_
#define TUNEONCE_LIB_RUNTIME_TUNE_ONCE_H_

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "runtime/launch_key.h"
#include "tuneonce/plugin/wait_limits.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The outcome of loading a key's selected config.
struct TuneOutcome {
  Status status;
  bool is_elsewhere = false;   ///< The error is that another process tunes the key.
  bool is_news = false;        ///< The error is the key's first one, and this thread met it.
  bool is_not_stored = false;  ///< The error is that no record serves the key, and the mode allows nothing else.
  enum class Origin { kReady, kStore, kSearch, kPrediction };
  Origin origin = Origin::kReady;  ///< Where the config comes from. kReady: it was loaded before.
  bool is_complete = true;         ///< The search was not cut short, as far as there was one.

  /// Returns the outcome for a stored record.
  static TuneOutcome Stored(bool is_complete) {
    TuneOutcome outcome;
    outcome.origin = Origin::kStore;
    outcome.is_complete = is_complete;
    return outcome;
  }
  /// Returns the outcome of a search.
  static TuneOutcome Searched(bool is_complete) {
    TuneOutcome outcome;
    outcome.origin = Origin::kSearch;
    outcome.is_complete = is_complete;
    return outcome;
  }
};

/// Makes one of all threads that request a key at the same time work, while the others wait for its outcome. Different
/// keys do not wait for each other. Thread-safe.
class TuneOnce {
 public:
  using Key = std::vector<std::uint64_t>;

  /// Runs `work`, or waits for the thread that runs it for this key; `*waited` states which. Returns the outcome of the
  /// work. An exception becomes its error, so that no thread waits forever. A thread that waited for work which was
  /// cancelled takes it over. `stop` is asked while waiting, and ends this call with
  /// Cancelled. Outcomes are not remembered, so a call after a failure works again.
  TuneOutcome Run(const Key& key, bool* waited, const StopToken& stop, const std::function<TuneOutcome()>& work);
  /// Returns whether a thread works on this key now.
  bool IsBusy(const Key& key);

 private:
  struct Flight {
    Mutex mutex;
    ConditionVariable done_changed;
    bool is_done TUNEONCE_GUARDED_BY(mutex) = false;
    TuneOutcome outcome TUNEONCE_GUARDED_BY(mutex);
  };

  /// Returns the work on this key. `*is_first` states whether the caller is to do it.
  std::shared_ptr<Flight> Join(const Key& key, bool* is_first);
  static TuneOutcome WaitFor(Flight& flight, const StopToken& stop);
  void Land(const Key& key, Flight& flight, const TuneOutcome& outcome) noexcept;

  Mutex mutex_;
  std::map<Key, std::shared_ptr<Flight>> flights_ TUNEONCE_GUARDED_BY(mutex_);
};

/// Returns the key of a launch in the form that TuneOnce uses.
inline TuneOnce::Key FlightOf(const LaunchKey& key) {
  return TuneOnce::Key(key.words.begin(), key.words.begin() + static_cast<std::ptrdiff_t>(key.count));
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_TUNE_ONCE_H_
