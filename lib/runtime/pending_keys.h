#ifndef TUNEONCE_LIB_RUNTIME_PENDING_KEYS_H_
#define TUNEONCE_LIB_RUNTIME_PENDING_KEYS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "runtime/kept_inputs.h"
#include "runtime/launch_key.h"
#include "runtime/tune_once.h"
#include "runtime/warmup_inputs.h"

namespace tuneonce {
inline namespace v0 {

/// The keys that are pending until TunePending, and what is needed to make a call of them then, when the tensors of the
/// launch that met them are gone: copies of the tensors, if memory allowed. Keys that cannot be tuned stay, so that
/// Freeze finds them. Thread-safe.
class PendingKeys {
 public:
  struct Entry {
    LaunchKey key;
    InputShape shape;
    std::string text;                          ///< "M=128, x:float16".
    std::shared_ptr<const KeptInputs> inputs;  ///< May be null.
    /// Whether the key runs a config that is to be improved by a search: that of a stored search which was cut short,
    /// or a predicted one.
    bool is_cut_short = false;
  };

  /// At most `most` keys are pending at a time. Further ones are not added.
  explicit PendingKeys(std::size_t most) : most_(most) {}

  /// Returns false if the list is full. A key that is pending already stays so.
  bool Add(Entry entry);
  bool Has(const LaunchKey& key) const;
  void Remove(const LaunchKey& key);
  /// Frees the launch's inputs. The key stays pending.
  void ReleaseInputs(const LaunchKey& key);
  /// Returns the keys for which `is_due` returns true, in no particular order.
  std::vector<Entry> Due(const std::function<bool(const TuneOnce::Key& key, const Entry& entry)>& is_due) const;
  /// Removes and returns all keys, in no particular order.
  std::vector<Entry> TakeAll();
  std::size_t size() const;

 private:
  const std::size_t most_;
  mutable Mutex mutex_;
  std::map<TuneOnce::Key, Entry> pending_ TUNEONCE_GUARDED_BY(mutex_);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_PENDING_KEYS_H_
