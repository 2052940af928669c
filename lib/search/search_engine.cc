#include "search/search_engine.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/callback.h"
#include "base/mutex.h"
#include "base/span.h"
#include "compile/compile_pool.h"
#include "measure/race.h"
#include "search/search_call.h"
#include "shared/log.h"
#include "tuneonce/progress.h"
#include "tuneonce/search_options.h"
#include "tuneonce/toolchain.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::string WhyPassedOver(const std::vector<PassedOver>& passed_over) {
  return absl::StrJoin(passed_over, "; ", [](std::string* out, const PassedOver& each) {
    absl::StrAppend(out, "variant '", each.variant, "': ", each.reason);
  });
}

}  // namespace

SearchEngine::SearchEngine(std::string kernel, std::string key, const Target& target, std::optional<Config> baseline,
                           const SearchOptions& options, CandidateRunner& runner, Mutex& measuring_lock)
    : key_(std::move(key)),
      target_(target),
      baseline_(std::move(baseline)),
      options_(options),
      runtime_(*Runtime::OrDefault(options.runtime)),
      runner_(runner),
      measuring_lock_(measuring_lock),
      progress_(options.on_progress) {
  result_.kernel = std::move(kernel);
  if (!progress_ && !options.quiet) progress_ = TerminalProgress();
}

double SearchEngine::SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void SearchEngine::Begin() {
  stage_began_ = preparing_began_ = race_began_ = Clock::now();
  if (options_.wall_budget_ms <= 0) return;
  constexpr double kMostMs = 1e12;  // 30 years: what a clock's time can be put after.
  const auto milliseconds = [](double count) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(count));
  };
  const double budget_ms = std::min(options_.wall_budget_ms, kMostMs);
  ends_ = stage_began_ + milliseconds(budget_ms);
  compiling_ends_ = ends_ - milliseconds(std::clamp(options_.race_budget_ms, 0.0, budget_ms / 2));
}

Result<SearchOutcome> SearchEngine::Run(std::vector<PlannedConfig> planned) {
  runtime_.trace().NameThread("searching thread");
  Span span(&runtime_.trace(), "search", "search " + result_.kernel);
  const Clock::time_point start = Clock::now();
  planned_ = std::move(planned);
  Begin();
  Status done = CompileAndPrepare();
  if (done.ok()) done = Decide();
  Report(SearchProgress::Stage::kDone, 0, 0, nullptr);
  TUNEONCE_RETURN_IF_ERROR(done);
  Collect();
  if (winner_ == nullptr) return AllFailed();
  Choose();
  result_.timer = runner_.timer_name();
  const std::vector<std::string> notes = runner_.notes();
  result_.notes.insert(result_.notes.begin(), notes.begin(), notes.end());
  result_.cost.num_launches = runner_.num_launches();
  result_.cost.peak_bytes = runner_.peak_bytes();
  result_.cost.workers_replaced = runner_.workers_replaced();
  result_.is_isolated = runner_.is_isolated();
  result_.cost.wall_seconds = SecondsSince(start);
  SearchOutcome outcome;
  TUNEONCE_ASSIGN_OR_RETURN(outcome.best, runner_.CodeOf(*winner_->prepared, winner_->candidate));
  for (const Group* group : racing_) {
    if (!HasBaseline(*group) || !result_.baseline) continue;
    outcome.baseline = outcome.best;
    if (group == winner_) continue;
    TUNEONCE_ASSIGN_OR_RETURN(outcome.baseline, runner_.CodeOf(*group->prepared, group->candidate));
  }
  span.Note("best", result_.best.config.ToString());
  span.Note("gpu_s", result_.cost.gpu_seconds);
  outcome.result = std::move(result_);
  return outcome;
}

std::vector<CompileJob> SearchEngine::JobsToCompile(std::vector<std::size_t>* index_of) {
  std::vector<CompileJob> jobs;
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
    jobs.back().deadline = compiling_ends_;
    // The baseline first: the others are checked against it, also where the time for compiling ends early.
    if (IsBaseline(planned_[i].config)) jobs.back().cost = 0;
    index_of->push_back(i);
  }
  // Stable as the pool's order: this one is compiled first.
  auto first = std::min_element(jobs.begin(), jobs.end(),
                                [](const CompileJob& a, const CompileJob& b) { return a.cost < b.cost; });
  bool is_needed = first != jobs.end() && groups_.empty();  // What needs no compiling can be measured.
  if (baseline_) {
    first = std::find_if(jobs.begin(), jobs.end(), [&](const CompileJob& job) {
      return IsBaseline(planned_[(*index_of)[static_cast<std::size_t>(&job - jobs.data())]].config);
    });
    is_needed = first != jobs.end();
  }
  if (is_needed) first->deadline = Clock::time_point::max();
  return jobs;
}

CompileOptions SearchEngine::OptionsToCompile() const {
  CompileOptions compile = options_.compile;
  if (options_.cancelled != nullptr) compile.cancelled = options_.cancelled;
  if (options_.interrupted) compile.interrupted = options_.interrupted;
  if (compile.cache == nullptr) compile.cache = &runtime_.artifacts();
  return compile;
}

Status SearchEngine::CompileAndPrepare() {
  std::vector<std::size_t> index_of;
  std::vector<CompileJob> jobs = JobsToCompile(&index_of);
  CompilePool pool(runtime_.compile_slots(), runtime_.toolchains(), target_, std::move(jobs), OptionsToCompile(),
                   CompilePool::Order::kByCost, &runtime_.trace());
  int done = 0;
  while (std::optional<CompiledJob> compiled = NextOf(pool)) {
    std::size_t index = index_of[compiled->job];
    Take(*std::move(compiled), index);
    Report(SearchProgress::Stage::kCompile, ++done, planned_.size(), &planned_[index].config);
    TUNEONCE_RETURN_IF_ERROR(CheckCancelled());
    if (!target_.is_cpu_device) TUNEONCE_RETURN_IF_ERROR(PrepareGroups(/*all_compiled=*/false));
  }
  result_.cost.compile_wall_seconds = SecondsSince(stage_began_);
  if (target_.is_cpu_device) preparing_began_ = Clock::now();
  auto is_earlier = [](const Group& a, const Group& b) { return a.members.front() < b.members.front(); };
  groups_.sort(is_earlier);
  TUNEONCE_RETURN_IF_ERROR(PrepareGroups(/*all_compiled=*/true));
  LeaveOutUnprepared();
  return Status();
}

std::optional<CompiledJob> SearchEngine::NextOf(CompilePool& pool) const {
  Span span(&runtime_.trace(), "wait", "wait for a compile");
  return pool.Next();
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
  SayAt(runtime_, LogLevel::kDebug, [&] {
    std::string config = absl::StrCat(result_.kernel, " {", planned.config.ToString(), "}: ");
    if (!compiled.artifact.ok()) return absl::StrCat(config, "not compiled: ", compiled.artifact.status().message());
    return compiled.from_cache ? config + "its code was there"
                               : absl::StrCat(config, "compiled in ", compiled.artifact->seconds, " s");
  });
  bool is_transient = IsTransient(compiled.artifact.status().code());  // Of one way to build it is enough.
  for (std::size_t i = 0; i < compiled.passed_over.size(); ++i) {
    planned.passed_over.push_back(
        PassedOver{planned.alternatives[i].variant_name(), compiled.passed_over[i].message()});
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
    if (has_others) planned.passed_over.push_back(PassedOver{candidate.variant_name(), message});
    if (planned.ends_with_callable()) return Take(index, planned.alternatives.size() - 1);
    Fail(index, FailureKind::kCompile, has_others ? WhyPassedOver(planned.passed_over) : message, is_transient);
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
    substitutions_[index].push_back(VariantSubstitution{planned.config, candidate.variant_name(), passed_over});
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
    if (!group.prepared && !IsTooLateFor(group)) TUNEONCE_RETURN_IF_ERROR(PrepareFirst(group));
  }
  return Status();
}

bool SearchEngine::IsTooLateFor(const Group& group) const {
  if (ends_ == Clock::time_point::max() || Clock::now() < ends_) return false;
  if (baseline_) return !HasBaseline(group);
  return std::any_of(groups_.begin(), groups_.end(), [](const Group& each) { return each.is_loaded; });
}

void SearchEngine::LeaveOutUnprepared() {
  for (const Group& group : groups_) {
    if (!group.prepared) not_measured_.insert(group.members.begin(), group.members.end());
  }
  groups_.remove_if([](const Group& group) { return !group.prepared; });
}

Status SearchEngine::PrepareFirst(Group& group) {
  Status prepared = IsLethal(group) ? Status() : Prepare(group);
  if (prepared.code() == StatusCode::kCancelled) return prepared;
  Report(SearchProgress::Stage::kMeasure, ++num_prepared_, planned_.size(), &group.candidate.config);
  return prepared;
}

Status SearchEngine::Prepare(Group& group) {
  TUNEONCE_RETURN_IF_ERROR(CheckCancelled());
  if (!is_open_) TUNEONCE_RETURN_IF_ERROR(runner_.Open());
  is_open_ = true;
  {
    Span span(&runtime_.trace(), "load", "prepare {" + group.candidate.config.ToString() + "}");
    std::optional<Span> wait(std::in_place, &runtime_.trace(), "wait", "wait for the device");
    MutexLock lock(measuring_lock_);
    wait.reset();
    group.prepared = runner_.Prepare(group.candidate, HasBaseline(group));
    if (group.prepared->failure) span.Note("failure", group.prepared->failure->message);
    span.Note("warmup_us", group.prepared->warmup_us);
  }
  SayAt(runtime_, LogLevel::kDebug, [&] {
    std::string config = absl::StrCat(result_.kernel, " {", group.candidate.config.ToString(), "}: ");
    return group.prepared->failure
               ? absl::StrCat(config, std::string(FailureKindName(group.prepared->failure->kind)), ": ",
                              group.prepared->failure->message)
               : absl::StrCat(config, "is right, and takes about ", group.prepared->warmup_us, " us");
  });
  group.is_loaded = !group.prepared->failure;
  return group.prepared->fatal;
}

}  // namespace v0
}  // namespace tuneonce
