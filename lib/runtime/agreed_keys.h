#ifndef TUNEONCE_LIB_RUNTIME_AGREED_KEYS_H_
#define TUNEONCE_LIB_RUNTIME_AGREED_KEYS_H_

#include <map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "runtime/pending_keys.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
inline namespace v0 {

/// The keys that a group of ranks agreed on, and the keys that other ranks still ask for. A rank that missed the end of
/// an agreement runs its fallback config while the others run the selected one. The others see the key in that rank's
/// next list, and include it in their own list after that. Thread-safe.
class AgreedKeys {
 public:
  using Key = PendingKeys::Entry;

  /// Records that the ranks agreed on `key`, which has this name in their lists.
  void Add(const Fingerprint& name, Key key) {
    MutexLock lock(mutex_);
    keys_.insert_or_assign(name, std::move(key));
  }
  /// Stores the keys that were in the last list of other ranks and not in this rank's.
  void SetAsked(std::vector<Fingerprint> names) {
    MutexLock lock(mutex_);
    asked_ = std::move(names);
  }
  /// Returns the keys of SetAsked that this rank agreed on.
  std::vector<Key> Asked() const {
    MutexLock lock(mutex_);
    std::vector<Key> asked;
    for (const Fingerprint& name : asked_) {
      if (auto it = keys_.find(name); it != keys_.end()) asked.push_back(it->second);
    }
    return asked;
  }

 private:
  mutable Mutex mutex_;
  std::map<Fingerprint, Key> keys_ TUNEONCE_GUARDED_BY(mutex_);  // By their names in the lists.
  std::vector<Fingerprint> asked_ TUNEONCE_GUARDED_BY(mutex_);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_AGREED_KEYS_H_
