#include "runtime/compile_ahead.h"

#include <chrono>
#include <numeric>
#include <optional>
#include <utility>

#include "base/callback.h"

namespace tuneonce {
inline namespace v0 {

std::size_t CompileAhead::Add(const std::shared_ptr<Runtime>& runtime, std::vector<CompileJob> jobs) {
  const std::size_t key = num_left_.size();
  num_left_.push_back(jobs.size());
  Jobs& of_runtime = jobs_[runtime];
  for (CompileJob& job : jobs) {
    std::vector<Job>& list = &job == jobs.data() ? of_runtime.fallbacks : of_runtime.candidates;
    list.push_back({key, std::move(job)});
  }
  return key;
}

void CompileAhead::Start(const Target& target, const CompileOptions& options) {
  for (auto& [runtime, of_runtime] : jobs_) {
    std::vector<CompileJob> all;
    std::vector<std::size_t> keys;
    for (std::vector<Job>* list : {&of_runtime.fallbacks, &of_runtime.candidates}) {
      for (Job& each : *list) {
        all.push_back(std::move(each.job));
        keys.push_back(each.key);
      }
    }
    CompileOptions of_pool = options;
    of_pool.cache = runtime->memory_store();  // Unused, because each job has its own cache.
    pools_.push_back({std::make_unique<CompilePool>(runtime->compile_slots(), runtime->toolchains(), target,
                                                    std::move(all), of_pool, &runtime->trace()),
                      std::move(keys)});
  }
  jobs_.clear();
}

void CompileAhead::Wait(const ProgressCallback& on_progress) {
  const auto start = std::chrono::steady_clock::now();
  SearchProgress progress;
  progress.total = static_cast<int>(std::accumulate(num_left_.begin(), num_left_.end(), std::size_t{0}));
  progress.kernel = "all kernels";
  for (Pool& each : pools_) {
    while (const std::optional<CompiledJob> ended = each.pool->Next()) {
      --num_left_[each.keys[ended->job]];
      ++progress.done;
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      progress.seconds_left = spent.count() / progress.done * (progress.total - progress.done);
      TellProgress(on_progress, progress);
    }
  }
}

void CompileAhead::Update() {
  for (Pool& each : pools_) {
    while (const std::optional<CompiledJob> ended = each.pool->Poll()) --num_left_[each.keys[ended->job]];
  }
}

}  // namespace v0
}  // namespace tuneonce
