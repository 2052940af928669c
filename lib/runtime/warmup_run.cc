#include "runtime/warmup_run.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/deadline.h"
#include "base/span.h"
#include "runtime/warmup_shape.h"
#include "search/trial_worker.h"
#include "shared/compile_cached.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

WarmupRun::WarmupRun(CUstream stream, const WarmupAllOptions& options)
    : stream_(stream),
      options_(options),
      end_(options.deadline ? DeadlineIn(*options.deadline, start_) : Clock::time_point::max()) {}

Status WarmupRun::WhyNotReached(const Entry& entry, Status status) const {
  const bool is_cancelled = status.code() == StatusCode::kCancelled;
  if (!status.ok() && !is_cancelled && status.code() != StatusCode::kDeadlineExceeded) return status;
  if (!fatal_.ok()) return fatal_;
  if (options_.stop.stop_requested() || entry.impl->policy.search.stop.stop_requested()) {
    return is_cancelled ? status : CancelledError("the warm-up was stopped before this key was reached");
  }
  if (is_cancelled) return DeadlineExceededError("the deadline passed during the search of this key");
  return status.ok() ? DeadlineExceededError("the deadline passed before this key was reached") : status;
}

bool WarmupRun::IsOver() const { return options_.stop.stop_requested() || !fatal_.ok() || Clock::now() >= end_; }

bool WarmupRun::IsOverFor(const TunedKernel::Impl& impl) const {
  return IsOver() || impl.policy.search.stop.stop_requested();
}

void WarmupRun::End(Entry& entry, State state, Status status) {
  if (state == State::kNotReached) status = WhyNotReached(entry, std::move(status));
  if (status.sticky() && fatal_.ok()) fatal_ = status;
  entry.warmed.state = state;
  entry.warmed.status = std::move(status);
  entry.is_done = true;
}

Status WarmupRun::Add(std::size_t place, const KernelShapes& kernel) {
  if (kernel.kernel == nullptr) return InvalidArgumentError(absl::StrCat("kernel ", place, " of a warm-up is null"));
  Result<TunedKernel::Impl*> impl = kernel.kernel->Bound();
  if (impl.ok()) kernels_.try_emplace(*impl, (*impl)->ready_keys);
  NoteGroup(*kernel.kernel, impl.ok() ? *impl : nullptr);
  if (!impl.ok() && impl.status().code() == StatusCode::kFailedPrecondition) return impl.status();
  if (impl.ok()) TUNEONCE_RETURN_IF_ERROR((*impl)->misses.CheckSafe(stream_, "warm-up", "warm up"));
  for (std::size_t i = 0; i < kernel.shapes.size(); ++i) {
    if (impl.ok()) {
      AddShape(place, **impl, i, kernel.shapes[i]);
      continue;
    }
    entries_.emplace_back().warmed.kernel = place;
    entries_.back().warmed.shapes = {i};
    End(entries_.back(), State::kFailed, impl.status());
  }
  return Status();
}

Result<TuningCall> WarmupRun::CallWithoutMemory(const Entry& entry, const InputShape& shape) const {
  TunedKernel::Impl& impl = *entry.impl;
  TUNEONCE_ASSIGN_OR_RETURN(TuningCall call,
                            TuningCall::OnFills(*impl.definition, impl.binder, shape, StreamView(impl.api, stream_),
                                                WarmupInputs::Use::kKey));
  TUNEONCE_ASSIGN_OR_RETURN(const ReadyKeys::DeviceState* device, impl.ready_keys.CurrentDevice());
  call.SetTarget(device->target);
  return call;
}

void WarmupRun::AddShape(std::size_t place, TunedKernel::Impl& impl, std::size_t index,
                         const TunedKernel::Shape& shape) {
  Entry entry;
  entry.impl = &impl;
  entry.warmed.kernel = place;
  entry.warmed.shapes = {index};
  bool is_empty = false;
  LaunchKey& key = entry.key;
  Status read = impl.Guarded([&]() -> Status {
    TUNEONCE_ASSIGN_OR_RETURN(InputShape inputs, ReadShape(*impl.definition, shape));
    TUNEONCE_ASSIGN_OR_RETURN(is_empty, IsEmptyAt(*impl.definition, inputs.dims));
    if (is_empty) return Status();
    TUNEONCE_ASSIGN_OR_RETURN(entry.call, CallWithoutMemory(entry, inputs));
    TUNEONCE_RETURN_IF_ERROR(impl.ready_keys.SelectionKeyOf(entry.call->call(), &key));
    entry.warmed.key = impl.announcer.KeyText(entry.call->call(), key.left_out());
    entry.shapes.push_back(std::move(inputs));
    return Status();
  });
  if (!read.ok()) End(entry, State::kFailed, read.WithPrefix("kernel '" + impl.definition->name() + "', warm-up"));
  if (is_empty) End(entry, State::kReady);
  if (!entry.is_done) {
    auto [it, is_new] = by_key_.try_emplace({place, FlightOf(key)}, nullptr);
    if (!is_new) {  // It may have another fallback config.
      it->second->warmed.shapes.push_back(index);
      it->second->shapes.push_back(std::move(entry.shapes.front()));
      return;
    }
    entries_.push_back(std::move(entry));
    it->second = &entries_.back();
    return;
  }
  entries_.push_back(std::move(entry));
}

void WarmupRun::Serve(Entry& entry) {
  TunedKernel::Impl& impl = *entry.impl;
  LaunchKey key;
  if (Status keyed = impl.ready_keys.SelectionKeyOf(entry.call->call(), &key); !keyed.ok()) {
    return End(entry, State::kFailed, std::move(keyed));
  }
  if (impl.ready_keys.HasSelection(key)) return End(entry, State::kReady);
  if (impl.is_baseline_only || impl.misses.is_frozen()) return End(entry, State::kFallback);
  TuneOutcome served = impl.misses.WarmSelected({stream_, *entry.call}, MissPolicy::kForLookup);
  entry.warmed.is_complete = served.is_complete;
  const bool is_predicted = served.origin == TuneOutcome::Origin::kPrediction;
  if (served.status.ok()) return End(entry, is_predicted ? State::kPredicted : State::kFromStore);
  if (!served.is_not_stored) return End(entry, State::kFailed, std::move(served.status));
  if (!impl.misses.may_search()) End(entry, State::kFallback);
}

Result<KeyJobs> WarmupRun::JobsOf(Entry& entry) const {
  TunedKernel::Impl& impl = *entry.impl;
  InputShape at_bound = entry.shapes.front();
  if (impl.policy.tune_at_bucket_bound) at_bound.dims = entry.call->BoundOf(*impl.definition);
  TUNEONCE_ASSIGN_OR_RETURN(TuningCall bound_call, CallWithoutMemory(entry, at_bound));
  return impl.fallbacks.JobsOf(*entry.call, bound_call);
}

bool WarmupRun::HasCode(Entry& entry, const std::function<void()>& beat) const {
  const SearchOptions& search = entry.impl->policy.search;
  KeyJobs jobs;
  beat();
  const Status planned = entry.impl->Guarded([&]() -> Status {
    TUNEONCE_ASSIGN_OR_RETURN(jobs, JobsOf(entry));
    return Status();
  });
  if (!planned.ok()) return true;  // The search returns the error, without compiling.
  const Target& target = *entry.call->call().problem.target;
  const auto is_compiled = [&](const CompileJob& job) {
    beat();
    return std::any_of(job.alternatives.begin(), job.alternatives.end(), [&](const CompileJob::Alternative& each) {
      return IsCompiled(search.runtime->toolchains(), *job.cache, each.source.Whole(), each.hints, target);
    });
  };
  // Most suffices, because a config that cannot be compiled is in no cache.
  const std::size_t most = (jobs.candidates.size() + 1) / 2;
  std::size_t num_compiled = 0;
  for (std::size_t i = 0; i < jobs.candidates.size() && num_compiled < most; ++i) {
    num_compiled += is_compiled(jobs.candidates[i]) ? 1 : 0;
  }
  return num_compiled >= most;
}

Status WarmupRun::PlanCompiles(Entry& entry) {
  TunedKernel::Impl& impl = *entry.impl;
  if (const std::string& shared = impl.policy.selection_group; !shared.empty()) {
    std::vector<std::uint64_t> words(impl.binder.num_key_words());
    impl.binder.KeyWords(entry.call->call(), words.data());
    // The first key compiles its candidates. The others compile one config, once it is known.
    const auto [first, is_first] = shared_.try_emplace({shared, std::move(words)}, &entry);
    if (!is_first) entry.compiles = first->second->compiles;
    if (!is_first) return Status();
  }
  TUNEONCE_ASSIGN_OR_RETURN(KeyJobs jobs, JobsOf(entry));
  const bool has_candidates = !jobs.candidates.empty();
  const std::size_t compiles = ahead_.Add(impl.policy.search.runtime, std::move(jobs));
  if (has_candidates) entry.compiles = compiles;
  return Status();
}

bool WarmupRun::WaitsForCompiles(const Entry& entry) const {
  return entry.compiles && !ahead_.AreCandidatesDone(*entry.compiles);
}

void WarmupRun::AnnounceSearches(const TunedKernel::Impl& first) {
  const SearchOptions& options = first.policy.search;
  if (options.isolation == Isolation::kOff || options.timer != nullptr) return;
  Result<Device> device = Device::OfCurrentContext(first.api);
  if (device.ok()) TrialWorker::Announce(options.runtime, *device);
}

void WarmupRun::CompileTheRest() {
  std::vector<Entry*> all;
  for (Entry& entry : entries_) all.push_back(&entry);
  CompileFor(all, nullptr);
}

void WarmupRun::CompileFor(const std::vector<Entry*>& entries, const std::function<void()>& beat) {
  const TunedKernel::Impl* first = nullptr;
  const Target* target = nullptr;
  double budgets_ms = 0;  // The sum over all searches. It is unlimited if one search has no limit.
  for (Entry* each : entries) {
    Entry& entry = *each;
    if (entry.is_done || entry.impl->misses.is_frozen() || IsOverFor(*entry.impl)) continue;
    // The search returns the errors of its plan.
    Span span(&entry.impl->policy.search.runtime->trace(), "plan", "plan " + entry.warmed.key);
    Status planned = entry.impl->Guarded([&] { return PlanCompiles(entry); });
    const double budget_ms = entry.impl->policy.search.budgets.wall.count();
    budgets_ms += budget_ms > 0 ? budget_ms : std::numeric_limits<double>::infinity();
    if (!planned.ok() || first != nullptr) continue;
    first = entry.impl;
    target = entry.call->call().problem.target;
  }
  if (first == nullptr || IsOver()) return;
  CompileOptions options = first->policy.search.compile;
  options.stop = StopToken([this, first, beat] {
    if (beat) beat();
    return IsOverFor(*first);
  });
  const bool waits = first->api.is_cpu_device();
  // If nothing is measured meanwhile, half of the time is kept for measuring.
  const std::chrono::milliseconds most = ShareOf(TimeLeft(), waits ? 2 : 1);
  if (options_.deadline) options.total_timeout = std::max(std::chrono::milliseconds(1), most);
  constexpr double kMostMs = std::numeric_limits<int>::max();
  if (waits && budgets_ms / 2 < kMostMs) {
    const std::chrono::milliseconds half(std::max(1, static_cast<int>(budgets_ms / 2)));
    options.total_timeout = options.total_timeout.count() > 0 ? std::min(options.total_timeout, half) : half;
  }
  ahead_.Start(*target, options);
  if (waits) ahead_.Wait(first->policy.search.on_progress);
  AnnounceSearches(*first);
}

Status WarmupRun::LoadFallbacks(Entry& entry) {
  Status first;
  const TuneLimits limits{end_, {}, StopToken([&] { return IsOverFor(*entry.impl); })};
  for (const InputShape& shape : entry.shapes) {
    Status loaded = entry.impl->Guarded([&]() -> Status {
      TUNEONCE_ASSIGN_OR_RETURN(TuningCall call, CallWithoutMemory(entry, shape));
      return entry.impl->misses.WarmFallback(call.call(), &limits);
    });
    if (first.ok()) first = std::move(loaded);
  }
  return first;
}

void WarmupRun::Tune(Entry& entry, bool may_wait) {
  TunedKernel::Impl& impl = *entry.impl;
  const auto left = std::count_if(entries_.begin(), entries_.end(), [](const Entry& each) { return !each.is_done; });
  TuneLimits limits{end_, ShareOf(TimeLeft(), static_cast<std::size_t>(left)),
                    StopToken([&] { return IsOverFor(impl); })};
  TuneOutcome outcome;
  outcome.status = impl.Guarded([&]() -> Status {
    TUNEONCE_ASSIGN_OR_RETURN(TuningCall call,
                              TuningCall::OnFills(*impl.definition, impl.binder, entry.shapes.front(),
                                                  StreamView(impl.api, stream_), WarmupInputs::Use::kSearch));
    outcome = impl.misses.WarmSelected({stream_, call, &limits},
                                       may_wait ? MissPolicy::kForWarmup : MissPolicy::kWithoutWaiting);
    return outcome.status;
  });
  if (outcome.is_elsewhere && !may_wait) return;  // It is tried last.
  StatusCode code = outcome.status.code();
  bool is_cut_short = code == StatusCode::kCancelled || code == StatusCode::kDeadlineExceeded;
  if (is_cut_short) return End(entry, State::kNotReached, std::move(outcome.status));
  if (!outcome.status.ok()) return End(entry, State::kFailed, std::move(outcome.status));
  entry.warmed.is_complete = outcome.is_complete;
  End(entry, outcome.origin == TuneOutcome::Origin::kSearch       ? State::kTuned
             : outcome.origin == TuneOutcome::Origin::kStore      ? State::kFromStore
             : outcome.origin == TuneOutcome::Origin::kPrediction ? State::kPredicted
                                                                  : State::kReady);
}

void WarmupRun::TuneTheRest(bool may_wait) {
  std::vector<Entry*> rest;
  for (Entry& entry : entries_) {
    if (!entry.is_done) rest.push_back(&entry);
  }
  while (!rest.empty()) {
    ahead_.Update();
    auto next = std::find_if(rest.begin(), rest.end(),
                             [&](const Entry* each) { return each->compiles && !WaitsForCompiles(*each); });
    if (next == rest.end()) next = rest.begin();
    Entry& entry = **next;
    rest.erase(next);
    if (IsOverFor(*entry.impl)) continue;
    if (entry.impl->misses.is_frozen()) {  // Since the warm-up began.
      End(entry, State::kFallback);
    } else {
      entry.impl->HoldCupti(&burst_);
      Tune(entry, may_wait);
    }
    if (entry.is_done) Finish(entry);
  }
}

void WarmupRun::VerifyShapes(Entry& entry) {
  TunedKernel::Impl& impl = *entry.impl;
  if (impl.policy.ranks.group != nullptr || !impl.misses.may_search()) return;
  const TuneLimits limits{end_, {}, StopToken([&] { return IsOverFor(impl); })};
  for (const InputShape& shape : entry.shapes) {
    Status verified = impl.Guarded([&]() -> Status {
      TUNEONCE_ASSIGN_OR_RETURN(TuningCall at_shape, CallWithoutMemory(entry, shape));
      LaunchKey key;
      TUNEONCE_RETURN_IF_ERROR(impl.ready_keys.SelectionKeyOf(at_shape.call(), &key));
      if (impl.ready_keys.HasVerifiedSelection(key, at_shape.call())) return Status();
      TUNEONCE_ASSIGN_OR_RETURN(TuningCall call,
                                TuningCall::OnFills(*impl.definition, impl.binder, shape, StreamView(impl.api, stream_),
                                                    WarmupInputs::Use::kSearch));
      return impl.misses.WarmSelected({stream_, call, &limits}, MissPolicy::kForWarmup).status;
    });
    if (!verified.ok()) return End(entry, State::kFailed, std::move(verified));
  }
}

void WarmupRun::Finish(Entry& entry) {
  WarmedKey& warmed = entry.warmed;
  const State state = warmed.state;
  const bool is_selected =
      state == State::kReady || state == State::kFromStore || state == State::kTuned || state == State::kPredicted;
  if (entry.call && fatal_.ok() && is_selected) VerifyShapes(entry);
  if (entry.call && fatal_.ok()) {
    Status loaded = LoadFallbacks(entry);
    const bool is_reached = warmed.state != State::kNotReached;
    if (!loaded.ok() && !is_reached) warmed.status = BothFailed(warmed.status, loaded);
    const bool has_selection = warmed.state != State::kFallback && is_reached;
    if (!has_selection) (void)entry.impl->Guarded([&] { return entry.impl->misses.MakePending(entry.call->call()); });
    if (!loaded.ok() && warmed.status.ok()) {
      const bool is_over = loaded.code() == StatusCode::kDeadlineExceeded || loaded.code() == StatusCode::kCancelled;
      End(entry, is_over ? State::kNotReached : State::kFailed, std::move(loaded));
    }
  }
  ++num_done_;
  if (!options_.on_progress) return;
  const auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
  double left = seconds(Clock::now() - start_) / static_cast<double>(num_done_) *
                static_cast<double>(entries_.size() - num_done_);
  if (options_.deadline) left = std::clamp(seconds(TimeLeft()), 0.0, left);
  TellProgress(options_.on_progress, WarmupProgress{warmed, num_done_, entries_.size(), left});
}

std::vector<WarmedKey> WarmupRun::Run() {
  AgreeInRanks();
  for (Entry& entry : entries_) {
    if (entry.is_done) continue;
    Status threw = entry.impl->Guarded([&] { return Serve(entry), Status(); });
    if (!threw.ok()) End(entry, State::kFailed, std::move(threw));
  }
  CompileTheRest();
  // A fallback config that cannot be loaded yet may be made by the search. Finish reports it otherwise.
  for (Entry& entry : entries_) {
    if (!entry.is_done && !IsOverFor(*entry.impl)) (void)LoadFallbacks(entry);
  }
  for (Entry& entry : entries_) {
    if (entry.is_done) Finish(entry);
  }
  TuneTheRest(/*may_wait=*/false);
  TuneTheRest(/*may_wait=*/true);
  for (Entry& entry : entries_) {
    if (entry.is_done) continue;
    End(entry, State::kNotReached, Status());
    Finish(entry);
  }
  std::vector<WarmedKey> all;
  for (Entry& entry : entries_) all.push_back(std::move(entry.warmed));
  for (const auto& [kernel, reader] : kernels_) kernel->misses.DropOldest();
  return all;
}

Result<std::vector<WarmedKey>> WarmupAll(CUstream stream, const std::vector<KernelShapes>& kernels,
                                         const WarmupAllOptions& options) {
  if (InsideCallback())
    return FailedPreconditionError(
        "WarmupAll was called from inside a callback of this library: call it after the callback returns");
  WarmupRun run(stream, options);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (Status added = run.Add(i, kernels[i]); !added.ok()) {
      WarmupRun::TakeTurns(stream, kernels, options);
      return added;
    }
  }
  return run.Run();
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
    keys.CompileAheadBy(
        [&](const std::vector<std::size_t>& places, const std::function<void()>& beat) {
          std::vector<Entry*> searched;
          for (std::size_t place : places) searched.push_back(agreed[place]);
          CompileFor(searched, beat);
        },
        [&](std::size_t place, const std::function<void()>& beat) { return HasCode(*agreed[place], beat); },
        [&](std::size_t place) {
          ahead_.Update();
          return WaitsForCompiles(*agreed[place]);
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
  key.stop = StopToken([this] { return options_.stop.stop_requested() || !fatal_.ok(); });
  key.limits = [this, &impl] {
    const auto left = std::count_if(entries_.begin(), entries_.end(), [](const Entry& each) { return !each.is_done; });
    TuneLimits limits{end_, std::nullopt, StopToken([this, &impl] { return IsOverFor(impl); })};
    if (options_.deadline) limits.share = ShareOf(TimeLeft(), static_cast<std::size_t>(std::max<long>(1, left)));
    return limits;
  };
  return key;
}

}  // namespace v0
}  // namespace tuneonce
