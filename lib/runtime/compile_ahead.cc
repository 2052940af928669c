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

const CompileJob::Alternative* FirstOf(const CompileJob& job) {
  return job.alternatives.empty() ? nullptr : &job.alternatives.front();
}

double SourceSize(const CompileJob& job) {
  const CompileJob::Alternative* first = FirstOf(job);
  return first == nullptr ? 0 : static_cast<double>(first->source.content().size());
}

}  // namespace

void CompileAhead::MoveLongToFront(int num_workers, std::vector<Job>* jobs) {
  // A quarter of a worker's part of all work. With less, keys whose code is compiled soon come too late.
  constexpr double kLong = 0.25;
  std::set<std::pair<Fingerprint, Fingerprint>> counted;
  double total = 0;
  for (const Job& each : *jobs) {
    const CompileJob::Alternative* first = FirstOf(each.job);
    const bool counts =
        first != nullptr && counted.emplace(first->source.Fingerprint(), first->hints.Fingerprint()).second;
    if (counts) total += SourceSize(each.job);
  }
  const double longest_short = kLong * total / num_workers;
  const auto end_of_long = std::stable_partition(jobs->begin(), jobs->end(),
                                                 [&](const Job& each) { return SourceSize(each.job) > longest_short; });
  std::stable_sort(jobs->begin(), end_of_long,
                   [](const Job& a, const Job& b) { return SourceSize(a.job) > SourceSize(b.job); });
}

std::size_t CompileAhead::Add(const std::shared_ptr<Runtime>& runtime, KeyJobs jobs) {
  const std::size_t key = left_.size();
  left_.push_back({jobs.fallback ? std::size_t{1} : 0, jobs.candidates.size()});
  Jobs& of_runtime = jobs_[runtime];
  if (jobs.fallback) of_runtime.fallbacks.push_back({key, *std::move(jobs.fallback)});
  for (CompileJob& job : jobs.candidates) of_runtime.candidates.push_back({key, std::move(job)});
  return key;
}

void CompileAhead::Start(const Target& target, const CompileOptions& options) {
  for (auto& [runtime, of_runtime] : jobs_) {
    std::vector<CompileJob> all;
    Pool& pool = pools_.emplace_back();
    pool.num_fallbacks = of_runtime.fallbacks.size();
    for (std::vector<Job>* list : {&of_runtime.fallbacks, &of_runtime.candidates}) {
      if (options.total_timeout.count() == 0) {
        MoveLongToFront(CompilePool::WorkersFor(runtime->compile_slots(), options), list);
      }
      for (Job& each : *list) {
        all.push_back(std::move(each.job));
        pool.keys.push_back(each.key);
      }
    }
    CompileOptions of_pool = options;
    of_pool.cache = runtime->memory_store();  // Unused, because each job has its own cache.
    pool.pool = std::make_unique<CompilePool>(runtime->compile_slots(), runtime->toolchains(), target, std::move(all),
                                              of_pool, &runtime->trace());
  }
  jobs_.clear();
}

void CompileAhead::NoteEnd(const Pool& pool, std::size_t job) {
  Left& left = left_[pool.keys[job]];
  --(job < pool.num_fallbacks ? left.fallbacks : left.candidates);
}

void CompileAhead::Wait(const ProgressCallback& on_progress) {
  const auto start = std::chrono::steady_clock::now();
  SearchProgress progress;
  for (const Left& left : left_) progress.total += static_cast<int>(left.fallbacks + left.candidates);
  progress.kernel = "all kernels";
  for (Pool& each : pools_) {
    while (const std::optional<CompiledJob> ended = each.pool->Next()) {
      NoteEnd(each, ended->job);
      ++progress.done;
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      progress.seconds_left = spent.count() / progress.done * (progress.total - progress.done);
      TellProgress(on_progress, progress);
    }
  }
}

bool CompileAhead::WaitForOne() {
  for (Pool& each : pools_) {
    const std::optional<CompiledJob> ended = each.pool->Next();
    if (!ended) continue;
    NoteEnd(each, ended->job);
    return true;
  }
  return false;
}

void CompileAhead::Update() {
  for (Pool& each : pools_) {
    while (const std::optional<CompiledJob> ended = each.pool->Poll()) NoteEnd(each, ended->job);
  }
}

}  // namespace v0
}  // namespace tuneonce
