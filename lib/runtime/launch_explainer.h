#ifndef TUNEONCE_LIB_RUNTIME_LAUNCH_EXPLAINER_H_
#define TUNEONCE_LIB_RUNTIME_LAUNCH_EXPLAINER_H_

#include "runtime/tuned_kernel_impl.h"
#include "runtime/tuning_call.h"

namespace tuneonce {
inline namespace v0 {

/// TunedKernel::Explain: checks the conditions of a launch in the launch's own order. Used once, on one thread.
class LaunchExplainer {
 public:
  LaunchExplainer(TunedKernel::Impl* impl, CUstream stream) : impl_(*impl), stream_(stream) {}

  Result<LaunchPlan> Explain(TuningCall& call);

 private:
  Status MakePlan(TuningCall& call);
  /// Puts the fallback config of the call into the plan.
  Status PutFallback(const BoundCall& call);
  /// Puts that the selected config was not verified for the call into the plan: a search verifies it, where one may
  /// run.
  Status PutUnverified(const BoundCall& call, const LaunchKey& key, const Config& config, const std::string& variant);
  /// Puts that the selected config may not run for the call into the plan.
  Status PutGuard(const BoundCall& call, const Status& guard);
  /// Puts what a launch of a key that is not loaded would do into the plan.
  Status PutStored(TuningCall& call, const LaunchKey& key);

  TunedKernel::Impl& impl_;
  const CUstream stream_;
  LaunchPlan plan_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_LAUNCH_EXPLAINER_H_
