#include "tune_bundle.h"

#include <utility>

#include "runtime/warmup_inputs.h"
#include "tune_job.h"
#include "tuned_run.h"
#include "tuneonce/context.h"
#include "tuneonce/stream.h"

namespace tuneonce::cli {

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
