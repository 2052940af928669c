#ifndef TUNEONCE_LIB_RUNTIME_TUNE_ONCE_H_
#define TUNEONCE_LIB_RUNTIME_TUNE_ONCE_H_

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "runtime/resident_key.h"
#include "tuneonce/status.h"

namespace tuneonce {
inline namespace v0 {

/// What came of making a key resident.
struct TuneOutcome {
  Status status;
  bool is_elsewhere = false;   ///< The error: another process tunes the key.
  bool is_news = false;        ///< The error: the key's first, which this thread met.
  bool is_not_stored = false;  ///< The error: no record serves the key, and nothing else may be asked.
  enum class From { kResident, kStore, kSearch };
  From from = From::kResident;  ///< Where the choice comes from; kResident: it was there.
  bool is_complete = true;      ///< kSearch: it was not cut short.

  /// A stored record serves.
  static TuneOutcome Stored(bool is_complete = true) {
    TuneOutcome outcome;
    outcome.from = From::kStore;
    outcome.is_complete = is_complete;
    return outcome;
  }
};

/// Single flight: of all threads that ask for the same key at a time, one works and the others wait for its outcome.
/// Different keys do not wait for each other. Thread-safe.
class TuneOnce {
 public:
  using Key = std::vector<std::uint64_t>;

  /// Runs `work`, or waits for the thread that runs it for this key. `*waited` says which. Returns the work's outcome;
  /// what it throws becomes its error, so that nobody waits for ever. A thread that waited for work which was cancelled
  /// takes it over. `interrupted` (may be null) is asked while waiting: true ends this call, with Cancelled.
  /// Nothing is remembered: a call after a failed one tries again.
  TuneOutcome Run(const Key& key, bool* waited, const std::function<bool()>& interrupted,
                  const std::function<TuneOutcome()>& work);
  /// True if a thread works on this key just now.
  bool IsBusy(const Key& key);

 private:
  struct Flight {
    Mutex mutex;
    Condition landed_one;
    bool landed TUNEONCE_GUARDED_BY(mutex) = false;
    TuneOutcome outcome TUNEONCE_GUARDED_BY(mutex);
  };

  /// The key's flight; `*is_first` says that the caller is to work.
  std::shared_ptr<Flight> Join(const Key& key, bool* is_first);
  static TuneOutcome WaitFor(Flight& flight, const std::function<bool()>& interrupted);
  void Land(const Key& key, Flight& flight, const TuneOutcome& outcome) noexcept;

  Mutex mutex_;
  std::map<Key, std::shared_ptr<Flight>> flights_ TUNEONCE_GUARDED_BY(mutex_);
};

/// The key of a launch, as flights go by it.
inline TuneOnce::Key FlightOf(const ResidentKey& key) {
  return TuneOnce::Key(key.words.begin(), key.words.begin() + static_cast<std::ptrdiff_t>(key.count));
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_TUNE_ONCE_H_
