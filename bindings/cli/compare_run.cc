#include "compare_run.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "report_page/report_data.h"
#include "runtime/warmup_inputs.h"

namespace tuneonce::cli {

const char* KindName(CompareOperand::Kind kind) {
  switch (kind) {
    case CompareOperand::Kind::kStore:
      return "a store";
    case CompareOperand::Kind::kResult:
      return "a result";
    case CompareOperand::Kind::kBundle:
      break;
  }
  return "a bundle";
}

Result<CompareOperand> ReadOperand(const std::string& text) {
  CompareOperand operand;
  operand.text = operand.bundle = text;
  std::error_code error;  // A file that cannot be read does not count as a file.
  if (std::filesystem::is_regular_file(text, error)) {
    operand.kind = report::IsSqliteFile(text) ? CompareOperand::Kind::kStore : CompareOperand::Kind::kResult;
    return operand;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || std::filesystem::is_directory(text, error)) return operand;
  operand.bundle = text.substr(0, colon);
  operand.backend = text.substr(colon + 1);
  if (!operand.bundle.empty() && !operand.backend.empty()) return operand;
  return InvalidArgumentError("'" + text + "' is not a bundle with a back end: write it as matmul:tile");
}

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
