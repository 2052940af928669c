#include "search/search_engine.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/callback.h"

namespace tuneonce {
namespace {

/// Candidates within this share of the fastest cannot be told apart: the earliest in the space's order wins, so that
/// noise does not pick another winner on each run.
constexpr double kEpsilon = 0.01;

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

}  // namespace

SearchEngine::SearchEngine(std::string kernel, const Target& target, std::optional<Config> baseline,
                           const SearchOptions& options, CandidateRunner& runner)
    : target_(target),
      baseline_(std::move(baseline)),
      options_(options),
      toolchains_(options.toolchains != nullptr ? *options.toolchains : ToolchainSet::Default()),
      runner_(runner),
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

Result<TuningResult> SearchEngine::Run(std::vector<PlannedConfig> planned) {
  auto start = std::chrono::steady_clock::now();
  planned_ = std::move(planned);
  Status done = CompileAndMeasure();
  Report(SearchProgress::Stage::kDone, 0, 0, nullptr);
  TUNEONCE_RETURN_IF_ERROR(done);
  Collect();
  if (result_.successes.empty()) return AllFailed();
  Choose();
  result_.cost.wall_seconds = SecondsSince(start);
  return std::move(result_);
}

Status SearchEngine::CompileAndMeasure() {
  auto start = std::chrono::steady_clock::now();
  std::vector<CompileJob> jobs;
  std::vector<std::size_t> index_of;
  for (std::size_t i = 0; i < planned_.size(); ++i) {
    if (planned_[i].alternatives.empty()) {
      Fail(i, FailureKind::kCompile, WhyPassedOver(planned_[i].passed_over));
      continue;
    }
    jobs.push_back(CompileJobOf(planned_[i]));
    index_of.push_back(i);
  }
  CompileOptions compile = options_.compile;
  if (options_.cancelled != nullptr) compile.cancelled = options_.cancelled;
  CompilePool pool(toolchains_, target_, std::move(jobs), compile);
  int done = 0;
  while (std::optional<CompiledJob> compiled = pool.Next()) {
    std::size_t index = index_of[compiled->job];
    Group* group = Take(*std::move(compiled), index);
    Report(SearchProgress::Stage::kCompile, ++done, planned_.size(), &planned_[index].config);
    TUNEONCE_RETURN_IF_ERROR(CheckCancelled());
    if (group != nullptr && !target_.is_cpu_device) TUNEONCE_RETURN_IF_ERROR(Measure(*group));
  }
  result_.cost.compile_wall_seconds = SecondsSince(start);
  auto is_earlier = [](const Group& a, const Group& b) { return a.members.front() < b.members.front(); };
  std::sort(groups_.begin(), groups_.end(), is_earlier);
  for (Group& group : groups_) {
    if (!group.trial) TUNEONCE_RETURN_IF_ERROR(Measure(group));
  }
  return Status();
}

Status SearchEngine::CheckCancelled() const {
  if (options_.cancelled == nullptr || !options_.cancelled->load()) return Status();
  return CancelledError(absl::StrCat("kernel '", result_.kernel, "': the search was cancelled"));
}

void SearchEngine::Fail(std::size_t index, FailureKind kind, std::string message) {
  failures_.emplace(index, Failure{planned_[index].config, kind, std::move(message)});
}

SearchEngine::Group* SearchEngine::Take(CompiledJob compiled, std::size_t index) {
  PlannedConfig& planned = planned_[index];
  for (std::size_t i = 0; i < compiled.passed_over.size(); ++i) {
    planned.passed_over.push_back(PassedOver{VariantName(planned.alternatives[i]), compiled.passed_over[i].message()});
  }
  Candidate& candidate = planned.alternatives[compiled.alternative];
  if (!compiled.artifact.ok()) {
    const std::string& message = compiled.artifact.status().message();
    bool has_others = !planned.passed_over.empty();
    if (has_others) planned.passed_over.push_back(PassedOver{VariantName(candidate), message});
    Fail(index, FailureKind::kCompile, has_others ? WhyPassedOver(planned.passed_over) : message);
    return nullptr;
  }
  for (const PassedOver& passed_over : planned.passed_over) {
    fallbacks_[index].push_back(VariantFallback{planned.config, VariantName(candidate), passed_over});
  }
  candidate.artifact = *std::move(compiled.artifact);
  if (!compiled.from_cache) {
    ++result_.cost.num_compiled;
    result_.cost.compile_seconds += candidate.artifact.seconds;
  }
  for (Group& group : groups_) {
    const Candidate& other = group.candidate;
    // One definition for both means that they get the same arguments.
    if (other.artifact.code_fingerprint == candidate.artifact.code_fingerprint &&
        other.geometry == candidate.geometry && other.definition == candidate.definition &&
        other.convention == candidate.convention) {
      group.members.push_back(index);
      std::sort(group.members.begin(), group.members.end());
      return nullptr;
    }
  }
  groups_.push_back(Group{std::move(candidate), {index}, std::nullopt});
  return &groups_.back();
}

Status SearchEngine::Measure(Group& group) {
  TUNEONCE_RETURN_IF_ERROR(CheckCancelled());
  {
    // One trial of the process at a time: two would time each other's kernels.
    static std::mutex* const one_at_a_time = new std::mutex;
    std::lock_guard<std::mutex> lock(*one_at_a_time);
    group.trial = runner_.Run(group.candidate);
  }
  Report(SearchProgress::Stage::kMeasure, ++num_measured_, planned_.size(), &group.candidate.config);
  return group.trial->fatal;
}

void SearchEngine::Collect() {
  std::map<std::size_t, Success> successes;
  std::map<std::size_t, Duplicate> duplicates;
  for (Group& group : groups_) {
    std::size_t representative = group.members.front();
    for (std::size_t member : group.members) {
      if (IsBaseline(planned_[member].config)) representative = member;
    }
    const Config& config = planned_[representative].config;
    for (std::size_t member : group.members) {
      if (member != representative) duplicates.emplace(member, Duplicate{planned_[member].config, config});
    }
    TrialResult& trial = *group.trial;
    if (trial.failure) {
      Fail(representative, trial.failure->kind, trial.failure->message);
      continue;
    }
    result_.cost.num_launches += trial.timed->num_launches;
    result_.cost.gpu_seconds += trial.timed->gpu_seconds;
    successes.emplace(representative,
                      Success{config, VariantName(group.candidate), trial.timed->measurement, group.candidate.geometry,
                              group.candidate.artifact.resources, std::move(trial.kernel)});
  }
  for (auto& [index, success] : successes) result_.successes.push_back(std::move(success));
  for (auto& [index, duplicate] : duplicates) result_.duplicates.push_back(std::move(duplicate));
  for (auto& [index, failure] : failures_) result_.failures.push_back(std::move(failure));
  for (auto& [index, fallbacks] : fallbacks_) {
    for (VariantFallback& fallback : fallbacks) result_.fallbacks.push_back(std::move(fallback));
  }
}

void SearchEngine::Choose() {
  std::vector<Success>& successes = result_.successes;  // Still in the space's order.
  auto mean = [](const Success& s) { return s.measurement.mean_us; };
  auto faster = [&](const Success& a, const Success& b) { return mean(a) < mean(b); };
  auto fastest = std::min_element(successes.begin(), successes.end(), faster);
  auto baseline =
      std::find_if(successes.begin(), successes.end(), [&](const Success& s) { return IsBaseline(s.config); });
  bool has_baseline = baseline != successes.end();
  auto best = std::find_if(successes.begin(), successes.end(), [&](const Success& s) {
    return mean(s) <= mean(*fastest) * (1 + kEpsilon) && (!has_baseline || mean(s) <= mean(*baseline));
  });
  if (has_baseline && mean(*fastest) > mean(*baseline) * (1 - options_.baseline_margin)) best = baseline;
  result_.best = *best;
  if (has_baseline) {
    result_.baseline = *baseline;
    // Both zero if the device's clock saw neither: equal then.
    result_.speedup_over_baseline = mean(*best) > 0 ? mean(*baseline) / mean(*best) : 1.0;
  }
  std::stable_sort(successes.begin(), successes.end(), faster);
  for (Success& success : successes) success.kernel = nullptr;  // Losers are unloaded here.
}

Status SearchEngine::AllFailed() const {
  // The same reason for many configs is said once.
  std::map<std::string, std::vector<std::string>> configs_by_reason;
  for (const Failure& failure : result_.failures) {
    std::string reason = absl::StrCat(std::string(FailureKindName(failure.kind)), ": ", failure.message);
    configs_by_reason[reason].push_back("{" + failure.config.ToString() + "}");
  }
  return InternalError(absl::StrCat(
      "kernel '", result_.kernel, "': all ", result_.failures.size(),
      " candidates failed: ", absl::StrJoin(configs_by_reason, "; ", [](std::string* out, const auto& entry) {
        absl::StrAppend(out, entry.first, " (", entry.second.front(),
                        entry.second.size() > 1 ? absl::StrCat(" and ", entry.second.size() - 1, " more") : "", ")");
      })));
}

}  // namespace tuneonce
