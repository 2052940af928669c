// RunExample: the main job, step by step.
#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include "example.h"
#include "launch/call_binder.h"
#include "tuned_run.h"
#include "tuneonce/context.h"
#include "tuneonce/device_buffer.h"
#include "tuneonce/stream.h"

namespace tuneonce::examples {
namespace {

/// One tensor parameter of the example: on the host, on the device, and as what the reference says.
struct Tensor {
  const Parameter* parameter;
  std::vector<float> host;
  std::optional<DeviceBuffer> device;
  TensorView view;
};

Result<std::vector<Tensor>> MakeTensors(const KernelDefinition& definition, const Shape& shape, StreamView stream) {
  std::vector<Tensor> tensors;
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  for (const Parameter& parameter : definition.parameters()) {
    if (parameter.kind != ParameterKind::kTensor) continue;
    std::vector<std::int64_t> extents;
    for (const std::string& dim : parameter.dims) {
      extents.push_back(
          std::find_if(shape.begin(), shape.end(), [&](const auto& e) { return e.first == dim; })->second);
    }
    Tensor tensor;
    tensor.parameter = &parameter;
    TUNEONCE_ASSIGN_OR_RETURN(std::int64_t count, ElementCount(extents));
    std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer buffer,
                              DeviceBuffer::Allocate(stream, bytes));  // Fails before the host does.
    tensor.host.resize(static_cast<std::size_t>(count));
    for (float& value : tensor.host) value = uniform(random);
    TUNEONCE_RETURN_IF_ERROR(buffer.CopyFromHost(tensor.host.data(), bytes));
    tensor.view =
        TensorView::Contiguous(buffer.data(), DType::kFloat32, extents.data(), static_cast<int>(extents.size()));
    tensor.device.emplace(std::move(buffer));
    tensors.push_back(std::move(tensor));
  }
  TUNEONCE_RETURN_IF_ERROR(stream.Synchronize());
  return tensors;
}

/// Largest |got - expected| / (1 + |expected|); infinite for a NaN.
double LargestError(const std::vector<float>& got, const std::vector<float>& expected) {
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    double error =
        std::fabs(static_cast<double>(got[i]) - expected[i]) / (1 + std::fabs(static_cast<double>(expected[i])));
    largest = std::isnan(error) ? HUGE_VAL : std::max(largest, error);
  }
  return largest;
}

/// Compares every output on the device with what the reference says after `num_launches`.
Result<double> CheckOutputs(const Example& example, const Dims& dims, int num_launches, std::vector<Tensor>& tensors,
                            StreamView stream) {
  std::vector<std::vector<float>> expected;
  for (const Tensor& tensor : tensors) expected.push_back(tensor.host);
  for (int i = 0; i < num_launches; ++i) example.reference(dims, expected);
  double largest = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::vector<float> got(tensors[i].host.size());
    TUNEONCE_RETURN_IF_ERROR(tensors[i].device->CopyToHost(got.data(), got.size() * sizeof(float)));
    TUNEONCE_RETURN_IF_ERROR(stream.Synchronize());
    // Inputs too: a kernel must not have written them.
    largest = std::max(largest, LargestError(got, expected[i]));
  }
  if (!(largest <= example.tolerance)) {
    return InternalError("the output of " + example.name + " is wrong: largest relative error " +
                         std::to_string(largest) + ", tolerance " + std::to_string(example.tolerance));
  }
  return largest;
}

}  // namespace

Result<ExampleReport> RunExample(const Example& example, const Device& device, const Shape& shape,
                                 AutotunePolicy policy) {
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
  ScopedContext current(context.view());
  TUNEONCE_RETURN_IF_ERROR(current.status());
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));

  KernelDefinition definition = example.define();
  TUNEONCE_RETURN_IF_ERROR(definition.Validate());
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Tensor> tensors, MakeTensors(definition, shape, stream.view()));
  std::vector<Argument> arguments;
  for (const Tensor& tensor : tensors) arguments.emplace_back(tensor.view);
  for (const float& scalar : example.scalars) arguments.emplace_back(scalar);
  BoundCall call;
  TUNEONCE_RETURN_IF_ERROR(CallBinder(definition).Bind(arguments.data(), arguments.size(), &call));

  ExampleReport report;
  report.device_name = identity.name;
  report.shape = definition.DimsString(call.problem.dims);
  int num_launches = 0;
  if (example.fixed_launch_first) {
    AutotunePolicy fixed;
    fixed.mode = AutotunePolicy::Mode::kBaselineOnly;
    TUNEONCE_ASSIGN_OR_RETURN(TunedKernel kernel, TunedKernel::Create(definition, device, fixed));
    TUNEONCE_RETURN_IF_ERROR(kernel.LaunchArguments(stream.get(), arguments.data(), arguments.size()));
    TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
    ++num_launches;
  }
  ++num_launches;
  auto check = [&]() -> Status {
    TUNEONCE_ASSIGN_OR_RETURN(report.max_error,
                              CheckOutputs(example, call.problem.dims, num_launches, tensors, stream.view()));
    return Status();
  };
  TUNEONCE_ASSIGN_OR_RETURN(TunedRun run, RunTuned(definition, device, stream.view(), arguments, policy, check));
  report.hit_host_us = run.hit_host_us;
  report.result = std::move(run.result);
  return report;
}

}  // namespace tuneonce::examples
