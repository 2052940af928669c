#include "tune_bundle.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "runtime/tuned_kernel_on.h"
#include "runtime/warmup_inputs.h"
#include "tune_job.h"
#include "tuneonce/autotune_observer.h"
#include "tuneonce/context.h"
#include "tuneonce/stream.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct KeepRecord : AutotuneObserver {
  void OnTuned(const std::string&, const std::string&, const TuningRecord& tuned) override { record = tuned; }
  TuningRecord record;
};

}  // namespace

Result<TunedRun> RunTuned(const KernelDefinition& definition, const Device& device, StreamView stream,
                          const TunedKernel::Shape& shape, const std::vector<Argument>& arguments,
                          AutotunePolicy policy) {
  auto observer = std::make_shared<KeepRecord>();
  policy.observer = observer;
  policy.on_tune_error = AutotunePolicy::OnTuneError::kReturn;
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel kernel, TunedKernelOn::Create(device, definition, std::move(policy)));
  auto launch = [&] { return kernel.LaunchArguments(stream.get(), arguments.data(), arguments.size()); };
  TunedRun run;
  TUNEONCE_ASSIGN_OR_RETURN(LaunchPlan before, kernel.Explain(stream.get(), shape));
  run.key = before.key;
  Clock::time_point start = Clock::now();
  TUNEONCE_RETURN_IF_ERROR(kernel.Warmup(stream.get(), {shape}));
  run.first_call_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  TUNEONCE_RETURN_IF_ERROR(stream.Synchronize());
  TUNEONCE_RETURN_IF_ERROR(launch());
  constexpr int kHits = 10;
  start = Clock::now();
  for (int i = 0; i < kHits; ++i) TUNEONCE_RETURN_IF_ERROR(launch());
  run.hit_host_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count() / kHits;
  TUNEONCE_RETURN_IF_ERROR(stream.Synchronize());
  // A record that did not load is searched for after all.
  run.is_from_store = kernel.counters().tunes == 0 && before.record != nullptr;
  run.record = run.is_from_store ? *before.record : std::move(observer->record);
  return run;
}

Result<BundleReport> TuneBundle(const Bundle& bundle, const Device& device, const std::vector<std::string>& shape,
                                const std::vector<std::string>& scalars, AutotunePolicy policy) {
  const KernelDefinition definition = Undecided(bundle);
  TUNEONCE_ASSIGN_OR_RETURN(TuneJob job, MakeTuneJob(bundle, device, shape, scalars));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  TUNEONCE_RETURN_IF_ERROR(CheckShape(definition, Target::Of(identity), job.inputs));
  TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
  ScopedContext current(context.view());
  TUNEONCE_RETURN_IF_ERROR(current.status());
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
  TUNEONCE_ASSIGN_OR_RETURN(WarmupInputs inputs, WarmupInputs::Create(definition, job.inputs, stream.view()));
  BundleReport report;
  report.device_name = identity.name;
  report.driver_version = identity.driver_version;
  report.shape = job.text;
  TUNEONCE_ASSIGN_OR_RETURN(
      report.run, RunTuned(definition, device, stream.view(), job.shape, inputs.arguments(), std::move(policy)));
  return report;
}

}  // namespace tuneonce::cli
