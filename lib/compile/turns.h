#ifndef TUNEONCE_LIB_COMPILE_TURNS_H_
#define TUNEONCE_LIB_COMPILE_TURNS_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "tuneonce/api.h"

namespace tuneonce {
inline namespace v0 {

/// For work that may run beside its like, but not beside other work: who asks by the same key goes at the same time, by
/// another one afterwards. When nobody is at work any more, it is the turn of who waits longest, and of all who wait by
/// the same key then. Who comes later waits if anybody waits: so no key waits for ever. Thread-safe.
class TUNEONCE_API Turns {
 public:
  /// Until it is destroyed: on any thread, before the turns are.
  using Turn = std::shared_ptr<void>;
  /// Waits for a turn of `key`. Null once `cancelled`, if it is given, is true, which is looked at every 10 ms.
  Turn Take(const std::string& key, const std::atomic<bool>* cancelled);
  /// How many wait now.
  std::size_t num_waiting();

 private:
  struct Waiting {
    const std::string& key;
    bool has_turn;
  };
  void End();

  Mutex mutex_;
  Condition changed_;
  int at_work_ TUNEONCE_GUARDED_BY(mutex_) = 0;
  std::string key_ TUNEONCE_GUARDED_BY(mutex_);                // Of those at work.
  std::vector<Waiting*> waiting_ TUNEONCE_GUARDED_BY(mutex_);  // Who waits longest is the first.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_TURNS_H_
