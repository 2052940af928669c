// MissPolicy's functions that no launch calls: Retune, and the refusals that Explain reports.
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "runtime/context_status.h"
#include "runtime/miss_policy.h"
#include "tuneonce/stream.h"

namespace tuneonce {
inline namespace v0 {

Status MissPolicy::Retune(CUstream stream, TuningCall& call) {
  if (to_.policy.ranks.group != nullptr) {
    return FailedPreconditionError("kernel '" + to_.definition->name() +
                                   "': Retune is not possible on one rank of a group, because all ranks must run the "
                                   "same config: restart with another store, or pin a config on all ranks");
  }
  if (!may_search()) {
    return FailedPreconditionError(
        "kernel '" + to_.definition->name() +
        "': " + (frozen_ ? "nothing is tuned after Freeze" : "its AutotunePolicy::mode does not search"));
  }
  TUNEONCE_RETURN_IF_ERROR(CheckTunable(stream, call));
  LaunchKey key;
  TUNEONCE_RETURN_IF_ERROR(to_.ready_keys.SelectionKeyOf(call.call(), &key));
  const TuneRequest request = {stream, call};
  for (bool waited = true;;) {  // Repeated while another thread worked on the key.
    TuneOutcome outcome = tune_once_.Run(FlightOf(key), &waited, to_.policy.search.interrupted,
                                         [&] { return chooser_.Reselect(request, key, /*may_wait=*/true); });
    if (waited && !IsInterrupted(to_.policy.search.interrupted)) continue;
    if (outcome.status.ok()) Forget(key);
    return outcome.status;
  }
}

void MissPolicy::Forget(const LaunchKey& key) {
  failed_.Remove(FlightOf(key));
  pending_.Remove(key);
}

Result<std::optional<MissPolicy::Refusal>> MissPolicy::RefusalOf(CUstream stream, const LaunchKey& key) const {
  TUNEONCE_RETURN_IF_ERROR(CheckContext(to_.api));
  TUNEONCE_ASSIGN_OR_RETURN(bool capturing, StreamView(to_.api, stream).IsCapturing());
  if (capturing) return std::optional<Refusal>({LaunchPlan::Reason::kCapture, ""});
  if (frozen_) return std::optional<Refusal>({LaunchPlan::Reason::kFrozen, ""});
  if (std::optional<TuneOutcome> failed = failed_.Find(FlightOf(key), FailedTunes::Clock::now())) {
    return std::optional<Refusal>({LaunchPlan::Reason::kFailedTune, failed->status.message()});
  }
  if (to_.policy.ranks.group != nullptr) return std::optional<Refusal>({LaunchPlan::Reason::kNotAgreed, ""});
  return std::optional<Refusal>();
}

}  // namespace v0
}  // namespace tuneonce
