#include "runtime/searched_configs.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/span.h"
#include "measure/race.h"
#include "search/portfolio.h"
#include "store/kernel_fingerprint.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Limits a search to its share of the time. The next key's share grows by what this one does not use.
void Limit(const TuneLimits& limits, SearchOptions* options) {
  options->stop = limits.stop;
  if (!limits.share) return;
  Budgets::Milliseconds& wall = options->budgets.wall;
  const Budgets::Milliseconds share = std::max(*limits.share, std::chrono::milliseconds(1));
  wall = wall.count() > 0 ? std::min(wall, share) : share;
}

bool IsMeasured(const CandidateOutcome& outcome) { return outcome.kind == OutcomeKind::kMeasured; }

/// Returns what the search of `record` selected and the fastest of the `outcomes` that are known from it.
std::vector<Config> IncumbentsOf(const TuningRecord& record, const std::vector<CandidateOutcome>& outcomes,
                                 const KeyInStore& in_store) {
  constexpr std::size_t kMostIncumbents = 3;
  std::vector<CandidateOutcome> fastest = {record.best};
  std::copy_if(outcomes.begin(), outcomes.end(), std::back_inserter(fastest), IsMeasured);
  std::stable_sort(fastest.begin() + 1, fastest.end(), [](const CandidateOutcome& a, const CandidateOutcome& b) {
    return a.measurement.mean_us < b.measurement.mean_us;
  });
  std::vector<Config> incumbents;
  double limit_us = std::numeric_limits<double>::infinity();
  for (const CandidateOutcome& outcome : fastest) {
    const std::optional<Config> config = in_store.ConfigOf(outcome.config);
    if (!config || incumbents.size() == kMostIncumbents || outcome.measurement.mean_us > limit_us) continue;
    if (std::find(incumbents.begin(), incumbents.end(), *config) != incumbents.end()) continue;
    limit_us = std::min(limit_us, kEliminated * outcome.measurement.mean_us);
    incumbents.push_back(*config);
  }
  return incumbents;
}

}  // namespace

Result<std::optional<FoundConfig>> SearchedConfigs::Find(const ConfigQuestion& question, StoreMiss* miss) {
  const std::string& kernel = to_.definition->name();
  const std::string& key_text = question.key.key.key_text;
  const auto begin = std::chrono::steady_clock::now();  // The budgets are of enumerating and of both searches together.
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<Config>* configs, question.key.Configs());
  ++to_.counters.tunes;
  Span span(&to_.policy.search.runtime->trace(), "tune", "tune " + kernel + " " + key_text);
  to_.announcer.Inform(key_text, [&] { return absl::StrCat("a search begins among ", configs->size(), " configs"); });
  to_.announcer.Tell([&](AutotuneObserver& observer) { observer.OnTuneBegin(kernel, key_text); });
  std::optional<SearchOutcome> confirmed;
  if (miss->before_update != nullptr) {
    TUNEONCE_ASSIGN_OR_RETURN(confirmed, Confirm(question.request, question.key, *miss->before_update, begin));
  }
  SearchOutcome searched;
  if (confirmed) {
    searched = *std::move(confirmed);
  } else {
    TUNEONCE_ASSIGN_OR_RETURN(searched, Search(question.request, question.key, /*only=*/nullptr, begin));
  }
  to_.counters.tuning_ns += static_cast<std::int64_t>(searched.record->cost.wall_seconds * 1e9);
  FoundConfig found;
  found.config = searched.record->best.config;
  found.record = std::move(searched.record);
  found.selection = SelectionOf(*found.record, LaunchPlan::Origin::kSearch);
  found.is_new = true;
  found.loaded = std::move(searched.best);
  found.baseline = std::move(searched.baseline);
  return std::optional<FoundConfig>(std::move(found));
}

Result<SearchOutcome> SearchedConfigs::Compare(const TuneRequest& request, const KeyInStore& in_store,
                                               const Config& only) {
  const Configs alone = {only};
  return Search(request, in_store, &alone, std::chrono::steady_clock::now());
}

Result<std::optional<SearchOutcome>> SearchedConfigs::Confirm(const TuneRequest& request, const KeyInStore& in_store,
                                                              const TuningRecord& old,
                                                              std::chrono::steady_clock::time_point begin) {
  using Confirmed = std::optional<SearchOutcome>;
  const bool is_search = old.is_complete && !old.is_pinned && !old.is_imported();
  if (!is_search || !in_store.HasConfigs(old.configs) || !old.verification.Covers(in_store.demanded))
    return Confirmed();
  Configs agreeing = {old.best.config};
  for (const CandidateOutcome& each : old.successes()) {
    if (each.ties_with_fastest && !each.config.IsSame(old.best.config)) agreeing.push_back(each.config);
  }
  Configs tried = agreeing;
  for (const Config& config : PortfolioOfOthers(in_store, /*of_other_shapes=*/true)) tried.push_back(config);
  // Also without other keys there is something to disagree.
  constexpr std::size_t kRunnersUp = 2;
  std::size_t num_runners_up = 0;
  for (const CandidateOutcome& each : old.successes()) {  // The fastest first.
    const bool is_other = std::none_of(agreeing.begin(), agreeing.end(),
                                       [&](const Config& config) { return config.IsSame(each.config); });
    if (is_other && num_runners_up++ < kRunnersUp) tried.push_back(each.config);
  }
  Configs own;
  for (const Config& config : tried) {
    std::optional<Config> valid = in_store.ConfigOf(config);
    if (valid && std::find(own.begin(), own.end(), *valid) == own.end()) own.push_back(*std::move(valid));
  }
  TUNEONCE_ASSIGN_OR_RETURN(const Configs* all, in_store.Configs());
  if (2 * own.size() > all->size()) return Confirmed();  // A search of all costs little more.
  Result<SearchOutcome> raced = Search(request, in_store, &own, begin);
  if (!raced.ok()) {
    if (raced.status().sticky() || raced.status().code() == StatusCode::kCancelled) return raced.status();
    return Confirmed();
  }
  TuningRecord& record = *raced->record;
  const bool agrees = std::any_of(agreeing.begin(), agreeing.end(), [&](const Config& config) {
    return std::any_of(record.candidates.begin(), record.candidates.end(), [&](const CandidateOutcome& each) {
      return each.kind == OutcomeKind::kMeasured && each.ties_with_fastest && each.config.IsSame(config);
    });
  });
  const Budgets::Milliseconds wall = OptionsOf(request).budgets.wall;
  const bool has_time = wall.count() == 0 || std::chrono::steady_clock::now() - begin < wall / 2;
  if (!agrees && has_time) return Confirmed();
  record.is_complete = record.is_complete && agrees;  // Else a later search tries the others.
  record.is_conclusive = false;                       // Not among all configs.
  record.num_not_measured += static_cast<int>(all->size() - std::min(all->size(), record.candidates.size()));
  const std::string before = old.key.driver_version != in_store.key.driver_version
                                 ? absl::StrCat("driver ", old.key.driver_version)
                                 : old.best.toolchain;
  record.notes.push_back("tried are only the configs that were fast with " + before +
                         " and for other keys, since they agree");
  return Confirmed(*std::move(raced));
}

Result<SearchOutcome> SearchedConfigs::Search(const TuneRequest& request, const KeyInStore& in_store,
                                              const Configs* only, std::chrono::steady_clock::time_point begin) {
  const bool is_at_bound = request.call.BoundOf(*to_.definition) == request.call.call().problem.dims;
  if (to_.policy.tune_at_bucket_bound && !is_at_bound) {
    Result<SearchOutcome> result = SearchAtBound(request, in_store, only, begin);
    // Where the memory for it or its trials is missing, the shape at hand may still fit.
    bool is_over = result.ok() || result.status().sticky() || result.status().code() == StatusCode::kCancelled;
    if (is_over) return result;
  }
  TUNEONCE_ASSIGN_OR_RETURN(TrialMemory memory, TrialMemory::Create(to_.api, to_.policy.search.memory_budget_bytes));
  request.call.AddOwnInputs(*to_.definition, memory);
  return SearchAt(request, in_store, only, request.call, begin, std::move(memory));
}

Result<SearchOutcome> SearchedConfigs::SearchAtBound(const TuneRequest& request, const KeyInStore& in_store,
                                                     const Configs* only, std::chrono::steady_clock::time_point begin) {
  TUNEONCE_ASSIGN_OR_RETURN(TrialMemory memory, TrialMemory::Create(to_.api, to_.policy.search.memory_budget_bytes));
  TUNEONCE_ASSIGN_OR_RETURN(TuningCall at_bound, request.call.AtBound(*to_.definition, to_.binder,
                                                                      StreamView(to_.api, request.stream), memory));
  at_bound.AddOwnInputs(*to_.definition, memory);
  // What may run for this call must be what is measured: a bound that 16 does not divide, of a shape that it does.
  if (!in_store.device.LeftOutBy(at_bound.call()).IsWithin(in_store.left_out)) {
    return FailedPreconditionError(
        "cannot measure at the upper bound of the shape's bucket: some variants accept only the shape, but not the "
        "bound");
  }
  return SearchAt(request, in_store, only, at_bound, begin, memory);
}

Result<SearchOutcome> SearchedConfigs::SearchAt(const TuneRequest& request, const KeyInStore& in_store,
                                                const Configs* only, const TuningCall& at,
                                                std::chrono::steady_clock::time_point begin, TrialMemory memory) {
  SearchOptions options = OptionsOf(request);
  if (only != nullptr) {  // The few configs that are compared are all tried.
    options.strategy = Strategy::kExhaustive;
    options.budgets.trials = 0;
  }
  const Problem& problem = at.call().problem;
  TUNEONCE_ASSIGN_OR_RETURN(SearchPlan plan, PlanAt(request, in_store, only, at.call(), begin, options));
  TUNEONCE_ASSIGN_OR_RETURN(
      SearchOutcome found, RunSearch(std::move(plan), StreamView(to_.api, request.stream), options, std::move(memory)));
  TuningRecord& record = *found.record;
  TUNEONCE_RETURN_IF_ERROR(AddRooflines(*to_.definition, problem, to_.api, &record));
  record.key = in_store.key;
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<Config>* all, in_store.Configs());
  record.configs = ConfigsFingerprint(to_.definition->space(), in_store.space, *all);
  record.tuned_at = to_.definition->DimsString(problem.dims);
  record.inputs = at.inputs();
  to_.counters.workers_replaced += record.cost.workers_replaced;
  to_.counters.tuning_gpu_ns += static_cast<std::int64_t>(record.cost.gpu_seconds * 1e9);
  return found;
}

Result<std::shared_ptr<const SearchedConfigs::Configs>> SearchedConfigs::ConfigsAt(const TuneRequest& request,
                                                                                   const KeyInStore& in_store,
                                                                                   const Configs* only,
                                                                                   const BoundCall& call) const {
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<const Configs> fitting,
                            in_store.ready_keys.FittingOn(in_store.device, call.problem));
  if (only == nullptr) return fitting;
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<Config> baseline,
                            BaselineOf(to_.definition, call, *fitting, in_store.left_out));
  BoundCall launched = request.call.call();
  launched.problem.target = call.problem.target;
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<Config> at_launch,
                            BaselineOf(to_.definition, launched, *fitting, in_store.left_out));
  Configs needed;
  std::copy_if(fitting->begin(), fitting->end(), std::back_inserter(needed), [&](const Config& config) {
    return std::find(only->begin(), only->end(), config) != only->end() || (baseline && config == *baseline) ||
           (at_launch && config == *at_launch);
  });
  return std::make_shared<const Configs>(std::move(needed));
}

Result<SearchPlan> SearchedConfigs::PlanAt(const TuneRequest& request, const KeyInStore& in_store, const Configs* only,
                                           const BoundCall& call, std::chrono::steady_clock::time_point begin,
                                           const SearchOptions& options) const {
  // Also where `call` is one at a bound, on tables of its own: what the caller's key is tuned for is what it passed.
  TUNEONCE_RETURN_IF_ERROR(request.call.CheckTables(*to_.definition, StreamView(to_.api, request.stream)));
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<const Configs> configs, ConfigsAt(request, in_store, only, call));
  SearchScope scope{in_store.key.key_text, std::move(configs), in_store.left_out, FatalAt(in_store.key)};
  scope.began = begin;
  if (only == nullptr) {
    Knowledge known = KnowledgeOf(in_store, request.call.call(), to_.definition->DimsString(call.problem.dims));
    scope.known = std::move(known.outcomes);
    scope.required = std::move(known.incumbents);
    scope.portfolio = PortfolioFor(in_store, scope.configs->size(), options);
  }
  scope.launched = &request.call.call();
  scope.is_on_fills = request.call.inputs() == TunedInputs::kFill;
  TUNEONCE_ASSIGN_OR_RETURN(const Configs* all, in_store.Configs());
  scope.classes.emplace(*all);
  return PlanSearch(to_.definition, call, std::move(scope), options);
}

SearchOptions SearchedConfigs::OptionsOf(const TuneRequest& request) const {
  SearchOptions options = to_.policy.search;
  if (request.limits != nullptr) Limit(*request.limits, &options);
  return options;
}

SearchedConfigs::Knowledge SearchedConfigs::KnowledgeOf(const KeyInStore& in_store, const BoundCall& call,
                                                        const std::string& measured_at) const {
  Knowledge knowledge;
  Result<RecordLookup> there = to_.policy.store->Lookup(in_store.key);
  if (!there.ok() || there->match != RecordMatch::kExact) return knowledge;
  const TuningRecord& record = *there->record;
  // A search for a key that has a complete record was asked for, to measure it again.
  const bool has_same_configs = in_store.HasConfigs(record.configs);
  const bool is_known = record.best.measurement.num_samples > 0 && !record.is_imported() && !record.is_pinned;
  if (!is_known || (record.is_complete && has_same_configs)) return knowledge;
  if (!in_store.HasBaselineOfCall(record, call)) return knowledge;  // The other baseline may be incorrect.
  // What was measured otherwise may be incorrect, or is of a shape that takes another time.
  const bool keeps_times = record.verification.Covers(in_store.demanded) && record.tuned_at == measured_at;
  // Where a file that the code includes has changed, nothing is known of that code, nor why other code failed.
  std::set<std::string> changed;
  for (const CandidateOutcome& outcome : record.candidates) {
    if (keeps_times && IsMeasured(outcome) && loader_.HasChanged(outcome, in_store, call))
      changed.insert(outcome.config.Canonical());
  }
  // What failed may be correct within other tolerances, or by another baseline.
  const bool keeps_failures =
      changed.empty() && in_store.demanded.Covers(record.verification) && in_store.HasBaseline(record, call);
  for (const CandidateOutcome& outcome : record.candidates) {
    const Config& config =
        outcome.kind == OutcomeKind::kDuplicate && outcome.same_as ? *outcome.same_as : outcome.config;
    const bool is_failure = outcome.failed() && !outcome.is_transient && outcome.kind != OutcomeKind::kNotVerified;
    const bool is_usable =
        IsMeasured(outcome) || outcome.kind == OutcomeKind::kDuplicate || (is_failure && keeps_failures);
    if (keeps_times && is_usable && changed.count(config.Canonical()) == 0) knowledge.outcomes.push_back(outcome);
  }
  knowledge.incumbents = IncumbentsOf(record, knowledge.outcomes, in_store);
  return knowledge;
}

SearchedConfigs::Configs SearchedConfigs::PortfolioFor(const KeyInStore& in_store, std::size_t num_configs,
                                                       const SearchOptions& options) const {
  const bool may_be_guided = options.strategy == Strategy::kAutomatic || options.strategy == Strategy::kGuided;
  const auto max_configs = static_cast<std::size_t>(to_.definition->space().max_configs());
  if (!may_be_guided || (options.strategy == Strategy::kAutomatic && num_configs <= max_configs)) return {};
  return PortfolioOfOthers(in_store, /*of_other_shapes=*/false);
}

SearchedConfigs::Configs SearchedConfigs::PortfolioOfOthers(const KeyInStore& in_store, bool of_other_shapes) const {
  Result<std::vector<TuningRecord>> records = to_.policy.store->List();
  if (!records.ok()) return {};  // The lookup of the key has logged a warning.
  auto is_elsewhere = [&](const TuningRecord& record) {
    const bool is_same =
        of_other_shapes ? record.key.key_words == in_store.key.key_words : FullKey(record.key) == FullKey(in_store.key);
    return record.key.kernel == in_store.key.kernel && !is_same;
  };
  records->erase(std::remove_if(records->begin(), records->end(), std::not_fn(is_elsewhere)), records->end());
  return PortfolioOf(*std::move(records));
}

std::vector<KnownFatal> SearchedConfigs::FatalAt(const TuningKey& key) const {
  std::vector<KnownFatal> fatal;
  Result<RecordLookup> there = to_.policy.store->Lookup(key);
  if (!there.ok() || there->match != RecordMatch::kExact) return fatal;
  for (const FatalCandidate& candidate : there->record->fatal) {
    OutcomeKind kind = OutcomeKind::kCrash;
    for (const CandidateOutcome& outcome : there->record->candidates) {
      if (EndsItsProcess(outcome.kind) && outcome.config.IsSame(candidate.config)) kind = outcome.kind;
    }
    fatal.push_back(
        {CandidateOutcome::Failed(candidate.config, kind, candidate.reason), there->record->best.toolchain});
  }
  return fatal;
}

}  // namespace v0
}  // namespace tuneonce
