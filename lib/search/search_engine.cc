#include "search/search_engine.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/callback.h"
#include "base/mutex.h"
#include "base/span.h"
#include "measure/race.h"
#include "search/search_call.h"
#include "shared/compile_pool.h"
#include "shared/log.h"
#include "tuneonce/progress.h"
#include "tuneonce/search_options.h"
#include "tuneonce/toolchain.h"

namespace tuneonce {
inline namespace v0 {
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

void SearchEngine::Begin(std::vector<PlannedConfig> planned) {
  planned_ = std::move(planned);
  stage_began_ = Clock::now();
  if (options_.wall_budget_ms <= 0) return;
  constexpr double kMostMs = 1e12;  // 30 years: what a clock's time can be put after.
  const auto milliseconds = [](double count) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(count));
  };
  const double budget_ms = std::min(options_.wall_budget_ms, kMostMs);
  ends_ = stage_began_ + milliseconds(budget_ms);
  compiling_ends_ = ends_ - milliseconds(std::clamp(options_.race_budget_ms, 0.0, budget_ms / 2));
}

Status SearchEngine::Search() {
  stage_began_ = preparing_began_ = race_began_ = Clock::now();
  num_prepared_ = 0;
  winner_ = nullptr;
  Status done = CompileAndPrepare();
  if (done.ok()) done = Decide();
  Report(SearchProgress::Stage::kDone, 0, 0, nullptr);
  TUNEONCE_RETURN_IF_ERROR(done);
  Collect();
  if (winner_ != nullptr) Choose();
  AddCosts();
  return Status();
}

Result<SearchOutcome> SearchEngine::Run(std::vector<PlannedConfig> planned) {
  runtime_.trace().NameThread("searching thread");
  Span span(&runtime_.trace(), "search", "search " + result_.kernel);
  Begin(std::move(planned));
  TUNEONCE_RETURN_IF_ERROR(Search());
  if (winner_ == nullptr) return AllFailed();
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

Status SearchEngine::CheckCancelled() const {
  bool is_cancelled = options_.cancelled != nullptr && options_.cancelled->load();
  if (!is_cancelled && !IsInterrupted(options_.interrupted)) return Status();
  return CancelledError(absl::StrCat("kernel '", result_.kernel, "': the search was cancelled"));
}

void SearchEngine::Fail(std::size_t index, FailureKind kind, std::string message, bool is_transient) {
  failures_.emplace(index, Failure{planned_[index].config, kind, std::move(message), is_transient});
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
  auto is_left_out = [](const Group& group) { return !group.prepared || group.prepared->is_not_tried; };
  for (const Group& group : groups_) {
    if (!is_left_out(group)) continue;
    not_measured_.insert(group.members.begin(), group.members.end());
    if (group.prepared) why_not_tried_ = group.prepared->failure->message;
  }
  groups_.remove_if(is_left_out);
}

Status SearchEngine::PrepareFirst(Group& group) {
  Status prepared = IsFatal(group) ? Status() : Prepare(group);
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
               : absl::StrCat(config, "is correct, and takes about ", group.prepared->warmup_us, " us");
  });
  group.is_loaded = !group.prepared->failure;
  return group.prepared->fatal;
}

}  // namespace v0
}  // namespace tuneonce
