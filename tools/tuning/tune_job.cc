#include "tuning/tune_job.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/number_text.h"
#include "base/short_list.h"
#include "console/numbers.h"
#include "cuda/driver_api.h"
#include "definition/fill_bytes.h"
#include "runtime/tuned_kernel_on.h"
#include "runtime/warmup_inputs.h"
#include "runtime/warmup_shape.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Lists the dims, and the parameters that a caller passes; those like `wanted` first.
std::string KnownNames(const KernelDefinition& definition, const std::string& wanted) {
  std::vector<std::string> known = definition.dims();
  for (const Parameter& parameter : definition.parameters()) {
    bool is_passed = parameter.kind == ParameterKind::kTensor || parameter.kind == ParameterKind::kScalar;
    if (is_passed) known.push_back(parameter.name);
  }
  return ShortList(std::move(known), wanted);
}

Status ApplyDType(const Parameter& parameter, const std::string& text, Bundle::Example* example) {
  std::optional<DType> dtype = DTypeNamed(text);
  if (!dtype) return InvalidArgumentError("--shape " + parameter.name + "=" + text + ": the dtype is unknown");
  if (parameter.dtype != DType::kAny && parameter.dtype != *dtype) {
    return InvalidArgumentError("--shape " + parameter.name + "=" + text + ": the bundle declares the dtype " +
                                std::string(DTypeName(parameter.dtype)));
  }
  example->dtypes[parameter.name] = *dtype;
  return Status();
}

/// Applies `shape` to the example: dims and tensors' dtypes. Scalars in it are added to `scalars`. Then each of the
/// definition's dims must have a value.
Status ApplyShape(const KernelDefinition& definition, const std::vector<std::string>& shape, Bundle::Example* example,
                  std::vector<std::string>* scalars) {
  TUNEONCE_ASSIGN_OR_RETURN(auto settings, ParseSettings(shape, "shape"));
  for (const auto& [name, text] : settings) {
    const std::vector<std::string>& dims = definition.dims();
    if (std::find(dims.begin(), dims.end(), name) != dims.end()) {
      std::optional<std::int64_t> extent = ParseNumber<std::int64_t>(text);
      if (!extent || *extent < 1) {
        return InvalidArgumentError("--shape " + name + "=" + text +
                                    ": the value must be a whole number from 1 to 2^63 - 1");
      }
      example->dims[name] = *extent;
      continue;
    }
    std::optional<std::size_t> index = definition.FindParameter(name);
    const ParameterKind kind = index ? definition.parameters()[*index].kind : ParameterKind::kDim;
    if (kind == ParameterKind::kTensor) {
      TUNEONCE_RETURN_IF_ERROR(ApplyDType(definition.parameters()[*index], text, example));
    } else if (kind == ParameterKind::kScalar) {
      scalars->push_back(name + "=" + text);
    } else {
      return InvalidArgumentError("the bundle has no dim, scalar or tensor '" + name +
                                  "'; it has: " + KnownNames(definition, name));
    }
  }
  for (const std::string& dim : definition.dims()) {
    if (example->dims.count(dim) == 0) {
      return InvalidArgumentError("the dim '" + dim + "' has no value: give --shape " + dim + "=...");
    }
  }
  return Status();
}

/// A scalar's value in a warm-up: exactly the number that was given.
Result<TunedKernel::Shape::Value> ScalarValue(const Parameter& parameter, const std::string& text) {
  auto parse = [&](auto value) -> Result<TunedKernel::Shape::Value> {
    using Number = decltype(value);
    if (std::optional<Number> parsed = ParseNumber<Number>(text)) return TunedKernel::Shape::Value(*parsed);
    return InvalidArgumentError("scalar '" + parameter.name + "': " + text + " is not a number that " +
                                std::string(DTypeName(parameter.dtype)) + " can represent");
  };
  switch (parameter.dtype) {
    case DType::kFloat8E4M3:
    case DType::kFloat8E5M2:
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat32:
      return parse(float{});
    case DType::kFloat64:
      return parse(double{});
    case DType::kInt8:
      return parse(std::int8_t{});
    case DType::kUInt8:
      return parse(std::uint8_t{});
    case DType::kInt16:
      return parse(std::int16_t{});
    case DType::kUInt16:
      return parse(std::uint16_t{});
    case DType::kInt32:
      return parse(std::int32_t{});
    case DType::kUInt32:
      return parse(std::uint32_t{});
    case DType::kInt64:
      return parse(std::int64_t{});
    case DType::kUInt64:
      return parse(std::uint64_t{});
    case DType::kBool:
      if (text == "0" || text == "1") return TunedKernel::Shape::Value(text == "1");
      return InvalidArgumentError("scalar '" + parameter.name + "': " + text + " must be 0 or 1");
    case DType::kAny:
      break;
  }
  return InternalError("scalar '" + parameter.name + "' has no dtype");
}

/// The values of `scalars`, else of the example, put behind the shape's; others are what the bundle declares.
Status AddScalars(const KernelDefinition& definition, const std::vector<std::string>& scalars,
                  const std::map<std::string, double>& example, TunedKernel::Shape* shape) {
  TUNEONCE_ASSIGN_OR_RETURN(auto settings, ParseSettings(scalars, "scalar"));
  for (const Parameter& parameter : definition.parameters()) {
    if (parameter.kind != ParameterKind::kScalar) continue;
    std::string text;
    if (auto value = example.find(parameter.name); value != example.end()) text = ShortestText(value->second);
    if (auto given = settings.find(parameter.name); given != settings.end()) {
      text = given->second;
      settings.erase(given);
    }
    if (text.empty()) continue;
    TUNEONCE_ASSIGN_OR_RETURN(TunedKernel::Shape::Value value, ScalarValue(parameter, text));
    shape->values.emplace_back(parameter.name, value);
  }
  if (settings.empty()) return Status();
  return InvalidArgumentError("the bundle has no scalar '" + settings.begin()->first + "'");
}

using Clock = std::chrono::steady_clock;

struct KeepRecord : AutotuneObserver {
  void OnTuned(const std::string&, const std::string&, const TuningRecord& tuned) override { record = tuned; }
  TuningRecord record;
};

}  // namespace

KernelDefinition Undecided(const Bundle& bundle) {
  KernelDefinition definition = bundle.definition();
  definition.ShippedSelections("");
  return definition;
}

Result<TuneJob> MakeTuneJob(const Bundle& bundle, const Device& device, const std::vector<std::string>& shape,
                            const std::vector<std::string>& scalars) {
  const KernelDefinition& definition = bundle.definition();
  Bundle::Example example = bundle.example();
  if (device.api().is_cpu_device()) {
    for (const auto& [dim, extent] : example.cpu_dims) example.dims[dim] = extent;
  }
  std::vector<std::string> all_scalars = scalars;
  TUNEONCE_RETURN_IF_ERROR(ApplyShape(definition, shape, &example, &all_scalars));
  TuneJob job;
  for (const std::string& dim : definition.dims()) {
    job.shape.values.emplace_back(dim, example.dims.at(dim));
    job.text += (job.text.empty() ? "" : ", ") + dim + "=" + std::to_string(example.dims.at(dim));
  }
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const Parameter& parameter = definition.parameters()[i];
    if (parameter.kind != ParameterKind::kTensor) continue;
    auto given = example.dtypes.find(parameter.name);
    const bool is_open = parameter.dtype == DType::kAny;
    const DType dtype = is_open && given != example.dtypes.end() ? given->second : DTypeUnlessSaid(definition, i);
    if (dtype == DType::kAny && parameter.same_dtype_as.empty()) {
      return InvalidArgumentError("the tensor '" + parameter.name +
                                  "' has no dtype: give --shape NAME=DTYPE, or add a dtype to the bundle's example");
    }
    if (dtype != DType::kAny) job.shape.values.emplace_back(parameter.name, dtype);
  }
  TUNEONCE_RETURN_IF_ERROR(AddScalars(definition, all_scalars, example.scalars, &job.shape));
  TUNEONCE_ASSIGN_OR_RETURN(InputShape inputs, ReadShape(definition, job.shape));
  job.inputs = std::make_shared<const InputShape>(std::move(inputs));
  return job;
}

Status CheckShape(const KernelDefinition& definition, const Target& target, const InputShape& inputs) {
  Problem problem;
  problem.dims = inputs.dims;
  problem.target = &target;
  problem.values = {};
  std::array<std::uint64_t, kMaxParameters> scalars{};
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const Parameter& parameter = definition.parameters()[i];
    problem.dtypes[i] = parameter.dtype;
    if (parameter.kind != ParameterKind::kScalar) continue;
    if (inputs.scalars[i]) {
      scalars[i] = *inputs.scalars[i];
    } else {
      TUNEONCE_ASSIGN_OR_RETURN(scalars[i], WarmupScalar(definition, parameter, inputs.dims));
    }
    problem.values[i] = &scalars[i];
  }
  const SearchSpace& space = definition.space();
  TUNEONCE_ASSIGN_OR_RETURN(const ConfigSet accepting, space.Configs(target, &problem));
  if (!accepting.empty()) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Config> configs, space.Enumerate(target, &problem));
  Status first;
  for (const Config& config : configs) {
    Status fits = space.CheckGuards(config, problem);
    if (fits.ok()) return fits;
    if (first.ok()) first = std::move(fits);
  }
  return first;
}

Result<TunedRun> RunTuned(const KernelDefinition& definition, const Device& device, StreamView stream,
                          const TunedKernel::Shape& shape, const std::vector<Argument>& arguments,
                          AutotunePolicy policy, bool continues) {
  auto observer = std::make_shared<KeepRecord>();
  policy.observer = observer;
  policy.on_tune_error = AutotunePolicy::OnTuneError::kReturn;
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel kernel, TunedKernelOn::Create(device, definition, std::move(policy)));
  auto launch = [&] { return kernel.Launch(stream.get(), arguments); };
  TunedRun run;
  TUNEONCE_ASSIGN_OR_RETURN(LaunchPlan before, kernel.Explain(stream.get(), shape));
  run.key = before.key;
  Clock::time_point start = Clock::now();
  TUNEONCE_RETURN_IF_ERROR(kernel.Warmup(stream.get(), {shape}));
  if (continues) TUNEONCE_RETURN_IF_ERROR(kernel.TunePending(stream.get()));
  run.first_call_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  TUNEONCE_RETURN_IF_ERROR(stream.Synchronize());
  TUNEONCE_RETURN_IF_ERROR(launch());
  constexpr int kHits = 10;
  start = Clock::now();
  for (int i = 0; i < kHits; ++i) TUNEONCE_RETURN_IF_ERROR(launch());
  run.hit_host_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count() / kHits;
  TUNEONCE_RETURN_IF_ERROR(stream.Synchronize());
  // A record that did not load is searched for after all, and another process may have tuned the key meanwhile.
  std::shared_ptr<const TuningRecord> stored = before.record;
  if (kernel.counters().tunes == 0 && stored == nullptr) {
    TUNEONCE_ASSIGN_OR_RETURN(LaunchPlan after, kernel.Explain(stream.get(), shape));
    stored = after.record;
  }
  run.is_from_store = kernel.counters().tunes == 0 && stored != nullptr;
  run.record = run.is_from_store ? *stored : std::move(observer->record);
  return run;
}

Result<BundleReport> TuneBundle(const Bundle& bundle, const Device& device, const std::vector<std::string>& shape,
                                const std::vector<std::string>& scalars, AutotunePolicy policy, bool continues) {
  const KernelDefinition definition = Undecided(bundle);
  TUNEONCE_ASSIGN_OR_RETURN(TuneJob job, MakeTuneJob(bundle, device, shape, scalars));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  TUNEONCE_RETURN_IF_ERROR(CheckShape(definition, Target::Of(identity), *job.inputs));
  TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
  ScopedContext current(context.view());
  TUNEONCE_RETURN_IF_ERROR(current.status());
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
  TUNEONCE_ASSIGN_OR_RETURN(WarmupInputs inputs, WarmupInputs::Create(definition, *job.inputs, stream.view()));
  BundleReport report;
  report.device_name = identity.name;
  report.driver_version = identity.driver_version;
  report.shape = job.text;
  TUNEONCE_ASSIGN_OR_RETURN(report.run, RunTuned(definition, device, stream.view(), job.shape, inputs.arguments(),
                                                 std::move(policy), continues));
  return report;
}

}  // namespace v0
}  // namespace tuneonce
