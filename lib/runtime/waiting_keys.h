#ifndef TUNEONCE_LIB_RUNTIME_WAITING_KEYS_H_
#define TUNEONCE_LIB_RUNTIME_WAITING_KEYS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "runtime/kept_inputs.h"
#include "runtime/resident_key.h"
#include "runtime/tune_once.h"
#include "runtime/warmup_inputs.h"

namespace tuneonce {
inline namespace v0 {

/// The keys that wait for a safe point, and what it takes to make a call of them then, when the tensors of the launch
/// that met them are gone: copies of them, where these could be had. Those that cannot be tuned stay, so that Seal
/// finds them. Thread-safe.
class WaitingKeys {
 public:
  struct Waiting {
    ResidentKey key;
    InputShape shape;
    std::string text;                          ///< "M=128, x:float16".
    std::shared_ptr<const KeptInputs> inputs;  ///< May be null.
  };

  /// At most `most` wait at a time; those that come then do not wait.
  explicit WaitingKeys(std::size_t most) : most_(most) {}

  /// False if there is no room. A key that waits already goes on waiting.
  bool Add(Waiting waiting);
  bool Has(const ResidentKey& key) const;
  void Remove(const ResidentKey& key);
  /// The key waits on without the launch's inputs.
  void ReleaseInputs(const ResidentKey& key);
  /// Those of which `is_due` is true, in no order.
  std::vector<Waiting> Due(const std::function<bool(const TuneOnce::Key& key)>& is_due) const;
  /// All, in no order; none waits any more.
  std::vector<Waiting> TakeAll();
  std::size_t size() const;

 private:
  const std::size_t most_;
  mutable Mutex mutex_;
  std::map<TuneOnce::Key, Waiting> waiting_ TUNEONCE_GUARDED_BY(mutex_);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_WAITING_KEYS_H_
