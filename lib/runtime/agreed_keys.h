#ifndef TUNEONCE_LIB_RUNTIME_AGREED_KEYS_H_
#define TUNEONCE_LIB_RUNTIME_AGREED_KEYS_H_

#include <map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "runtime/waiting_keys.h"
#include "tuneonce/fingerprint.h"

namespace tuneonce {
inline namespace v0 {

/// The keys that a group of ranks agreed on, and those that other ranks still ask for: a rank that did not hear the end
/// of an agreement runs its fallback while the others run the selected config. The others see its key in its next list,
/// and put theirs into the list after that. Thread-safe.
class AgreedKeys {
 public:
  using Key = WaitingKeys::Waiting;

  /// This rank runs what the ranks agreed on for `key`, which has this name in their lists.
  void Add(const Fingerprint& name, Key key) {
    MutexLock lock(mutex_);
    keys_.insert_or_assign(name, std::move(key));
  }
  /// The keys that other ranks had in the last list, and this one had not.
  void SetAsked(std::vector<Fingerprint> names) {
    MutexLock lock(mutex_);
    asked_ = std::move(names);
  }
  /// Those of them that were agreed on here.
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
  std::map<Fingerprint, Key> keys_ TUNEONCE_GUARDED_BY(mutex_);  // By their names.
  std::vector<Fingerprint> asked_ TUNEONCE_GUARDED_BY(mutex_);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_AGREED_KEYS_H_
