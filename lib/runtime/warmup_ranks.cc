// The lists of keys that a group of ranks agrees on in a warm-up and in TunePending.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/callback.h"
#include "runtime/ranked_keys.h"
#include "runtime/tuned_kernel_impl.h"
#include "runtime/warmup_run.h"

namespace tuneonce {
inline namespace v0 {

Status TunedKernel::WarmupInRanks(CUstream stream, const std::vector<Shape>& shapes,
                                  const std::function<void(std::size_t, const Status&)>& on_done) {
  Result<std::vector<WarmedKey>> warmed = WarmupAll(stream, {{this, shapes}});
  std::vector<Status> outcomes(shapes.size(), warmed.status());
  if (warmed.ok()) {
    for (const WarmedKey& key : *warmed) {
      for (std::size_t shape : key.shapes) outcomes[shape] = key.status;
    }
  }
  Status first_failure;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (first_failure.ok()) first_failure = outcomes[i];
    if (!on_done) continue;
    CallbackScope scope;
    try {
      on_done(i + 1, outcomes[i]);
    } catch (...) {  // An exception from a progress callback must not end a warm-up.
    }
  }
  // A silent rank is not waited for a second time.
  const bool is_silent = first_failure.code() == StatusCode::kDeadlineExceeded;
  if (is_silent) {
    (void)RankedKeys(stream, ranks()).Agree(nullptr, RankedKeys::Patience::kNotForSilent);
    return first_failure;
  }
  Status rest = TunePending(stream);
  return first_failure.ok() ? rest : first_failure;
}

Status TunedKernel::TakeTurn(CUstream stream, Status why) const {
  // Inside a trial, which may belong to a search for all ranks, this thread is already taking part.
  if (InsideTrial()) return why;
  (void)RankedKeys(stream, ranks()).Agree(nullptr);
  return why;
}

Status TunedKernel::Impl::WarmArgumentsInRanks(CUstream stream, const Argument* arguments, std::size_t count) {
  auto reader = std::make_unique<const ReadyKeys::Reader>(ready_keys);  // Lives until TunePending frees memory.
  if (InsideTrial()) return misses.CheckSafe(stream, "warm-up", "warm up");
  BoundCall bound;
  bool is_empty = false;
  RankedKeys keys(stream, policy.ranks);
  RankedKeys::Key key;
  Status known = Guarded([&]() -> Status {
    TUNEONCE_RETURN_IF_ERROR(misses.CheckSafe(stream, "warm-up", "warm up"));
    if (Status status = binder.Bind(arguments, count, &bound, &is_empty); !status.ok()) return status;
    TUNEONCE_ASSIGN_OR_RETURN(const ReadyKeys::DeviceState* device, ready_keys.CurrentDevice());
    bound.problem.target = device->target;
    return ready_keys.SelectionKeyOf(bound, &key.key);
  });
  if (known.ok()) {
    key.impl = this;
    key.text = announcer.KeyText(bound, key.key.left_out());
    key.call = [&bound](std::size_t) -> Result<TuningCall> { return TuningCall(bound); };
    key.on_inputs = [&bound](const std::function<Status(TuningCall&)>& tune) {
      TuningCall call(bound);
      return tune(call);
    };
    keys.Add(std::move(key));
  }
  const std::vector<RankedKeys::Outcome> outcomes = keys.Agree(this);
  if (!outcomes.empty()) known = outcomes.front().status;
  // A silent rank is not waited for a second time.
  const bool is_silent = known.code() == StatusCode::kDeadlineExceeded;
  if (is_silent) {
    (void)RankedKeys(stream, policy.ranks).Agree(this, RankedKeys::Patience::kNotForSilent);
    return known;
  }
  reader.reset();
  Status rest = TunePendingInRanks(stream);
  return known.ok() || is_empty ? rest : known;
}

Status TunedKernel::Impl::TunePendingInRanks(CUstream stream) {
  const ReadyKeys::Reader reader(ready_keys);
  if (InsideTrial()) return misses.CheckSafe(stream, "call of TunePending", "call it");
  Result<std::vector<PendingKeys::Entry>> due = std::vector<PendingKeys::Entry>();
  RankedKeys keys(stream, policy.ranks);
  Status safe = Guarded([&]() -> Status {
    TUNEONCE_RETURN_IF_ERROR(misses.CheckSafe(stream, "call of TunePending", "call it"));
    TUNEONCE_ASSIGN_OR_RETURN(due, misses.Due());
    // A rank that asks for one of these missed the end of the agreement on it.
    TUNEONCE_ASSIGN_OR_RETURN(const std::uint64_t device_word, ready_keys.DeviceWord(LaunchKey::kTuned));
    for (AgreedKeys::Key& asked : agreed.Asked()) {
      const bool is_here = LaunchKey::DeviceAndRole(asked.key.words[0]) == device_word;
      if (is_here && ready_keys.HasSelection(asked.key)) due->push_back(std::move(asked));
    }
    return Status();
  });
  for (const PendingKeys::Entry& waiting : *due) {
    RankedKeys::Key key;
    key.impl = this;
    key.key = waiting.key;
    key.text = waiting.text;
    key.is_waiting = true;
    key.call = [this, stream, &waiting](std::size_t) {
      return TuningCall::OnFills(*definition, binder, waiting.shape, StreamView(api, stream), WarmupInputs::Use::kKey);
    };
    key.on_inputs = [this, stream, &waiting](const std::function<Status(TuningCall&)>& tune) {
      return misses.OnInputs(stream, waiting, tune);
    };
    keys.Add(std::move(key));
  }
  Status first_failure = safe;
  for (const RankedKeys::Outcome& outcome : keys.Agree(this)) {
    if (first_failure.ok()) first_failure = outcome.status;
  }
  agreed.SetAsked(keys.TakeKeysOfOthersAlone());
  misses.DropOldest();
  return first_failure;
}

void WarmupRun::NoteGroup(const TunedKernel& kernel, TunedKernel::Impl* impl) {
  const RankPolicy& policy = kernel.ranks();
  if (policy.group == nullptr) return;
  auto known = std::find_if(groups_.begin(), groups_.end(),
                            [&](const Group& group) { return group.policy->group == policy.group; });
  if (known == groups_.end()) return groups_.push_back({&policy, impl});
  if (known->impl == nullptr) known->impl = impl;
}

void WarmupRun::TakeTurns(CUstream stream, const std::vector<KernelShapes>& kernels, const WarmupAllOptions& options) {
  // Inside a trial, which may belong to a search for all ranks, this thread is already taking part.
  if (InsideTrial()) return;
  WarmupRun run(stream, options);
  for (const KernelShapes& each : kernels) {
    if (each.kernel != nullptr) run.NoteGroup(*each.kernel, nullptr);
  }
  run.AgreeInRanks();
}

void WarmupRun::AgreeInRanks() {
  for (const Group& group : groups_) {
    RankedKeys keys(stream_, *group.policy);
    std::vector<Entry*> agreed;
    for (Entry& entry : entries_) {
      if (entry.is_done || entry.impl->policy.ranks.group != group.policy->group) continue;
      agreed.push_back(&entry);
      keys.Add(RankedKeyOf(entry));
    }
    keys.CompileAheadBy([&](const std::vector<std::size_t>& places, const std::function<void()>& beat) {
      std::vector<Entry*> searched;
      for (std::size_t place : places) searched.push_back(agreed[place]);
      CompileFor(searched, beat);
    });
    std::vector<RankedKeys::Outcome> outcomes = keys.Agree(group.impl);
    for (std::size_t i = 0; i < agreed.size(); ++i) {
      agreed[i]->warmed.is_complete = outcomes[i].is_complete;
      const StatusCode code = outcomes[i].status.code();
      const bool is_cut_short = code == StatusCode::kCancelled && IsOverFor(*agreed[i]->impl);
      End(*agreed[i], is_cut_short ? State::kNotReached : outcomes[i].state, std::move(outcomes[i].status));
    }
  }
}

RankedKeys::Key WarmupRun::RankedKeyOf(Entry& entry) {
  TunedKernel::Impl& impl = *entry.impl;
  RankedKeys::Key key;
  key.impl = &impl;
  key.key = entry.key;
  key.text = entry.warmed.key;
  key.num_calls = entry.shapes.size();
  key.call = [this, &entry](std::size_t index) { return CallWithoutMemory(entry, entry.shapes[index]); };
  key.on_inputs = [this, &entry, &impl](const std::function<Status(TuningCall&)>& tune) -> Status {
    TUNEONCE_ASSIGN_OR_RETURN(TuningCall call,
                              TuningCall::OnFills(*impl.definition, impl.binder, entry.shapes.front(),
                                                  StreamView(impl.api, stream_), WarmupInputs::Use::kSearch));
    return tune(call);
  };
  key.interrupted = [this] { return (options_.cancelled != nullptr && options_.cancelled->load()) || !fatal_.ok(); };
  key.limits = [this, &impl] {
    const auto left = std::count_if(entries_.begin(), entries_.end(), [](const Entry& each) { return !each.is_done; });
    TuneLimits limits{end_, std::nullopt, [this, &impl] { return IsOverFor(impl); }};
    if (options_.deadline_ms) limits.share = ShareOf(TimeLeft(), static_cast<std::size_t>(std::max<long>(1, left)));
    return limits;
  };
  return key;
}

}  // namespace v0
}  // namespace tuneonce
