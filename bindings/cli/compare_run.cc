// tuneonce compare, of two bundles, back ends or results
#include "compare_run.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "report/config_json.h"
#include "report/records_json.h"
#include "report_page/report_data.h"
#include "runtime/warmup_inputs.h"
#include "tune_shapes.h"
#include "tuneonce/bundle.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce::cli {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;

/// Returns the one record of a file.
Result<TuningRecord> ReadResult(const std::string& path) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string content, ReadFile(path, kMostBytes));
  Result<std::vector<TuningRecord>> records = RecordsFromJson(content);
  if (!records.ok()) return records.status().WithPrefix(path);
  if (records->size() != 1) {
    return InvalidArgumentError(absl::StrCat(path, " has ", records->size(),
                                             " records, where a result of tuneonce tune --json has one: compare two "
                                             "stores instead"));
  }
  const Measurement& measured = records->front().best.measurement;
  if (!(measured.mean_us > 0)) return InvalidArgumentError(path + " has no time of the selected config");
  if (!measured.error_margin_us || !(*measured.error_margin_us >= 0)) {
    return InvalidArgumentError(
        path + " has a time without an interval, since it comes from one sample: compare bundles instead");
  }
  return std::move(records->front());
}

ComparedSide SideOf(const TuningRecord& record) {
  ComparedSide side;
  side.config = ConfigJson(record.best.config);
  side.variant = record.best.variant;
  side.measurement = record.best.measurement;
  return side;
}

ComparedKernel KernelOf(const Bundle& bundle, const std::string& backend) {
  return {std::make_shared<const KernelDefinition>(Undecided(bundle)), backend};
}

/// Shapes of A.
Result<std::vector<WantedShape>> ShapesOf(const CompareOperand& a, const Bundle& bundle, const Device& device,
                                          const CompareOptions& options) {
  if (!options.shapes.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(WantedShapes wanted, ReadShapes(options.shapes, a.bundle, device, options.shape,
                                                              options.scalars, options.search.runtime));
    return std::move(wanted.shapes);
  }
  WantedShape one;
  TUNEONCE_ASSIGN_OR_RETURN(one.job, MakeTuneJob(bundle, device, options.shape, options.scalars));
  return std::vector<WantedShape>{std::move(one)};
}

}  // namespace

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

Result<CompareReport> CompareResults(const std::string& a, const std::string& b) {
  TUNEONCE_ASSIGN_OR_RETURN(TuningRecord of_a, ReadResult(a));
  TUNEONCE_ASSIGN_OR_RETURN(TuningRecord of_b, ReadResult(b));
  if (of_a.key.device_name != of_b.key.device_name) {
    return InvalidArgumentError("A was measured on " + of_a.key.device_name + ", and B on " + of_b.key.device_name);
  }
  if (of_a.tuned_at != of_b.tuned_at) {
    return InvalidArgumentError("A has the shape " + of_a.tuned_at + ", and B has " + of_b.tuned_at);
  }
  ComparedShape shape;
  shape.kernel = of_b.key.kernel;
  shape.shape = of_b.tuned_at;
  shape.speedup = SpeedupOf(of_a.best.measurement, of_b.best.measurement);
  shape.verdict = VerdictOf(*shape.speedup);
  shape.is_conclusive = IsConclusive(*shape.speedup);
  shape.timer = of_b.timer;
  shape.a = SideOf(of_a);
  shape.b = SideOf(of_b);
  shape.notes.emplace_back(
      "nothing was run: the verdict uses the times in the two results, which may differ by more than their intervals; "
      "outputs were not compared");
  if (of_a.key.kernel != of_b.key.kernel) {
    shape.notes.push_back("A is '" + of_a.key.kernel + "', and B is '" + of_b.key.kernel + "'");
  }
  if (of_a.timer != of_b.timer) shape.notes.push_back("A was timed by " + of_a.timer + ", and B by " + of_b.timer);
  CompareReport report{a, b, of_b.key.device_name, {}};
  report.shapes.push_back(std::move(shape));
  return report;
}

Result<CompareReport> CompareBundles(const CompareOperand& a, const CompareOperand& b, const Device& device,
                                     const CompareOptions& options) {
  TUNEONCE_ASSIGN_OR_RETURN(Bundle bundle, Bundle::Load(a.bundle, options.search.runtime));
  const ComparedKernel of_a = KernelOf(bundle, a.backend);
  ComparedKernel of_b{of_a.definition, b.backend};  // Both have one definition, so that equal code is recognized.
  if (b.bundle != a.bundle) {
    TUNEONCE_ASSIGN_OR_RETURN(Bundle other, Bundle::Load(b.bundle, options.search.runtime));
    of_b = KernelOf(other, b.backend);
  }
  TUNEONCE_RETURN_IF_ERROR(CheckSameSignature(*of_a.definition, *of_b.definition));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<WantedShape> shapes, ShapesOf(a, bundle, device, options));
  TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<CompareRun> run, CompareRun::Create(device, options));
  CompareReport report{a.text, b.text, run->identity().name, {}};
  for (const WantedShape& wanted : shapes) {
    if (wanted.wrong.ok()) {
      report.shapes.push_back(run->At(of_a, of_b, wanted.job));
    } else {
      report.shapes.emplace_back();
      report.shapes.back().kernel = of_a.definition->name();
      report.shapes.back().shape = "line " + std::to_string(wanted.line);
      report.shapes.back().status = wanted.wrong;
    }
    TUNEONCE_RETURN_IF_ERROR(run->CheckInterrupted());
  }
  return report;
}

}  // namespace tuneonce::cli
