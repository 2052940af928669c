#include "tuned_run.h"

#include <chrono>

#include "runtime/tuned_kernel_on.h"
#include "tuneonce/autotune_observer.h"

namespace tuneonce::examples {
namespace {

using Clock = std::chrono::steady_clock;

struct KeepResult : AutotuneObserver {
  void OnTuned(const std::string&, const std::string&, const TuningResult& tuned) override { result = tuned; }
  TuningResult result;
};

}  // namespace

Result<std::int64_t> ElementCount(const std::vector<std::int64_t>& extents) {
  std::int64_t count = 1;
  constexpr std::int64_t kMost = std::int64_t{1} << 40;  // 4 TiB of float32: more than any device has.
  for (std::int64_t extent : extents) {
    if (__builtin_mul_overflow(count, extent, &count) || count > kMost) {
      return InvalidArgumentError("the shape is too large: a tensor would have more than 2^40 elements");
    }
  }
  return count;
}

Result<TunedRun> RunTuned(const KernelDefinition& definition, const Device& device, StreamView stream,
                          const std::vector<Argument>& arguments, AutotunePolicy policy,
                          const std::function<Status()>& after_first, const TunedKernel::Shape* warm_up) {
  auto observer = std::make_shared<KeepResult>();
  policy.observer = observer;
  policy.on_tune_error = AutotunePolicy::OnTuneError::kReturn;
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel kernel, TunedKernelOn::Create(device, definition, std::move(policy)));
  auto launch = [&] { return kernel.LaunchArguments(stream.get(), arguments.data(), arguments.size()); };
  TunedRun run;
  Clock::time_point start = Clock::now();
  TUNEONCE_RETURN_IF_ERROR(warm_up != nullptr ? kernel.Warmup(stream.get(), {*warm_up}) : launch());
  run.first_call_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  TUNEONCE_RETURN_IF_ERROR(stream.Synchronize());
  if (warm_up != nullptr) TUNEONCE_RETURN_IF_ERROR(launch());
  if (after_first) TUNEONCE_RETURN_IF_ERROR(after_first());
  constexpr int kHits = 10;
  start = Clock::now();
  for (int i = 0; i < kHits; ++i) TUNEONCE_RETURN_IF_ERROR(launch());
  run.hit_host_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count() / kHits;
  TUNEONCE_RETURN_IF_ERROR(stream.Synchronize());
  run.result = std::move(observer->result);
  return run;
}

}  // namespace tuneonce::examples
