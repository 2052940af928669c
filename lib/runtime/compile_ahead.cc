#include "runtime/compile_ahead.h"

#include <chrono>
#include <iterator>
#include <utility>

#include "base/callback.h"

namespace tuneonce {
inline namespace v0 {

void CompileAhead::Add(const std::shared_ptr<Runtime>& runtime, std::vector<CompileJob> jobs) {
  if (jobs.empty()) return;
  Jobs& of_runtime = jobs_[runtime];
  of_runtime.fallbacks.push_back(std::move(jobs.front()));
  std::move(std::next(jobs.begin()), jobs.end(), std::back_inserter(of_runtime.candidates));
}

void CompileAhead::Start(const Target& target, const CompileOptions& options) {
  for (auto& [runtime, of_runtime] : jobs_) {
    std::vector<CompileJob> all = std::move(of_runtime.fallbacks);
    std::move(of_runtime.candidates.begin(), of_runtime.candidates.end(), std::back_inserter(all));
    num_jobs_ += static_cast<int>(all.size());
    CompileOptions of_pool = options;
    of_pool.cache = runtime->memory_store();  // Unused, because each job has its own cache.
    pools_.emplace_back(runtime->compile_slots(), runtime->toolchains(), target, std::move(all), of_pool,
                        &runtime->trace());
  }
  jobs_.clear();
}

void CompileAhead::Wait(const ProgressCallback& on_progress) {
  const auto start = std::chrono::steady_clock::now();
  SearchProgress progress;
  progress.total = num_jobs_;
  progress.kernel = "all kernels";
  for (CompilePool& pool : pools_) {
    while (pool.Next()) {
      ++progress.done;
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      progress.seconds_left = spent.count() / progress.done * (progress.total - progress.done);
      TellProgress(on_progress, progress);
    }
  }
}

}  // namespace v0
}  // namespace tuneonce
