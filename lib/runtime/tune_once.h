#ifndef TUNEONCE_LIB_RUNTIME_TUNE_ONCE_H_
#define TUNEONCE_LIB_RUNTIME_TUNE_ONCE_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tuneonce/base/status.h"

namespace tuneonce {

/// Single flight: of all threads that ask for the same key at a time, one works and the others wait for its outcome.
/// Different keys do not wait for each other. Thread-safe.
class TuneOnce {
 public:
  using Key = std::vector<std::uint64_t>;

  /// Runs `work`, or waits for the thread that runs it for this key. `*waited` says which. Returns the work's status.
  /// Nothing is remembered: a call after a failed one tries again.
  Status Run(const Key& key, bool* waited, const std::function<Status()>& work);
  /// True if a thread works on this key just now.
  bool IsBusy(const Key& key);

 private:
  struct Flight {
    std::mutex mutex;
    std::condition_variable landed_one;
    bool landed = false;
    Status status;
  };

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Flight>> flights_;
};

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_TUNE_ONCE_H_
