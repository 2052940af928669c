#include "compare_run.h"

#include <utility>

#include "runtime/warmup_inputs.h"

namespace tuneonce::cli {

CompareRun::CompareRun(Context context, DeviceIdentity identity, const CompareOptions& options)
    : context_(std::move(context)), current_(context_.view()), identity_(std::move(identity)), options_(options) {}

Result<std::unique_ptr<CompareRun>> CompareRun::Create(const Device& device, const CompareOptions& options) {
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
  std::unique_ptr<CompareRun> run(new CompareRun(std::move(context), std::move(identity), options));
  TUNEONCE_RETURN_IF_ERROR(run->current_.status());
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
  run->stream_.emplace(std::move(stream));
  return run;
}

ComparedShape CompareRun::At(const ComparedKernel& a, const ComparedKernel& b, const TuneJob& job) const {
  auto compared = [&]() -> Result<KernelComparison> {
    TUNEONCE_ASSIGN_OR_RETURN(WarmupInputs inputs, WarmupInputs::Create(*a.definition, job.inputs, stream()));
    return CompareKernels(a, b, stream(), inputs.arguments(), options_.search);
  }();
  ComparedShape shape;
  if (compared.ok()) shape = ComparedShape::Of(*compared);
  shape.status = compared.status();
  shape.kernel = a.definition->name();
  shape.shape = job.text;
  return shape;
}

Status CompareRun::CheckInterrupted() const {
  const bool is_interrupted = options_.search.cancelled != nullptr && options_.search.cancelled->load();
  return is_interrupted ? CancelledError("interrupted before a verdict was reached") : Status();
}

}  // namespace tuneonce::cli
