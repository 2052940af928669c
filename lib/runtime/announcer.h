#ifndef TUNEONCE_LIB_RUNTIME_ANNOUNCER_H_
#define TUNEONCE_LIB_RUNTIME_ANNOUNCER_H_

#include <string>

#include "base/callback.h"
#include "launch/call_binder.h"
#include "launch/variant_set.h"
#include "tuneonce/autotune_observer.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

/// Says what a kernel's misses do, to the policy's observer and the Runtime's log, and in which words: keys, warnings.
/// REQUIRES: what it is made of outlives it; the policy has an observer and a runtime. Thread-safe.
class Announcer {
 public:
  Announcer(const KernelDefinition& definition, const CallBinder& binder, const AutotunePolicy& policy)
      : definition_(definition), binder_(binder), policy_(policy) {}

  /// Calls `tell` with the observer; its exceptions are dropped.
  template <typename Function>
  void Tell(const Function& tell) const {
    CallbackScope scope;
    try {
      tell(*policy_.observer);
    } catch (...) {
    }
  }
  void Warn(const std::string& line) const;
  /// To the Runtime's log, at info: what became of a key. `words` is called where somebody reads it.
  template <typename Words>
  void Inform(const std::string& key_text, const Words& words) const {
    const Runtime& runtime = *policy_.search.runtime;
    if (runtime.Logs(LogLevel::kInfo)) {
      runtime.Log(LogLevel::kInfo, "kernel '" + definition_.name() + "', " + key_text + ": " + words());
    }
  }
  /// Of the store: once for each reason, whichever kernel and key met it.
  void WarnOfStore(const Status& failed, const char* consequence) const;

  /// "M=128, x:float16"; of a key that leaves variants out, "M=128, x:float16, without aligned".
  std::string KeyText(const BoundCall& call, VariantSet left_out = {}) const;

 private:
  const KernelDefinition& definition_;
  const CallBinder& binder_;
  const AutotunePolicy& policy_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_ANNOUNCER_H_
