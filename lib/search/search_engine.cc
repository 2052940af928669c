#include "search/search_engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/callback.h"
#include "base/mutex.h"
#include "compile/compile_pool.h"
#include "measure/race.h"
#include "measure/statistics.h"
#include "search/search_call.h"
#include "tuneonce/progress.h"
#include "tuneonce/search_options.h"
#include "tuneonce/toolchain.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// With fewer rounds a drift says nothing.
constexpr std::size_t kMinRoundsForDrift = 8;

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string VariantName(const Candidate& candidate) {
  return candidate.variant == nullptr ? std::string() : candidate.variant->name;
}

std::string WhyPassedOver(const std::vector<PassedOver>& passed_over) {
  return absl::StrJoin(passed_over, "; ", [](std::string* out, const PassedOver& each) {
    absl::StrAppend(out, "variant '", each.variant, "': ", each.reason);
  });
}

/// How much slower the second half of the samples is than the first.
double DriftOf(const std::vector<double>& samples) {
  if (samples.size() < kMinRoundsForDrift) return 0;
  std::size_t half = samples.size() / 2;
  std::vector<double> first(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(half));
  std::vector<double> second(samples.end() - static_cast<std::ptrdiff_t>(half), samples.end());
  return Summarize(second).mean_us / Summarize(first).mean_us - 1;
}

}  // namespace

SearchEngine::SearchEngine(std::string kernel, const Target& target, std::optional<Config> baseline,
                           const SearchOptions& options, CandidateRunner& runner, Mutex& measuring_lock)
    : target_(target),
      baseline_(std::move(baseline)),
      options_(options),
      runtime_(*Runtime::OrDefault(options.runtime)),
      runner_(runner),
      measuring_lock_(measuring_lock),
      progress_(options.on_progress) {
  result_.kernel = std::move(kernel);
  if (!progress_ && !options.quiet) progress_ = TerminalProgress();
}

void SearchEngine::Report(SearchProgress::Stage stage, int done, std::size_t total, const Config* config) const {
  if (!progress_) return;
  CallbackScope scope;
  try {
    progress_(SearchProgress{stage, done, static_cast<int>(total), result_.kernel,
                             config == nullptr ? std::string() : config->ToString()});
  } catch (...) {  // A display must not end a search.
  }
}

Result<SearchOutcome> SearchEngine::Run(std::vector<PlannedConfig> planned) {
  auto start = std::chrono::steady_clock::now();
  planned_ = std::move(planned);
  Status done = CompileAndPrepare();
  if (done.ok()) done = Decide();
  Report(SearchProgress::Stage::kDone, 0, 0, nullptr);
  TUNEONCE_RETURN_IF_ERROR(done);
  Collect();
  if (winner_ == nullptr) return AllFailed();
  Choose();
  result_.timer = runner_.timer_name();
  result_.notes = runner_.notes();
  result_.cost.num_launches = runner_.num_launches();
  result_.cost.peak_bytes = runner_.peak_bytes();
  result_.cost.wall_seconds = SecondsSince(start);
  SearchOutcome outcome;
  outcome.best = winner_->prepared->kernel;
  for (const Group* group : racing_) {
    if (HasBaseline(*group) && result_.baseline) outcome.baseline = group->prepared->kernel;
  }
  outcome.result = std::move(result_);
  return outcome;
}

Status SearchEngine::CompileAndPrepare() {
  auto start = std::chrono::steady_clock::now();
  std::vector<CompileJob> jobs;
  std::vector<std::size_t> index_of;
  for (std::size_t i = 0; i < planned_.size(); ++i) {
    if (planned_[i].alternatives.empty()) {
      Fail(i, FailureKind::kCompile, WhyPassedOver(planned_[i].passed_over));
      continue;
    }
    if (!planned_[i].needs_compiling()) {
      Take(i, 0);
      continue;
    }
    jobs.push_back(CompileJobOf(planned_[i]));
    // The baseline first: the others are checked against it, also where the time for compiling ends early.
    if (IsBaseline(planned_[i].config)) jobs.back().cost = 0;
    index_of.push_back(i);
  }
  CompileOptions compile = options_.compile;
  if (options_.cancelled != nullptr) compile.cancelled = options_.cancelled;
  if (options_.interrupted) compile.interrupted = options_.interrupted;
  if (compile.cache == nullptr) compile.cache = &runtime_.artifacts();
  CompilePool pool(runtime_.compile_slots(), runtime_.toolchains(), target_, std::move(jobs), compile);
  int done = 0;
  while (std::optional<CompiledJob> compiled = pool.Next()) {
    std::size_t index = index_of[compiled->job];
    Take(*std::move(compiled), index);
    Report(SearchProgress::Stage::kCompile, ++done, planned_.size(), &planned_[index].config);
    TUNEONCE_RETURN_IF_ERROR(CheckCancelled());
    if (!target_.is_cpu_device) TUNEONCE_RETURN_IF_ERROR(PrepareGroups(/*all_compiled=*/false));
  }
  result_.cost.compile_wall_seconds = SecondsSince(start);
  auto is_earlier = [](const Group& a, const Group& b) { return a.members.front() < b.members.front(); };
  groups_.sort(is_earlier);
  return PrepareGroups(/*all_compiled=*/true);
}

Status SearchEngine::CheckCancelled() const {
  bool is_cancelled = options_.cancelled != nullptr && options_.cancelled->load();
  if (!is_cancelled && !IsInterrupted(options_.interrupted)) return Status();
  return CancelledError(absl::StrCat("kernel '", result_.kernel, "': the search was cancelled"));
}

void SearchEngine::Fail(std::size_t index, FailureKind kind, std::string message, bool is_transient) {
  failures_.emplace(index, Failure{planned_[index].config, kind, std::move(message), is_transient});
}

void SearchEngine::Take(CompiledJob compiled, std::size_t index) {
  PlannedConfig& planned = planned_[index];
  bool is_transient = IsTransient(compiled.artifact.status().code());  // Of one way to build it is enough.
  for (std::size_t i = 0; i < compiled.passed_over.size(); ++i) {
    planned.passed_over.push_back(PassedOver{VariantName(planned.alternatives[i]), compiled.passed_over[i].message()});
    is_transient |= IsTransient(compiled.passed_over[i].code());
  }
  Candidate& candidate = planned.alternatives[compiled.alternative];
  if (compiled.was_cut_short) {
    not_measured_.insert(index);
    return;
  }
  if (!compiled.artifact.ok()) {
    const std::string& message = compiled.artifact.status().message();
    bool has_others = !planned.passed_over.empty() || planned.ends_with_callable();
    if (has_others) planned.passed_over.push_back(PassedOver{VariantName(candidate), message});
    if (planned.ends_with_callable()) return Take(index, planned.alternatives.size() - 1);
    Fail(index, FailureKind::kCompile, has_others ? WhyPassedOver(planned.passed_over) : message,
         is_transient);
    return;
  }
  candidate.artifact = *std::move(compiled.artifact);
  if (!compiled.from_cache) {
    ++result_.cost.num_compiled;
    result_.cost.compile_seconds += candidate.artifact.seconds;
  }
  Take(index, compiled.alternative);
}

void SearchEngine::Take(std::size_t index, std::size_t alternative) {
  PlannedConfig& planned = planned_[index];
  Candidate& candidate = planned.alternatives[alternative];
  for (const PassedOver& passed_over : planned.passed_over) {
    substitutions_[index].push_back(VariantSubstitution{planned.config, VariantName(candidate), passed_over});
  }
  for (Group& group : groups_) {
    const Candidate& other = group.candidate;
    if (candidate.is_callable() || other.is_callable()) continue;  // What the host does cannot be compared.
    // One definition for both means that they get the same arguments.
    if (other.artifact.code_fingerprint == candidate.artifact.code_fingerprint &&
        other.geometry == candidate.geometry && other.definition == candidate.definition &&
        other.convention == candidate.convention) {
      group.members.push_back(index);
      std::sort(group.members.begin(), group.members.end());
      return;
    }
  }
  groups_.emplace_back();
  groups_.back().candidate = std::move(candidate);
  groups_.back().members = {index};
}

bool SearchEngine::HasBaseline(const Group& group) const {
  return std::any_of(group.members.begin(), group.members.end(),
                     [&](std::size_t member) { return IsBaseline(planned_[member].config); });
}

std::size_t SearchEngine::Representative(const Group& group) const {
  for (std::size_t member : group.members) {
    if (IsBaseline(planned_[member].config)) return member;
  }
  return group.members.front();
}

Status SearchEngine::PrepareGroups(bool all_compiled) {
  if (runner_.wants_baseline_first()) {
    for (Group& group : groups_) {
      if (!group.prepared && HasBaseline(group)) TUNEONCE_RETURN_IF_ERROR(PrepareFirst(group));
    }
  }
  // Without the baseline's outputs the others cannot be checked: they wait for it, until it is sure that it failed.
  if (runner_.wants_baseline_first() && !all_compiled) return Status();
  for (Group& group : groups_) {
    if (!group.prepared) TUNEONCE_RETURN_IF_ERROR(PrepareFirst(group));
  }
  return Status();
}

Status SearchEngine::PrepareFirst(Group& group) {
  Status prepared = Prepare(group);
  if (prepared.code() == StatusCode::kCancelled) return prepared;
  Report(SearchProgress::Stage::kMeasure, ++num_prepared_, planned_.size(), &group.candidate.config);
  return prepared;
}

Status SearchEngine::Prepare(Group& group) {
  TUNEONCE_RETURN_IF_ERROR(CheckCancelled());
  {
    MutexLock lock(measuring_lock_);
    group.prepared = runner_.Prepare(group.candidate, HasBaseline(group));
  }
  group.is_loaded = !group.prepared->failure;
  return group.prepared->fatal;
}

Result<std::vector<double>> SearchEngine::SampleRound(const std::vector<std::size_t>& entrants) {
  auto sample = [&](const std::vector<std::size_t>& some) {
    std::vector<std::size_t> trials;
    for (std::size_t entrant : some) trials.push_back(racing_[entrant]->prepared->trial);
    MutexLock lock(measuring_lock_);
    return runner_.Sample(trials);
  };
  Result<std::vector<double>> times = sample(entrants);
  if (times.ok()) return times;
  if (times.status().code() == StatusCode::kUnavailable) return times;
  if (times.status().sticky()) {
    std::string configs = absl::StrJoin(entrants, ", ", [&](std::string* out, std::size_t entrant) {
      absl::StrAppend(out, "{", racing_[entrant]->candidate.config.ToString(), "}");
    });
    return times.status().WithPrefix(absl::StrCat("kernel '", result_.kernel, "', one of the candidates ", configs));
  }
  // Whose fault was it? Each alone.
  std::vector<double> one_by_one;
  for (std::size_t entrant : entrants) {
    Result<std::vector<double>> alone = sample({entrant});
    if (!alone.ok() && (alone.status().sticky() || alone.status().code() == StatusCode::kUnavailable)) return alone;
    if (!alone.ok()) timing_failures_[racing_[entrant]] = alone.status().message();
    one_by_one.push_back(alone.ok() ? alone->front() : 0);
  }
  return one_by_one;
}

Status SearchEngine::Decide() {
  race_began_ = std::chrono::steady_clock::now();
  for (;;) {
    TUNEONCE_RETURN_IF_ERROR(EnterRace());
    if (racing_.empty()) return Status();
    TUNEONCE_ASSIGN_OR_RETURN(bool is_over, RunRace());
    if (!is_over) continue;
    TUNEONCE_ASSIGN_OR_RETURN(bool are_right, FinalistsAreRight());
    if (are_right) return Status();
  }
}

Status SearchEngine::EnterRace() {
  winner_ = nullptr;
  racing_.clear();
  result_.speedup_over_baseline.reset();
  for (Group& group : groups_) {
    group.samples_us.clear();
    if (group.prepared->failure || timing_failures_.count(&group) > 0) continue;
    if (!group.is_loaded) TUNEONCE_RETURN_IF_ERROR(Prepare(group));
    if (group.is_loaded) racing_.push_back(&group);
  }
  std::stable_partition(racing_.begin(), racing_.end(), [&](const Group* group) { return HasBaseline(*group); });
  return Status();
}

Race SearchEngine::MakeRace() const {
  RaceOptions options;
  if (HasBaseline(*racing_.front())) options.first_tie = options_.baseline_margin;
  options.max_rounds = options_.max_rounds;
  options.budget_ms = options_.gpu_budget_ms - result_.cost.gpu_seconds * 1000;
  options.seed = options_.seed;
  Race race(racing_.size(), options);
  // Each ran already, timed, when it was prepared.
  std::vector<double> warmups;
  for (const Group* group : racing_) warmups.push_back(group->prepared->warmup_us);
  race.RecordWarmup(warmups);
  return race;
}

Result<bool> SearchEngine::RunRace() {
  Race race = MakeRace();
  for (auto round = race.NextRound(); !round.empty(); round = race.NextRound()) {
    TUNEONCE_RETURN_IF_ERROR(CheckCancelled());
    Result<std::vector<double>> samples = SampleRound(round);
    if (!samples.ok() && samples.status().code() == StatusCode::kUnavailable && runner_.TimeInAnotherWay()) {
      return false;
    }
    TUNEONCE_RETURN_IF_ERROR(samples.status());
    for (std::size_t i = 0; i < round.size(); ++i) {
      if (std::isfinite((*samples)[i]) && (*samples)[i] > 0) continue;
      timing_failures_.emplace(racing_[round[i]], "the timer gave no time that is a positive number");
    }
    race.Record(*samples);
    UnloadLosers(race);
    if (race.num_rounds() > 0 && SecondsSince(race_began_) * 1000 >= options_.wall_budget_ms) race.Stop();
  }
  for (std::size_t i = 0; i < racing_.size(); ++i) {
    racing_[i]->samples_us = race.samples_us(i);
    racing_[i]->ties = race.Ties(i);
    racing_[i]->is_finalist = race.IsRacing(i);
  }
  result_.cost.gpu_seconds += race.spent_ms() / 1000;
  result_.cost.num_rounds += race.num_rounds();
  result_.is_certain = race.certain();
  std::optional<std::size_t> choice = race.Choice();
  if (!choice) return true;
  if (HasBaseline(*racing_.front()) && *choice != 0 && options_.final_rounds > 0) {
    TUNEONCE_ASSIGN_OR_RETURN(bool keeps, WinnerKeepsMargin(*choice));
    if (!keeps) choice = 0;
  }
  Conclude(race, *choice);
  return true;
}

void SearchEngine::Conclude(const Race& race, std::size_t choice) {
  winner_ = racing_[choice];
  result_.drift = DriftOf(winner_->samples_us);
  if (HasBaseline(*racing_.front())) {
    result_.speedup_over_baseline = std::exp(std::max(0.0, race.LogRatio(0, choice)));
  }
}

void SearchEngine::UnloadLosers(const Race& race) {
  for (std::size_t i = 0; i < racing_.size(); ++i) {
    if (!race.IsRacing(i) && !HasBaseline(*racing_[i])) Unload(*racing_[i]);
  }
}

void SearchEngine::Unload(Group& group) {
  if (!group.is_loaded) return;
  group.is_loaded = false;
  group.prepared->kernel = nullptr;
  MutexLock lock(measuring_lock_);
  runner_.Release(group.prepared->trial);
}

Result<bool> SearchEngine::FinalistsAreRight() {
  bool all = true;
  for (Group* group : racing_) {
    if (!group->is_loaded || !(group->is_finalist || group == winner_ || HasBaseline(*group))) continue;
    TUNEONCE_RETURN_IF_ERROR(CheckCancelled());
    PreparedTrial checked;
    {
      MutexLock lock(measuring_lock_);
      checked = runner_.CheckAgain(*group->prepared);
    }
    TUNEONCE_RETURN_IF_ERROR(checked.fatal);
    if (checked.failure) {
      all = false;
      Unload(*group);
      group->prepared->failure = std::move(checked.failure);
    } else {
      group->prepared = std::move(checked);
    }
  }
  return all;
}

Result<bool> SearchEngine::WinnerKeepsMargin(std::size_t winner) {
  double sum = 0;
  for (int round = 0; round < options_.final_rounds; ++round) {
    bool winner_first = round % 2 == 0;
    std::vector<std::size_t> order =
        winner_first ? std::vector<std::size_t>{winner, 0} : std::vector<std::size_t>{0, winner};
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<double> times, SampleRound(order));
    if (times[0] <= 0 || times[1] <= 0) return false;
    sum += std::log(times[winner_first ? 1 : 0] / times[winner_first ? 0 : 1]);
    result_.cost.gpu_seconds += (times[0] + times[1]) * 1e-6;
  }
  return sum / options_.final_rounds > options_.baseline_margin;
}

Success SearchEngine::SuccessOf(const Group& group) const {
  Success success;
  success.config = planned_[Representative(group)].config;
  success.variant = VariantName(group.candidate);
  success.measurement = SummarizeStoppedEarly(group.samples_us);
  success.geometry = group.candidate.geometry;
  success.resources = group.candidate.artifact.resources;
  success.artifact = group.candidate.artifact.key;
  success.toolchain = group.candidate.artifact.toolchain;
  success.ties_with_fastest = group.ties;
  success.largest_difference = group.prepared->largest_difference;
  return success;
}

void SearchEngine::Collect() {
  std::map<std::size_t, Duplicate> duplicates;
  for (Group& group : groups_) {
    std::size_t representative = Representative(group);
    const Config& config = planned_[representative].config;
    for (std::size_t member : group.members) {
      if (member != representative) duplicates.emplace(member, Duplicate{planned_[member].config, config});
    }
    if (group.prepared->failure) {
      const Failure& failure = *group.prepared->failure;
      Fail(representative, failure.kind, failure.message, failure.is_transient);
    } else if (group.samples_us.empty() || timing_failures_.count(&group) > 0) {
      Fail(representative, FailureKind::kRun, timing_failures_[&group]);
    } else {
      result_.successes.push_back(SuccessOf(group));
    }
  }
  for (auto& [index, duplicate] : duplicates) result_.duplicates.push_back(std::move(duplicate));
  for (auto& [index, failure] : failures_) result_.failures.push_back(std::move(failure));
  for (std::size_t index : not_measured_) result_.not_measured.push_back(planned_[index].config);
  result_.is_certain = result_.is_certain && not_measured_.empty();
  for (auto& [index, substitutions] : substitutions_) {
    for (VariantSubstitution& substitution : substitutions) result_.substitutions.push_back(std::move(substitution));
  }
}

void SearchEngine::Choose() {
  result_.best = SuccessOf(*winner_);
  for (const Group* group : racing_) {
    if (HasBaseline(*group) && !group->samples_us.empty()) result_.baseline = SuccessOf(*group);
  }
  std::stable_sort(result_.successes.begin(), result_.successes.end(),
                   [](const Success& a, const Success& b) { return a.measurement.mean_us < b.measurement.mean_us; });
}

Status SearchEngine::AllFailed() const {
  // The same reason for many configs is said once.
  std::map<std::string, std::vector<std::string>> configs_by_reason;
  for (const Failure& failure : result_.failures) {
    std::string reason = absl::StrCat(std::string(FailureKindName(failure.kind)), ": ", failure.message);
    configs_by_reason[reason].push_back("{" + failure.config.ToString() + "}");
  }
  bool is_transient = std::any_of(result_.failures.begin(), result_.failures.end(),
                                  [](const Failure& failure) { return failure.is_transient; });
  std::string reasons = absl::StrJoin(configs_by_reason, "; ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first, " (", entry.second.front(),
                    entry.second.size() > 1 ? absl::StrCat(" and ", entry.second.size() - 1, " more") : "", ")");
  });
  std::string kernel = absl::StrCat("kernel '", result_.kernel, "': ");
  if (!not_measured_.empty()) {
    return DeadlineExceededError(
        absl::StrCat(kernel, "the search was cut short before any candidate was measured: ", not_measured_.size(),
                     " were not compiled before CompileOptions::total_timeout_ms ended, or the compiles were cancelled",
                     reasons.empty() ? "" : "; ", reasons));
  }
  // What may be had later is told from what is wrong.
  bool lacks_memory = false;
  bool all_lack_memory = true;
  for (const Failure& failure : result_.failures) {
    lacks_memory |= failure.kind == FailureKind::kResources;
    all_lack_memory &= failure.kind == FailureKind::kResources || failure.kind == FailureKind::kNotVerified;
  }
  StatusCode code = is_transient ? StatusCode::kUnavailable : StatusCode::kInternal;
  return Status(lacks_memory && all_lack_memory ? StatusCode::kResourceExhausted : code,
                absl::StrCat(kernel, "all ", result_.failures.size(), " candidates failed: ", reasons));
}

}  // namespace v0
}  // namespace tuneonce
