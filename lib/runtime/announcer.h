#ifndef TUNEONCE_LIB_RUNTIME_ANNOUNCER_H_
#define TUNEONCE_LIB_RUNTIME_ANNOUNCER_H_

#include <string>

#include "base/callback.h"
#include "launch/call_binder.h"
#include "launch/variant_set.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

/// Reports a kernel's misses to the policy's observer and to the Runtime's log, and prints keys and warnings for both.
/// REQUIRES: the constructor's arguments outlive it; the policy has an observer and a runtime. Thread-safe.
class Announcer {
 public:
  Announcer(const KernelDefinition& definition, const CallBinder& binder, const AutotunePolicy& policy)
      : definition_(definition), binder_(binder), policy_(policy) {}

  /// Calls `tell` with the observer, and drops its exceptions.
  template <typename Function>
  void Tell(const Function& tell) const {
    CallbackScope scope;
    try {
      tell(*policy_.observer);
    } catch (...) {
    }
  }
  void Warn(const std::string& line) const;
  /// Logs the outcome of a key at level info. `words` makes the line, and is called only if the level is logged.
  template <typename Words>
  void Inform(const std::string& key_text, const Words& words) const {
    const Runtime& runtime = *policy_.search.runtime;
    if (runtime.Logs(LogLevel::kInfo)) {
      runtime.Log(LogLevel::kInfo, "kernel '" + definition_.name() + "', " + key_text + ": " + words());
    }
  }
  /// Warns about the store, once for each reason, even if several kernels and keys meet it.
  void WarnOfStore(const Status& failed, const char* consequence) const;

  /// Prints a key: "M=128, x:float16", or "M=128, x:float16, without aligned" for a key that excludes variants.
  std::string KeyText(const BoundCall& call, VariantSet left_out = {}) const;

 private:
  const KernelDefinition& definition_;
  const CallBinder& binder_;
  const AutotunePolicy& policy_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_ANNOUNCER_H_
