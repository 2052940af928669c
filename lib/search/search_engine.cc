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

Result<TuningResult> SearchEngine::Run(std::vector<Candidate> candidates) {
  auto start = std::chrono::steady_clock::now();
  CompileAll(candidates);
  result_.cost.compile_seconds = SecondsSince(start);
  TakeDuplicates(candidates);
  Status measured = MeasureAll(candidates);
  Report(SearchProgress::Stage::kDone, 0, 0, nullptr);
  TUNEONCE_RETURN_IF_ERROR(measured);
  if (result_.successes.empty()) return AllFailed();
  Choose();
  result_.cost.wall_seconds = SecondsSince(start);
  return std::move(result_);
}

void SearchEngine::CompileAll(std::vector<Candidate>& candidates) {
  std::vector<Candidate> compiled;
  int done = 0;
  for (Candidate& candidate : candidates) {
    Result<const Toolchain*> toolchain = toolchains_.For(candidate.source.kind);
    Result<Artifact> artifact = toolchain.ok() ? (*toolchain)->Compile(candidate.source, candidate.hints, target_)
                                               : Result<Artifact>(toolchain.status());
    Report(SearchProgress::Stage::kCompile, ++done, candidates.size(), &candidate.config);
    if (!artifact.ok()) {
      result_.failures.push_back(Failure{candidate.config, FailureKind::kCompile, artifact.status().message()});
      continue;
    }
    candidate.artifact = *std::move(artifact);
    compiled.push_back(std::move(candidate));
  }
  candidates = std::move(compiled);
}

void SearchEngine::TakeDuplicates(std::vector<Candidate>& candidates) {
  // One definition for both means that they get the same arguments.
  auto same = [](const Candidate& a, const Candidate& b) {
    return a.artifact.code_fingerprint == b.artifact.code_fingerprint && a.geometry == b.geometry &&
           a.definition == b.definition;
  };
  auto baseline =
      std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& c) { return IsBaseline(c.config); });
  std::vector<Candidate> kept;
  for (Candidate& candidate : candidates) {
    const Candidate* original = nullptr;
    if (baseline != candidates.end() && &candidate != &*baseline && same(candidate, *baseline)) {
      original = &*baseline;
    } else if (auto it = std::find_if(kept.begin(), kept.end(), [&](const Candidate& k) { return same(candidate, k); });
               it != kept.end()) {
      original = &*it;
    }
    if (original != nullptr) {
      result_.duplicates.push_back(Duplicate{candidate.config, original->config});
    } else {
      kept.push_back(candidate);
    }
  }
  candidates = std::move(kept);
}

Status SearchEngine::MeasureAll(const std::vector<Candidate>& candidates) {
  // One search of the process measures at a time: two would time each other's kernels.
  static std::mutex* const one_at_a_time = new std::mutex;
  std::lock_guard<std::mutex> lock(*one_at_a_time);
  int done = 0;
  for (const Candidate& candidate : candidates) {
    TrialResult trial = runner_.Run(candidate);
    Report(SearchProgress::Stage::kMeasure, ++done, candidates.size(), &candidate.config);
    if (!trial.fatal.ok()) return trial.fatal;
    if (trial.failure) {
      result_.failures.push_back(*trial.failure);
      continue;
    }
    result_.cost.num_launches += trial.timed->num_launches;
    result_.cost.gpu_seconds += trial.timed->gpu_seconds;
    result_.successes.push_back(Success{candidate.config, trial.timed->measurement, candidate.geometry, trial.kernel});
  }
  return Status();
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
