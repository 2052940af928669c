#include "search/search_engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/callback.h"
#include "base/mutex.h"
#include "base/span.h"
#include "definition/compiler_option.h"
#include "measure/race.h"
#include "measure/statistics.h"
#include "search/config_places.h"
#include "search/search_call.h"
#include "shared/compile_pool.h"
#include "shared/log.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

namespace {

/// How many times Budgets::gpu the trials of a search may take that is not exhaustive.
constexpr double kTrialBudgets = 10;

}  // namespace

SearchEngine::SearchEngine(std::string kernel, std::string key, const Target& target, std::optional<Config> baseline,
                           const SearchOptions& options, TrialPlace& place, Mutex& measuring_lock)
    : target_(target),
      options_(options),
      runtime_(*Runtime::OrDefault(options.runtime)),
      place_(place),
      measuring_lock_(measuring_lock),
      progress_(kernel, std::move(key), options, place),
      groups_(kernel, std::move(baseline), runtime_) {
  record_.key.kernel = std::move(kernel);
}

double SearchEngine::SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void SearchEngine::Begin(ConfigPlanner planner, Start start) {
  groups_.Begin(std::move(planner), checks_ != nullptr ? checks_->dims() : std::vector<Dims>());
  stage_began_ = start.began.value_or(Clock::now());
  std::vector<const Config*> wanted;
  if (groups_.baseline()) wanted.push_back(&*groups_.baseline());
  for (const CandidateOutcome& outcome : start.known) wanted.push_back(&outcome.config);
  for (const Config& config : start.required) wanted.push_back(&config);
  for (const Config& config : start.portfolio) wanted.push_back(&config);
  const ConfigPlaces places(groups_.configs(), wanted);
  if (groups_.baseline()) baseline_index_ = places.Find(*groups_.baseline());
  std::vector<StrategyTrial> known = Remember(places, start);
  for (const Config& config : start.required) {
    const std::optional<std::size_t> index = places.Find(config);
    if (!index || index == baseline_index_) continue;
    required_.insert(*index);
    if (known_.count(*index) > 0) repeated_.insert(*index);
  }
  std::vector<std::size_t> portfolio;
  for (const Config& config : start.portfolio) {
    if (const std::optional<std::size_t> index = places.Find(config)) portfolio.push_back(*index);
  }
  run_.emplace(groups_.configs(), baseline_index_, options_, start.max_configs, std::move(known));
  run_->SetPortfolio(std::move(portfolio));
  if (run_->has_several_batches()) progress_.SampleFrom(groups_.configs().size());
  if (options_.budgets.wall.count() <= 0) return;
  constexpr double kMostMs = 1e12;  // 30 years: what a clock's time can be put after.
  const auto milliseconds = [](double count) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(count));
  };
  const double budget_ms = std::min(options_.budgets.wall.count(), kMostMs);
  ends_ = stage_began_ + milliseconds(budget_ms);
  progress_.EndAt(ends_);
  compiling_ends_ = ends_ - milliseconds(std::clamp(options_.budgets.race.count(), 0.0, budget_ms / 2));
}

std::vector<StrategyTrial> SearchEngine::Remember(const ConfigPlaces& places, const Start& start) {
  std::map<std::string, double> times_us;
  for (const CandidateOutcome& outcome : start.known) {
    if (outcome.kind == OutcomeKind::kMeasured) times_us[outcome.config.Canonical()] = outcome.measurement.mean_us;
  }
  std::vector<StrategyTrial> trials;
  for (const CandidateOutcome& outcome : start.known) {
    const std::optional<std::size_t> known = places.Find(outcome.config);
    if (!known) continue;
    // The baseline is measured again, because the others are compared with it.
    if (known == baseline_index_) {
      repeated_.insert(*known);
      continue;
    }
    StrategyTrial trial{*known, outcome.kind, outcome.measurement.mean_us, 0};
    if (outcome.kind == OutcomeKind::kDuplicate) {
      const auto same = outcome.same_as ? times_us.find(outcome.same_as->Canonical()) : times_us.end();
      if (same == times_us.end()) continue;
      trial.kind = OutcomeKind::kMeasured;
      trial.time_us = same->second;
    }
    if (!known_.insert(*known).second) continue;
    has_success_ |= trial.kind == OutcomeKind::kMeasured;
    trials.push_back(trial);
    groups_.Keep(*known, outcome);
  }
  return trials;
}

Status SearchEngine::Search() {
  progress_.Begin(SearchProgress::Stage::kCompile);
  Status done = TryBatches();
  if (done.ok()) done = Decide();
  if (done.ok()) done = MeasureEnergy();
  progress_.Report(SearchProgress::Stage::kDone, 0, 0, nullptr);
  TUNEONCE_RETURN_IF_ERROR(done);
  groups_.Collect(/*lists_untried=*/!IsSampled(), &record_);
  record_.is_complete = IsSampled() ? !was_cut_short_ : record_.num_not_measured == 0;
  record_.notes.insert(record_.notes.end(), groups_.notes().begin(), groups_.notes().end());
  if (const std::size_t refused = run_->num_refused(); refused > 0) {
    record_.notes.push_back(absl::StrCat("the strategy proposed ", refused,
                                         " configs that do not exist or were proposed before: they were not tried"));
  }
  if (winner_ != nullptr) Choose();
  AddCosts();
  return Status();
}

Result<SearchOutcome> SearchEngine::Run(ConfigPlanner planner, Start start) {
  runtime_.trace().NameThread("searching thread");
  Span span(&runtime_.trace(), "search", "search " + record_.key.kernel);
  Begin(std::move(planner), std::move(start));
  TUNEONCE_RETURN_IF_ERROR(Search());
  if (groups_.num_planned() == 0 && !groups_.refusal().empty()) return FailedPreconditionError(groups_.refusal());
  if (winner_ == nullptr) return AllFailed();
  SearchOutcome outcome;
  TUNEONCE_ASSIGN_OR_RETURN(outcome.best, place_.CodeOf(*winner_->prepared, winner_->candidate));
  for (const CandidateGroup* group : racing_) {
    if (!groups_.HasBaseline(*group) || !record_.baseline) continue;
    outcome.baseline = outcome.best;
    if (group == winner_) continue;
    TUNEONCE_ASSIGN_OR_RETURN(outcome.baseline, place_.CodeOf(*group->prepared, group->candidate));
  }
  span.Note("best", record_.best.config.ToString());
  span.Note("gpu_s", record_.cost.gpu_seconds);
  *outcome.record = std::move(record_);
  return outcome;
}

Status SearchEngine::CheckCancelled() const {
  if (!options_.stop.stop_requested()) return Status();
  return CancelledError(absl::StrCat("kernel '", record_.key.kernel, "': the search was cancelled"));
}

Status SearchEngine::PrepareGroups(bool all_compiled) {
  if (place_.wants_baseline_first()) {
    for (CandidateGroup& group : groups_.groups()) {
      if (!group.prepared && groups_.HasBaseline(group)) TUNEONCE_RETURN_IF_ERROR(PrepareFirst(group));
    }
  }
  // Without the baseline's outputs the others cannot be checked: they wait for it, until it is sure that it failed.
  if (place_.wants_baseline_first() && !all_compiled) return Status();
  for (CandidateGroup& group : groups_.groups()) {
    if (!group.prepared && !IsTooLateFor(group)) TUNEONCE_RETURN_IF_ERROR(PrepareFirst(group));
  }
  return Status();
}

bool SearchEngine::IsTooLateFor(const CandidateGroup& group) const {
  if (ends_ == Clock::time_point::max() || Clock::now() < ends_) return false;
  if (groups_.baseline()) return !groups_.HasBaseline(group);
  return std::any_of(groups_.groups().begin(), groups_.groups().end(),
                     [](const CandidateGroup& each) { return each.is_loaded; });
}

Status SearchEngine::PrepareFirst(CandidateGroup& group) {
  Status prepared = IsFatal(group) ? Status() : Prepare(group);
  if (prepared.code() == StatusCode::kCancelled) return prepared;
  progress_.Report(SearchProgress::Stage::kMeasure, ++num_prepared_, groups_.num_planned(), &group.candidate.config);
  return prepared;
}

Status SearchEngine::Prepare(CandidateGroup& group) {
  TUNEONCE_RETURN_IF_ERROR(CheckCancelled());
  if (!is_open_) TUNEONCE_RETURN_IF_ERROR(place_.Open());
  is_open_ = true;
  {
    Span span(&runtime_.trace(), "load", "prepare {" + group.candidate.config.ToString() + "}");
    std::optional<Span> wait(std::in_place, &runtime_.trace(), "wait", "wait for the device");
    MutexLock lock(measuring_lock_);
    wait.reset();
    group.prepared = place_.runner().Prepare(group.candidate, groups_.HasBaseline(group));
    if (group.prepared->failure) span.Note("failure", group.prepared->failure->message);
    span.Note("warmup_us", group.prepared->warmup_us);
  }
  SayAt(runtime_, LogLevel::kDebug, [&] {
    std::string config = absl::StrCat(record_.key.kernel, " {", group.candidate.config.ToString(), "}: ");
    return group.prepared->failure
               ? absl::StrCat(config, std::string(OutcomeName(group.prepared->failure->kind)), ": ",
                              group.prepared->failure->message)
               : absl::StrCat(config, "is correct, and takes about ", group.prepared->warmup_us, " us");
  });
  group.is_loaded = !group.prepared->failure;
  if (group.is_loaded && IsSampled() && group.trial_us.empty()) TUNEONCE_RETURN_IF_ERROR(SampleTrial(group));
  return group.prepared->fatal;
}

std::chrono::milliseconds SearchEngine::CompilingTimeLeft() const {
  const std::chrono::milliseconds whole = options_.compile.total_timeout;
  if (whole.count() == 0) return std::chrono::milliseconds::max();
  return whole - std::chrono::duration_cast<std::chrono::milliseconds>(compiling_took_);
}

CompileOptions SearchEngine::OptionsToCompile() const {
  CompileOptions compile = options_.compile;
  if (compile.total_timeout.count() != 0) {
    compile.total_timeout = std::max(CompilingTimeLeft(), std::chrono::milliseconds(1));
  }
  if (options_.stop.stop_possible()) compile.stop = options_.stop;
  if (compile.cache == nullptr) compile.cache = runtime_.memory_store();
  return compile;
}

std::vector<std::size_t> SearchEngine::NextBatch() {
  // The least batch is the one with which the strategy's shares were chosen.
  constexpr std::size_t kLeastBatch = 8;
  const int workers = CompilePool::WorkersFor(runtime_.compile_slots(), options_.compile);
  std::size_t size = std::max(kLeastBatch, static_cast<std::size_t>(std::max(1, workers)));
  const auto most = static_cast<std::size_t>(options_.budgets.trials);
  const bool is_first = !std::exchange(has_begun_, true);
  if (!IsSampled()) size = groups_.configs().size();
  if (most > 0) size = std::min(size, most - std::min(most, num_trials_));
  // The baseline and the required configs are added to the first batch.
  const std::size_t num_added = is_first && !IsSampled() ? required_.size() + (baseline_index_ ? 1 : 0) : 0;
  size -= std::min(num_added, size);
  std::vector<std::size_t> batch = run_->Next(std::max<std::size_t>(1, size));
  progress_.Expect(run_->expected_gain());
  // They are measured even if the strategy expects nothing of the others.
  const bool has_baseline = baseline_index_ && !batch.empty() && batch.front() == *baseline_index_;
  if (is_first && baseline_index_ && !has_baseline) batch.insert(batch.begin(), *baseline_index_);
  for (std::size_t index : required_) {
    const bool is_missing = std::find(batch.begin(), batch.end(), index) == batch.end();
    if (is_first && is_missing) batch.insert(batch.begin() + (baseline_index_ ? 1 : 0), index);
  }
  if (batch.empty()) return batch;
  if (is_first) {
    const std::size_t most_now = most > 0 ? most + repeated_.size() : batch.size();
    was_cut_short_ = batch.size() > most_now;
    batch.resize(std::min(batch.size(), most_now));
    std::copy_if(batch.begin(), batch.end(), std::inserter(begun_, begun_.end()),
                 [&](std::size_t index) { return required_.count(index) > 0 || index == baseline_index_; });
    return batch;
  }
  const bool is_over = (most > 0 && num_trials_ >= most) || Clock::now() >= compiling_ends_ ||
                       CompilingTimeLeft() <= std::chrono::milliseconds(0) ||
                       (IsSampled() && trial_gpu_ms_ >= kTrialBudgets * options_.budgets.gpu.count());
  was_cut_short_ = is_over;
  if (is_over) return {};
  // An exhaustive strategy proposes the baseline and the required configs at their places, too.
  const auto was_begun = [&](std::size_t index) { return begun_.count(index) > 0; };
  while (!IsSampled() && !batch.empty() && std::all_of(batch.begin(), batch.end(), was_begun)) batch = run_->Next(size);
  batch.erase(std::remove_if(batch.begin(), batch.end(), was_begun), batch.end());
  return batch;
}

Status SearchEngine::TryBatches() {
  for (;;) {
    std::vector<std::size_t> batch = NextBatch();
    if (batch.empty()) break;
    const std::vector<std::size_t> proposed = batch;
    TUNEONCE_RETURN_IF_ERROR(PlanBatch(&batch));
    TUNEONCE_RETURN_IF_ERROR(CompileAndPrepare(batch));
    if (run_->is_exhaustive()) continue;
    UnloadSlow();
    if (!TellStrategy(proposed)) break;
  }
  groups_.SortByPlace();
  return Status();
}

Status SearchEngine::PlanBatch(std::vector<std::size_t>* batch) {
  Span span(&runtime_.trace(), "plan", "plan a batch");
  std::vector<std::size_t> candidates;
  std::vector<std::size_t> too_late;
  for (std::size_t index : *batch) {
    TUNEONCE_RETURN_IF_ERROR(CheckCancelled());
    if (!candidates.empty() && Clock::now() >= compiling_ends_) {
      too_late.push_back(index);
      continue;
    }
    TUNEONCE_ASSIGN_OR_RETURN(const bool is_candidate, groups_.Plan(index));
    if (is_candidate) candidates.push_back(index);
  }
  groups_.LeaveOut(too_late);
  *batch = std::move(candidates);
  return Status();
}

Status SearchEngine::CompileAndPrepare(const std::vector<std::size_t>& batch) {
  std::vector<std::size_t> index_of;
  std::vector<CompileJob> jobs = groups_.JobsToCompile(batch, compiling_ends_, &index_of);
  for (std::size_t index : batch) num_trials_ += repeated_.count(index) > 0 ? 0 : 1;
  const Clock::time_point compiling_began = Clock::now();
  CompilePool pool(runtime_.compile_slots(), runtime_.toolchains(), target_, std::move(jobs), OptionsToCompile(),
                   &runtime_.trace());
  while (std::optional<CompiledJob> compiled = NextOf(pool)) {
    const std::size_t index = index_of[compiled->job];
    groups_.Take(*std::move(compiled), index);
    progress_.Report(SearchProgress::Stage::kCompile, ++num_compiled_, groups_.num_planned(), &groups_.config(index));
    TUNEONCE_RETURN_IF_ERROR(CheckCancelled());
    if (!target_.is_cpu_device) TUNEONCE_RETURN_IF_ERROR(PrepareGroups(/*all_compiled=*/false));
  }
  compiling_took_ += Clock::now() - compiling_began;
  record_.cost.compile_wall_seconds = SecondsSince(stage_began_);
  if (target_.is_cpu_device && !run_->has_several_batches()) progress_.Begin(SearchProgress::Stage::kMeasure);
  groups_.SortByPlace();
  TUNEONCE_RETURN_IF_ERROR(PrepareGroups(/*all_compiled=*/true));
  groups_.LeaveOutUnprepared();
  return Status();
}

bool SearchEngine::TellStrategy(const std::vector<std::size_t>& batch) {
  bool are_all_tried = true;
  bool is_baseline_lost = false;
  for (std::size_t index : batch) {
    if (known_.count(index) > 0) continue;  // It is a required one.
    if (groups_.IsExcluded(index)) {
      run_->Add({index, OutcomeKind::kLaunch, 0, 0});
      continue;
    }
    const CandidateGroups::Trial trial = groups_.TrialOf(index);
    if (trial.kind == OutcomeKind::kNotMeasured) {
      are_all_tried = false;
      continue;
    }
    is_baseline_lost |= trial.kind == OutcomeKind::kNotVerified;
    if (IsFailure(trial.kind)) failure_texts_.insert(trial.failure);
    has_success_ |= trial.kind == OutcomeKind::kMeasured;
    run_->Add({index, trial.kind, trial.time_us, trial.compile_ms});
  }
  was_cut_short_ = !are_all_tried || is_baseline_lost;
  // Configs that have little in common failed for the same reason, so that the reason is not in the config.
  constexpr std::size_t kLeastFailures = 16;
  const bool is_hopeless = !has_success_ && num_trials_ >= kLeastFailures && failure_texts_.size() == 1;
  return are_all_tried && !is_hopeless && !is_baseline_lost;
}

Status SearchEngine::SampleTrial(CandidateGroup& group) {
  constexpr int kMoreSamples = 2;
  group.trial_us = {group.prepared->warmup_us};
  for (int i = 0; i < kMoreSamples; ++i) {
    MutexLock lock(measuring_lock_);
    Result<std::vector<double>> sample = place_.runner().Sample({group.prepared->trial});
    if (!sample.ok() && sample.status().sticky()) return sample.status();
    // The race finds out whether it can be timed.
    if (!sample.ok() || !std::isfinite(sample->front()) || sample->front() <= 0) break;
    group.trial_us.push_back(sample->front());
  }
  for (double us : group.trial_us) trial_gpu_ms_ += us / 1000;
  return Status();
}

bool SearchEngine::IsRequired(const CandidateGroup& group) const {
  return std::any_of(group.members.begin(), group.members.end(),
                     [&](std::size_t member) { return required_.count(member) > 0; });
}

bool SearchEngine::MayRace(const CandidateGroup& group) const {
  if (group.trial_us.empty() || groups_.HasBaseline(group) || IsRequired(group)) return true;
  return *std::min_element(group.trial_us.begin(), group.trial_us.end()) <= most_racing_us_;
}

void SearchEngine::LimitRace() {
  // As many as an exhaustive search has by default.
  constexpr std::size_t kMostRacing = 30;
  std::vector<double> times_us;
  for (const CandidateGroup& group : groups_.groups()) {
    const bool has_failed = !group.prepared || group.prepared->failure || group.timing_failure;
    if (!has_failed && !group.trial_us.empty()) {
      times_us.push_back(*std::min_element(group.trial_us.begin(), group.trial_us.end()));
    }
  }
  if (times_us.empty()) return;
  std::sort(times_us.begin(), times_us.end());
  most_racing_us_ = std::min(kEliminated * times_us.front(), times_us[std::min(times_us.size(), kMostRacing) - 1]);
}

void SearchEngine::UnloadSlow() {
  LimitRace();
  for (CandidateGroup& group : groups_.groups()) {
    if (!MayRace(group)) Unload(group);
  }
}

std::optional<CompiledJob> SearchEngine::NextOf(CompilePool& pool) const {
  Span span(&runtime_.trace(), "wait", "wait for a compile");
  return pool.Next();
}

bool SearchEngine::IsFatal(CandidateGroup& group) {
  for (const KnownFatal& known : fatal_) {
    if (group.candidate.artifact.toolchain != known.toolchain || group.candidate.is_callable()) continue;
    for (std::size_t member : group.members) {
      const Config& config = groups_.config(member);
      if (!config.IsSame(known.failure.config)) continue;
      group.prepared.emplace();
      group.prepared->failure = known.failure;
      record_.notes.push_back("not tried again, since it ended its process before: {" + config.ToString() + "}");
      return true;
    }
  }
  return false;
}

SelectionReason SearchEngine::Reason() const {
  const CandidateOutcome& best = record_.best;
  double fastest_us = best.measurement.mean_us;
  for (const CandidateGroup* group : racing_) {
    if (group->samples_us.empty() || group->prepared->failure || group->timing_failure) continue;
    fastest_us = std::min(fastest_us, SummarizeStoppedEarly(group->samples_us).mean_us);
  }
  const double limit_us = fastest_us * (1 + RaceOptions().tie);
  const bool is_baseline = groups_.IsBaseline(best.config);
  if (best.measurement.mean_us > limit_us) {
    return is_baseline ? SelectionReason::kBaselineByMargin : SelectionReason::kTieEarliest;
  }
  const bool is_alone =
      std::all_of(record_.candidates.begin(), record_.candidates.end(), [&](const CandidateOutcome& candidate) {
        return candidate.kind != OutcomeKind::kMeasured || candidate.config == best.config ||
               candidate.measurement.mean_us > limit_us;
      });
  if (is_alone) return SelectionReason::kFastest;
  return is_baseline ? SelectionReason::kTieBaseline : SelectionReason::kTieEarliest;
}

void SearchEngine::Choose() {
  record_.best = groups_.OutcomeOf(*winner_);
  for (const CandidateGroup* group : racing_) {
    if (groups_.HasBaseline(*group) && !group->samples_us.empty()) record_.baseline = groups_.OutcomeOf(*group);
  }
  record_.reason = Reason();
}

DeviceConditions SearchEngine::ConditionsOf(const std::optional<DeviceReading>& before,
                                            const std::optional<DeviceReading>& after) {
  DeviceConditions conditions = after ? after->conditions : DeviceConditions();
  if (before && before->conditions.throttle_reasons) {
    conditions.throttle_reasons = conditions.throttle_reasons.value_or(0) | *before->conditions.throttle_reasons;
  }
  return conditions;
}

void SearchEngine::AddCosts() {
  const RunnerReport report = place_.Report();
  record_.timer = report.timer;
  record_.conditions = ConditionsOf(record_.device_before, record_.device_after);
  record_.notes.insert(record_.notes.begin(), report.notes.begin(), report.notes.end());
  if (std::string lonely = LonelyReference(); !lonely.empty()) record_.notes.push_back(std::move(lonely));
  NoteOptionsWithoutEffect();
  if (options_.verify == Verify::kOff) {
    record_.notes.push_back("outputs were not compared (Verify::kOff): the selected config may be incorrect");
  }
  record_.cost.num_compiled = groups_.num_compiled();
  record_.cost.compile_seconds = groups_.compile_seconds();
  record_.cost.gpu_seconds += trial_gpu_ms_ / 1000;
  record_.cost.num_launches = report.num_launches;
  record_.cost.peak_bytes = report.peak_bytes;
  record_.cost.workers_replaced = report.workers_replaced;
  record_.is_isolated = report.is_isolated;
  record_.cost.wall_seconds = SecondsSince(stage_began_);
}

void SearchEngine::NoteOptionsWithoutEffect() {
  if (groups_.groups().empty()) return;
  const Config& config = groups_.groups().front().candidate.config;
  for (std::size_t i = 0; i < config.values().size(); ++i) {
    if (config.Kind(i) != AxisKind::kOption) continue;
    Result<const CompilerOption*> option = FindCompilerOption(config.AxisName(i));
    const bool is_taken =
        option.ok() && std::any_of(groups_.groups().begin(), groups_.groups().end(), [&](const CandidateGroup& group) {
          return !group.candidate.is_callable() && TakesOption(group.candidate.source.kind(), **option);
        });
    auto differs = [&](const Config& other) { return !(other.values()[i] == config.values()[i]); };
    const bool has_values =
        std::any_of(groups_.groups().begin(), groups_.groups().end(),
                    [&](const CandidateGroup& group) { return differs(group.candidate.config); }) ||
        std::any_of(record_.candidates.begin(), record_.candidates.end(), [&](const CandidateOutcome& candidate) {
          return candidate.kind == OutcomeKind::kDuplicate && differs(candidate.config);
        });
    if (is_taken || !has_values) continue;
    record_.notes.push_back(absl::StrCat("no compiler of these candidates has the option '", config.AxisName(i),
                                         "', so the values of this axis make duplicate configs"));
  }
}

std::string SearchEngine::LonelyReference() const {
  const bool is_given = !options_.reference.empty();
  int most = 0;
  for (const CandidateGroup& group : groups_.groups()) {
    if (!group.prepared) continue;
    // The baseline agrees with itself.
    if (!group.prepared->failure && (is_given || !groups_.HasBaseline(group))) return "";
    most = std::max(most, group.prepared->num_dissenting);
  }
  if (most < 2) return "";
  const std::string reference =
      is_given || !groups_.baseline() ? "the given reference" : "the baseline {" + groups_.baseline()->ToString() + "}";
  return absl::StrCat(reference, " differs from ", most, " candidates that agree with each other: it may be incorrect");
}

Status SearchEngine::AllFailed() const {
  // A reason that many configs share is listed once.
  const std::vector<CandidateOutcome> failures = record_.failures();
  std::map<std::string, std::vector<std::string>> configs_by_reason;
  for (const CandidateOutcome& failure : failures) {
    std::string reason = absl::StrCat(std::string(OutcomeName(failure.kind)), ": ", failure.message);
    configs_by_reason[reason].push_back("{" + failure.config.ToString() + "}");
  }
  bool is_transient = std::any_of(failures.begin(), failures.end(),
                                  [](const CandidateOutcome& failure) { return failure.is_transient; });
  constexpr std::size_t kMostReasons = 5;
  std::vector<std::string> texts;
  for (const auto& [reason, configs] : configs_by_reason) {
    texts.push_back(absl::StrCat(reason, " (", configs.front(),
                                 configs.size() > 1 ? absl::StrCat(" and ", configs.size() - 1, " more") : "", ")"));
  }
  if (texts.size() > kMostReasons) {
    const std::size_t num_more = texts.size() - kMostReasons;
    texts.resize(kMostReasons);
    texts.push_back(absl::StrCat("and ", num_more, num_more == 1 ? " more reason" : " more reasons"));
  }
  const std::string reasons = absl::StrJoin(texts, "; ");
  std::string kernel = absl::StrCat("kernel '", record_.key.kernel, "': ");
  if (!groups_.why_not_tried().empty()) {
    return ResourceExhaustedError(absl::StrCat(kernel, "no candidate was tried: ", groups_.why_not_tried(),
                                               reasons.empty() ? "" : "; ", reasons));
  }
  const bool has_trials_left =
      options_.budgets.trials == 0 || num_trials_ < static_cast<std::size_t>(options_.budgets.trials);
  const bool is_late = was_cut_short_ && !IsSampled() && has_trials_left;
  const std::size_t num_untried = static_cast<std::size_t>(record_.num_not_measured);
  if (const std::size_t num_late = is_late ? num_untried : groups_.num_not_measured(); num_late > 0) {
    return DeadlineExceededError(
        absl::StrCat(kernel, "the search was cut short before any candidate was measured: ", num_late,
                     " candidates were not compiled before the time for compiling ended (Budgets::wall, "
                     "CompileOptions::total_timeout), or the compiles were cancelled",
                     reasons.empty() ? "" : "; ", reasons));
  }
  if (failures.empty()) {
    const std::size_t refused = run_->num_refused();
    const std::string proposed =
        refused > 0 ? absl::StrCat("only configs that do not exist or were proposed before (", refused, ")") : "none";
    return InternalError(absl::StrCat(kernel, "no config was tried: the space has no baseline, and of its configs the ",
                                      "search strategy proposed ", proposed));
  }
  // Transient reasons are distinguished from permanent ones.
  bool lacks_memory = false;
  bool all_lack_memory = true;
  for (const CandidateOutcome& failure : failures) {
    lacks_memory |= failure.kind == OutcomeKind::kResources;
    all_lack_memory &= failure.kind == OutcomeKind::kResources || failure.kind == OutcomeKind::kNotVerified;
  }
  const std::string lonely = LonelyReference();
  StatusCode code = is_transient ? StatusCode::kUnavailable : StatusCode::kInternal;
  return Status(lacks_memory && all_lack_memory ? StatusCode::kResourceExhausted : code,
                absl::StrCat(kernel, "all ", failures.size(), " candidates failed: ", reasons,
                             lonely.empty() ? "" : "; ", lonely));
}

}  // namespace v0
}  // namespace tuneonce
