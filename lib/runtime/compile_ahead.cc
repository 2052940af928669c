#include "runtime/compile_ahead.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "base/callback.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::size_t SourceSize(const CompileJob& job) {
  return job.alternatives.empty() ? 0 : job.alternatives.front().source.content().size();
}

}  // namespace

void CompileAhead::MoveLongToFront(std::vector<Job>* jobs) {
  std::set<std::pair<Fingerprint, Fingerprint>> distinct;
  std::size_t total = 0;
  for (const Job& each : *jobs) {
    if (each.job.alternatives.empty()) continue;
    const CompileJob::Alternative& first = each.job.alternatives.front();
    const bool is_new = distinct.emplace(first.source.Fingerprint(), first.hints.Fingerprint()).second;
    if (is_new) total += SourceSize(each.job);
  }
  const auto size_if_long = [&](const Job& each) {
    const std::size_t size = SourceSize(each.job);
    return size * distinct.size() > 2 * total ? size : 0;
  };
  std::stable_sort(jobs->begin(), jobs->end(),
                   [&](const Job& a, const Job& b) { return size_if_long(a) > size_if_long(b); });
}

std::size_t CompileAhead::Add(const std::shared_ptr<Runtime>& runtime, KeyJobs jobs) {
  const std::size_t key = num_candidates_left_.size();
  num_candidates_left_.push_back(jobs.candidates.size());
  Jobs& of_runtime = jobs_[runtime];
  if (jobs.fallback) of_runtime.fallbacks.push_back({key, *std::move(jobs.fallback)});
  for (CompileJob& job : jobs.candidates) of_runtime.candidates.push_back({key, std::move(job)});
  return key;
}

void CompileAhead::Start(const Target& target, const CompileOptions& options) {
  for (auto& [runtime, of_runtime] : jobs_) {
    std::vector<CompileJob> all;
    Pool pool;
    for (std::vector<Job>* list : {&of_runtime.fallbacks, &of_runtime.candidates}) {
      if (options.total_timeout.count() == 0) MoveLongToFront(list);
      const bool is_of_candidates = list == &of_runtime.candidates;
      for (Job& each : *list) {
        all.push_back(std::move(each.job));
        pool.keys.push_back(is_of_candidates ? std::optional(each.key) : std::nullopt);
      }
    }
    CompileOptions of_pool = options;
    of_pool.cache = runtime->memory_store();  // Unused, because each job has its own cache.
    pool.pool = std::make_unique<CompilePool>(runtime->compile_slots(), runtime->toolchains(), target, std::move(all),
                                              of_pool, &runtime->trace());
    pool.num_left = pool.keys.size();
    pools_.push_back(std::move(pool));
  }
  jobs_.clear();
}

void CompileAhead::NoteEnd(std::size_t job, Pool* pool) {
  --pool->num_left;
  if (pool->keys[job]) --num_candidates_left_[*pool->keys[job]];
}

void CompileAhead::Wait(const ProgressCallback& on_progress) {
  const auto start = std::chrono::steady_clock::now();
  SearchProgress progress;
  for (const Pool& each : pools_) progress.total += static_cast<int>(each.num_left);
  progress.kernel = "all kernels";
  for (Pool& each : pools_) {
    while (const std::optional<CompiledJob> ended = each.pool->Next()) {
      NoteEnd(ended->job, &each);
      ++progress.done;
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      progress.seconds_left = spent.count() / progress.done * (progress.total - progress.done);
      TellProgress(on_progress, progress);
    }
  }
}

void CompileAhead::Update() {
  for (Pool& each : pools_) {
    while (const std::optional<CompiledJob> ended = each.pool->Poll()) NoteEnd(ended->job, &each);
  }
}

}  // namespace v0
}  // namespace tuneonce
