#include "runtime/ranked_keys.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/span.h"
#include "ranks/code_exchange.h"
#include "ranks/rank_turn.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using State = WarmedKey::State;

/// Most ranks of a group: each of them costs memory, and a group that states more is broken.
constexpr int kMostRanks = 1 << 17;

/// Returns a text for the device and driver, which ranks must have in common to agree.
Result<std::string> KindHere(ReadyKeys& ready_keys) {
  TUNEONCE_ASSIGN_OR_RETURN(const ReadyKeys::DeviceState* device, ready_keys.CurrentDevice());
  const DeviceIdentity& identity = device->identity;
  return absl::StrCat(identity.name, " (capability ", device->target.capability(), ", ", identity.num_sms,
                      " SMs, driver ", identity.driver_version, ")");
}

/// Returns the name of a key for agreement, which is the same in all ranks. `repeats` counts equal keys in a list.
Fingerprint NameOf(const std::string& kernel, const TuningKey& key, std::uint64_t repeats) {
  Fingerprinter name;
  name.Add(kernel).Add(key.kernel).Add(repeats);
  for (std::uint64_t word : key.key_words) name.Add(word);
  return name.Finish();
}

Fingerprint Explain(const TuningRecord& record) {
  return Fingerprinter().Add(record.best.config.Canonical()).Add(record.best.variant).Finish();
}

Fingerprint DigestOf(const Config& config, const std::string& variant, const LoadedKernel& loaded) {
  Fingerprinter digest;
  digest.Add(config.Canonical()).Add(variant).Add(loaded.code);
  return digest.Add(static_cast<std::uint64_t>(loaded.shared_memory_bytes)).Finish();
}

Fingerprint DigestOf(const ReadyKernel& kernel) {
  return DigestOf(kernel.config, kernel.variant->name, *kernel.loaded);
}

}  // namespace

bool RankedKeys::IsStopped() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) {
    return entry.key.impl->policy.search.stop.stop_requested() || entry.key.stop.stop_requested();
  });
}

bool RankedKeys::IsOver(const Entry& entry) { return entry.key.limits && entry.key.limits().stop.stop_requested(); }

TuneLimits RankedKeys::LimitsOf(const Entry& entry, RankBeat& beat) const {
  TuneLimits limits{std::chrono::steady_clock::time_point::max(), std::nullopt, entry.key.impl->policy.search.stop};
  if (entry.key.limits) limits = entry.key.limits();
  // Called regularly while this thread compiles, measures and waits, so each call also reports that this rank works.
  limits.stop = StopToken([stop = std::move(limits.stop), &beat] {
    beat.Step();
    return stop.stop_requested();
  });
  return limits;
}

Status RankedKeys::Contribute(Entry& entry) {
  TunedKernel::Impl& impl = *entry.key.impl;
  return impl.Guarded([&]() -> Status {
    TUNEONCE_ASSIGN_OR_RETURN(TuningCall call, entry.key.call(0));
    TUNEONCE_ASSIGN_OR_RETURN(entry.contribution, impl.agreed_configs.Contribute(call, entry.key.key));
    const bool is_ready = impl.ready_keys.HasSelection(entry.key.key);
    const std::optional<TuningRecord>& record = entry.contribution.record;
    KeyVote& vote = entry.vote;
    const AgreedConfigs::Contribution& mine = entry.contribution;
    vote.definition = Fingerprinter().Add(mine.key.kernel_fingerprint).Add(mine.space).Finish();
    if (impl.is_baseline_only || (impl.misses.is_frozen() && !is_ready)) {
      vote.state = KeyVote::kFallback;
      return Status();
    }
    if (Status launchable = impl.fallbacks.CheckLaunchable(call.call()); !launchable.ok()) {
      entry.is_in_all_lists = false;  // The call is invalid and not the key, so nothing is remembered for the key.
      return launchable;
    }
    const bool may_search = impl.misses.may_search() && !IsOver(entry);
    vote.state = may_search ? KeyVote::kNothing : KeyVote::kMayNotSearch;
    vote.search = NameOf("", entry.contribution.key, 0);
    vote.variants = entry.contribution.variants;
    vote.cost = entry.contribution.cost;
    if (!record) return Status();
    vote.state = is_ready || record->is_pinned ? KeyVote::kServed : KeyVote::kStored;
    vote.selection = Explain(*record);
    return Status();
  });
}

Vote RankedKeys::MakeVote(TunedKernel::Impl* of_device) {
  std::optional<Span> span;
  if (!entries_.empty()) {
    span.emplace(&entries_.front().key.impl->policy.search.runtime->trace(), "ranks", "vote");
  }
  Vote vote;
  std::map<Fingerprint, std::uint64_t> repeats;
  for (Entry& entry : entries_) {
    of_device = entry.key.impl;
    entry.outcome.status = Contribute(entry);
    if (!entry.outcome.status.ok()) continue;
    const std::string& kernel = entry.key.impl->definition->name();
    const std::uint64_t repeat = repeats[NameOf(kernel, entry.contribution.key, 0)]++;
    entry.vote.key = NameOf(kernel, entry.contribution.key, repeat);
    entry.is_in_vote = true;
    voted_.push_back(&entry);
    vote.keys.push_back(entry.vote);
  }
  // Without a device the rank has no keys and no kind to compare.
  if (of_device == nullptr) return vote;
  Status known = of_device->Guarded([&]() -> Status {
    TUNEONCE_ASSIGN_OR_RETURN(vote.kind, KindHere(of_device->ready_keys));
    return Status();
  });
  if (known.ok()) return vote;
  vote.keys.clear();
  for (Entry* entry : std::exchange(voted_, {})) {
    entry->outcome.status = known;
    entry->is_in_vote = false;
  }
  return vote;
}

Result<std::string> RankedKeys::Find(std::size_t place, const Agreement& agreement, RankBeat& beat) {
  Entry& entry = *voted_[place];
  if (ahead_) CompileAhead(agreement, beat);
  if (!agreement.HasRecord(place)) TUNEONCE_RETURN_IF_ERROR(Search(entry, beat));
  const TuningRecord& record = *entry.contribution.record;
  if (policy_.exchange_code) {
    RecordStore& cache = *entry.key.impl->policy.search.compile.cache;
    (void)PublishCode(*policy_.group, cache, record.best.artifact);
    if (record.baseline) (void)PublishCode(*policy_.group, cache, record.baseline->artifact);
  }
  return EncodeRecord(record);
}

void RankedKeys::FetchCodeOf(const Entry& entry) {
  const TuningRecord& record = *entry.contribution.record;
  RecordStore& cache = *entry.key.impl->policy.search.compile.cache;
  (void)FetchCode(*policy_.group, cache, record.best.artifact);
  if (record.baseline) (void)FetchCode(*policy_.group, cache, record.baseline->artifact);
}

void RankedKeys::CompileAhead(const Agreement& agreement, RankBeat& beat) {
  std::vector<std::size_t> searched;
  for (std::size_t place : agreement.OwnSearches()) searched.push_back(voted_[place]->added);
  const AheadFn ahead = std::exchange(ahead_, nullptr);
  if (!searched.empty()) ahead(searched, [&beat] { beat.Step(); });
}

Status RankedKeys::Search(Entry& entry, RankBeat& beat) {
  TunedKernel::Impl& impl = *entry.key.impl;
  const TuneLimits limits = LimitsOf(entry, beat);
  impl.HoldCupti(&burst_);
  return impl.Guarded([&] {
    return entry.key.on_inputs([&](TuningCall& call) -> Status {
      TUNEONCE_RETURN_IF_ERROR(impl.misses.CheckTunable(stream_, call));
      return impl.agreed_configs.Find({stream_, call, &limits}, entry.key.key, &entry.contribution);
    });
  });
}

Status RankedKeys::LoadFallbacks(Entry& entry, const TuneLimits* limits) {
  Status first;
  for (std::size_t i = 0; i < entry.key.num_calls; ++i) {
    Status loaded = entry.key.impl->Guarded([&]() -> Status {
      TUNEONCE_ASSIGN_OR_RETURN(TuningCall call, entry.key.call(i));
      return entry.key.impl->misses.WarmFallback(call.call(), limits);
    });
    if (first.ok()) first = std::move(loaded);
  }
  return first;
}

Result<Fingerprint> RankedKeys::MakeReady(Entry& entry, std::size_t place, const Agreement& agreement, RankBeat& beat) {
  TunedKernel::Impl& impl = *entry.key.impl;
  Span span(&impl.policy.search.runtime->trace(), "ranks", "make ready " + entry.key.text);
  const TuneLimits limits = LimitsOf(entry, beat);
  Fingerprint digest;
  Status ready = impl.Guarded([&]() -> Status {
    const std::string& decided = agreement.DecisionOf(place);
    const bool is_own = decided.empty() || agreement.IsMine(place);
    if (!is_own) {
      TUNEONCE_ASSIGN_OR_RETURN(entry.contribution.record, DecodeRecord(decided));
      entry.contribution.selection = SelectionOf(*entry.contribution.record, LaunchPlan::Origin::kRanks);
      entry.contribution.loaded = entry.contribution.baseline = nullptr;
      if (policy_.exchange_code) FetchCodeOf(entry);
    }
    TUNEONCE_ASSIGN_OR_RETURN(TuningCall call, entry.key.call(0));
    if (!agreement.RunsFallback(place)) {
      const HitTable::Entry* running = impl.ready_keys.Find(entry.key.key);
      if (running != nullptr && !running->is_provisional) {
        digest = DigestOf(*running->kernel);
      } else {
        TUNEONCE_ASSIGN_OR_RETURN(
            entry.ready, impl.agreed_configs.Load({stream_, call, &limits}, entry.key.key, entry.contribution));
        digest = DigestOf(entry.ready->config, entry.ready->loaded->variant->name, *entry.ready->loaded);
      }
      return LoadFallbacks(entry, &limits);  // Captures need the fallback config.
    }
    TUNEONCE_RETURN_IF_ERROR(LoadFallbacks(entry, &limits));
    BoundCall bound = call.call();
    LaunchKey key;
    TUNEONCE_ASSIGN_OR_RETURN(const HitTable::Entry* fallback, impl.ready_keys.FindFallback(bound, &key));
    if (fallback == nullptr) return InternalError("another thread dropped the fallback during the call: call again");
    digest = DigestOf(*fallback->kernel);
    return Status();
  });
  return ready.ok() ? Result<Fingerprint>(digest) : ready;
}

void RankedKeys::FinishFailed(Entry& entry, Status why) {
  TunedKernel::Impl& impl = *entry.key.impl;
  const std::string name = "kernel '" + impl.definition->name() + "', " + entry.key.text;
  Outcome& outcome = entry.outcome;
  outcome.state = State::kFallback;
  if (entry.key.is_waiting && !entry.is_in_all_lists) {
    return impl.announcer.Inform(entry.key.text, [&] { return "the key stays pending: " + why.message(); });
  }
  // A cancelled tune states nothing about the key, which stays pending.
  const bool is_verdict = entry.is_in_all_lists && why.code() != StatusCode::kCancelled;
  if (is_verdict) impl.misses.NoteFailure(FlightOf(entry.key.key), entry.key.text, {why});
  Status loaded = why.sticky() ? why : LoadFallbacks(entry, nullptr);
  if (policy_.may_differ && loaded.ok()) {
    return impl.announcer.Warn(
        entry.key.text + ": this rank runs its fallback, and other ranks may run another config: " + why.message());
  }
  outcome.state = State::kFailed;
  outcome.status = why.WithPrefix(name + ": the ranks did not agree");
  if (!loaded.ok() && !why.sticky()) outcome.status = BothFailed(outcome.status, loaded);
}

void RankedKeys::Finish(Entry& entry, Status agreed, bool runs_fallback) {
  TunedKernel::Impl& impl = *entry.key.impl;
  Outcome& outcome = entry.outcome;
  Status done = impl.Guarded([&]() -> Status {
    TUNEONCE_RETURN_IF_ERROR(agreed);
    if (runs_fallback) {
      outcome.state = State::kFallback;
      return Status();
    }
    outcome.state = State::kReady;
    TUNEONCE_ASSIGN_OR_RETURN(TuningCall call, entry.key.call(0));
    if (entry.ready) {
      const LaunchPlan::Origin origin = entry.ready->selection.origin;
      outcome.state = origin == LaunchPlan::Origin::kSearch  ? State::kTuned
                      : origin == LaunchPlan::Origin::kRanks ? State::kFromRanks
                                                             : State::kFromStore;
      outcome.is_complete = origin != LaunchPlan::Origin::kSearch || entry.ready->record->is_complete;
      TUNEONCE_RETURN_IF_ERROR(impl.agreed_configs.Publish(call, entry.key.key, *std::exchange(entry.ready, {})));
    }
    impl.misses.Forget(entry.key.key);
    // If one rank dropped it, that rank would run another config than the others.
    impl.ready_keys.Keep();
    impl.agreed.Add(NameOf(impl.definition->name(), entry.contribution.key, 0),
                    impl.misses.PendingOf(call.call(), entry.key.key, /*inputs=*/nullptr));
    return Status();
  });
  if (!done.ok()) FinishFailed(entry, done);
  if (outcome.state != State::kFallback && outcome.state != State::kFailed) return;
  (void)impl.Guarded([&]() -> Status {
    TUNEONCE_ASSIGN_OR_RETURN(TuningCall call, entry.key.call(0));
    return impl.misses.MakePending(call.call());
  });
}

AgreementWork RankedKeys::Work() {
  AgreementWork work;
  work.find = [this](std::size_t place, const Agreement& agreement, RankBeat& beat) {
    return Find(place, agreement, beat);
  };
  work.taking = [this](std::size_t place, RankBeat& beat) {
    using Taking = AgreementWork::Taking;
    const Entry& entry = *voted_[place];
    if (IsOver(entry)) return Taking::kTakesNoMore;
    const bool takes = has_code_ == nullptr || has_code_(entry.added, [&beat] { beat.Step(); });
    return takes ? Taking::kTakes : Taking::kLeavesThis;
  };
  if (waits_) work.waits = [this](std::size_t place) { return waits_(voted_[place]->added); };
  work.make_ready = [this](std::size_t place, const Agreement& agreement, RankBeat& beat) {
    return MakeReady(*voted_[place], place, agreement, beat);
  };
  work.stop = StopToken([this] { return IsStopped(); });
  return work;
}

std::vector<RankedKeys::Outcome> RankedKeys::Agree(TunedKernel::Impl* of_device, Patience patience) {
  const RankTurn turn(*policy_.group);
  if (patience == Patience::kForAll) turn.silent().clear();
  if (!turn.silent().empty()) entries_.clear();
  Agreement::Options options;
  options.turn = turn.number();
  options.nonce = turn.nonce();
  options.mixed_kinds = policy_.mixed_kinds;
  options.may_differ = policy_.may_differ;
  const Status known = CallForeign("the rank group", StatusCode::kUnavailable, [&]() -> Status {
    options.rank = policy_.group->rank();
    options.size = policy_.group->size();
    if (options.rank >= 0 && options.rank < options.size && options.size <= kMostRanks) return Status();
    return InvalidArgumentError(absl::StrCat("RankGroup::rank() returned ", options.rank, " and size() returned ",
                                             options.size, ": the rank must be within 0 to size - 1, and the size ",
                                             "at most ", kMostRanks));
  });
  if (!known.ok()) options.rank = 0, options.size = 1;
  Agreement agreement(options, MakeVote(of_device));
  if (!known.ok()) agreement.Broken(known);
  v0::Agree(*policy_.group,
            static_cast<int>(std::clamp<std::int64_t>(policy_.silence.count(), 1, std::numeric_limits<int>::max())),
            Work(), &agreement, &turn.silent());
  of_others_ = agreement.KeysOfOthersAlone();
  for (std::size_t i = 0; i < voted_.size(); ++i) {
    voted_[i]->is_in_all_lists = agreement.IsInAllLists(i);
    Finish(*voted_[i], agreement.outcome(i), agreement.RunsFallback(i));
  }
  std::vector<Outcome> outcomes;
  for (Entry& entry : entries_) {
    if (!entry.is_in_vote) FinishFailed(entry, entry.outcome.status);
    outcomes.push_back(std::move(entry.outcome));
  }
  return outcomes;
}

}  // namespace v0
}  // namespace tuneonce
