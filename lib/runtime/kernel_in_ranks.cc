#include "runtime/kernel_in_ranks.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/callback.h"

namespace tuneonce {
inline namespace v0 {

Status KernelInRanks::Warmup(TunedKernel* kernel, CUstream stream, const std::vector<TunedKernel::Shape>& shapes,
                             const std::function<void(std::size_t, const Status&)>& on_done) {
  Result<std::vector<WarmedKey>> warmed = WarmupAll(stream, {{kernel, shapes}});
  std::vector<Status> outcomes(shapes.size(), warmed.status());
  if (warmed.ok()) {
    for (const WarmedKey& key : *warmed) {
      for (std::size_t shape : key.shapes) outcomes[shape] = key.status;
    }
  }
  Status first_failure;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (first_failure.ok()) first_failure = outcomes[i];
    TellProgress(on_done, i + 1, outcomes[i]);
  }
  Result<TunedKernel::Impl*> bound = kernel->Bound();
  Status rest = bound.ok() ? KernelInRanks(*bound, stream).TunePending(RankedKeys::Patience::kNotForSilent)
                           : TakeTurn(*kernel, stream, bound.status(), RankedKeys::Patience::kNotForSilent);
  return first_failure.ok() ? rest : first_failure;
}

Status KernelInRanks::TakeTurn(const TunedKernel& kernel, CUstream stream, Status why, RankedKeys::Patience patience) {
  // Inside a trial, which may belong to a search for all ranks, this thread is already taking part.
  if (InsideTrial()) return why;
  (void)RankedKeys(stream, kernel.ranks()).Agree(nullptr, patience);
  return why;
}

Status KernelInRanks::WarmArguments(const Argument* arguments, std::size_t count) {
  auto reader = std::make_unique<const ReadyKeys::Reader>(impl_.ready_keys);  // Lives until TunePending frees memory.
  if (InsideTrial()) return impl_.misses.CheckSafe(stream_, "warm-up", "warm up");
  BoundCall bound;
  bool is_empty = false;
  RankedKeys keys(stream_, impl_.policy.ranks);
  RankedKeys::Key key;
  Status known = impl_.Guarded([&]() -> Status {
    TUNEONCE_RETURN_IF_ERROR(impl_.misses.CheckSafe(stream_, "warm-up", "warm up"));
    if (Status status = impl_.binder.Bind(arguments, count, &bound, &is_empty); !status.ok()) return status;
    TUNEONCE_ASSIGN_OR_RETURN(const ReadyKeys::DeviceState* device, impl_.ready_keys.CurrentDevice());
    bound.problem.target = &device->target;
    return impl_.ready_keys.SelectionKeyOf(bound, &key.key);
  });
  if (known.ok()) {
    key.impl = &impl_;
    key.text = impl_.announcer.KeyText(bound, key.key.left_out());
    key.call = [&bound](std::size_t) -> Result<TuningCall> { return TuningCall(bound); };
    key.on_inputs = [&bound](const std::function<Status(TuningCall&)>& tune) {
      TuningCall call(bound);
      return tune(call);
    };
    keys.Add(std::move(key));
  }
  const std::vector<RankedKeys::Outcome> outcomes = keys.Agree(&impl_);
  if (!outcomes.empty()) known = outcomes.front().status;
  reader.reset();
  Status rest = TunePending(RankedKeys::Patience::kNotForSilent);
  return known.ok() || is_empty ? rest : known;
}

Status KernelInRanks::TunePending(RankedKeys::Patience patience) {
  const ReadyKeys::Reader reader(impl_.ready_keys);
  if (InsideTrial()) return impl_.misses.CheckSafe(stream_, "call of TunePending", "call it");
  Result<std::vector<PendingKeys::Entry>> due = std::vector<PendingKeys::Entry>();
  RankedKeys keys(stream_, impl_.policy.ranks);
  Status safe = impl_.Guarded([&]() -> Status {
    TUNEONCE_RETURN_IF_ERROR(impl_.misses.CheckSafe(stream_, "call of TunePending", "call it"));
    TUNEONCE_ASSIGN_OR_RETURN(due, impl_.misses.Due(/*continues=*/false));
    // A rank that asks for one of these missed the end of the agreement on it.
    TUNEONCE_ASSIGN_OR_RETURN(const std::uint64_t device_word, impl_.ready_keys.DeviceWord(LaunchKey::kTuned));
    for (AgreedKeys::Key& asked : impl_.agreed.Asked()) {
      const bool is_here = LaunchKey::DeviceAndRole(asked.key.words[0]) == device_word;
      if (is_here && impl_.ready_keys.HasSelection(asked.key)) due->push_back(std::move(asked));
    }
    return Status();
  });
  for (const PendingKeys::Entry& waiting : *due) {
    RankedKeys::Key key;
    key.impl = &impl_;
    key.key = waiting.key;
    key.text = waiting.text;
    key.is_waiting = true;
    key.call = [this, &waiting](std::size_t) {
      return TuningCall::OnFills(*impl_.definition, impl_.binder, waiting.shape, StreamView(impl_.api, stream_),
                                 WarmupInputs::Use::kKey);
    };
    key.on_inputs = [this, &waiting](const std::function<Status(TuningCall&)>& tune) {
      return impl_.misses.OnInputs(stream_, waiting, tune);
    };
    keys.Add(std::move(key));
  }
  Status first_failure = safe;
  for (const RankedKeys::Outcome& outcome : keys.Agree(&impl_, patience)) {
    if (first_failure.ok()) first_failure = outcome.status;
  }
  impl_.agreed.SetAsked(keys.TakeKeysOfOthersAlone());
  impl_.misses.DropOldest();
  return first_failure;
}

}  // namespace v0
}  // namespace tuneonce
