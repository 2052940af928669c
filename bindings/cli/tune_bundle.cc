#include "tune_bundle.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "tuned_run.h"
#include "tuneonce/cuda/context.h"
#include "tuneonce/cuda/device_buffer.h"
#include "tuneonce/cuda/stream.h"

namespace tuneonce::cli {
namespace {

/// "M=4096" as its two parts.
Result<std::pair<std::string, double>> Setting(const std::string& text) {
  std::size_t equals = text.find('=');
  char* end = nullptr;
  double value = equals == std::string::npos ? 0 : std::strtod(text.c_str() + equals + 1, &end);
  if (equals == std::string::npos || equals + 1 == text.size() || *end != '\0') {
    return InvalidArgumentError("'" + text + "' is not NAME=NUMBER");
  }
  return std::pair<std::string, double>(text.substr(0, equals), value);
}

Status Apply(const KernelDefinition& definition, const std::vector<std::string>& shape,
             const std::vector<std::string>& scalars, Bundle::Example* example) {
  auto is_dim = [&](const std::string& name) {
    for (const std::string& dim : definition.dims()) {
      if (dim == name) return true;
    }
    return false;
  };
  for (const std::string& text : shape) {
    TUNEONCE_ASSIGN_OR_RETURN(auto setting, Setting(text));
    auto extent = static_cast<std::int64_t>(setting.second);
    if (!is_dim(setting.first)) return InvalidArgumentError("the bundle has no dim '" + setting.first + "'");
    if (extent < 1 || static_cast<double>(extent) != setting.second) {
      return InvalidArgumentError("'" + text + "': a dim is a positive whole number");
    }
    example->dims[setting.first] = extent;
  }
  for (const std::string& text : scalars) {
    TUNEONCE_ASSIGN_OR_RETURN(auto setting, Setting(text));
    bool found = false;
    for (const Parameter& parameter : definition.parameters()) {
      found |= parameter.kind == ParameterKind::kScalar && parameter.name == setting.first;
    }
    if (!found) return InvalidArgumentError("the bundle has no scalar '" + setting.first + "'");
    example->scalars[setting.first] = setting.second;
  }
  for (const std::string& dim : definition.dims()) {
    if (example->dims.count(dim) == 0) {
      return InvalidArgumentError("the dim '" + dim + "' has no value: give --shape " + dim + "=...");
    }
  }
  return Status();
}

/// Bits of a float that half precision holds exactly.
std::uint16_t HalfBits(float value) {
  if (value == 0) return 0;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  auto exponent = static_cast<std::uint32_t>(((bits >> 23) & 0xff) - 127 + 15);
  return static_cast<std::uint16_t>(((bits >> 16) & 0x8000) | (exponent << 10) | ((bits >> 13) & 0x3ff));
}

/// One random element: floats in [-1, 1] of 1/1024 steps, whole numbers from 0 to 9.
void RandomElement(DType dtype, std::mt19937& random, char* to) {
  auto put = [&](auto value) { std::memcpy(to, &value, sizeof(value)); };
  float real = static_cast<float>(static_cast<int>(random() % 2049) - 1024) / 1024.0f;
  auto whole = random() % 10;
  switch (dtype) {
    case DType::kFloat16:
      return put(HalfBits(real));
    case DType::kBFloat16: {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &real, sizeof(bits));
      return put(static_cast<std::uint16_t>(bits >> 16));
    }
    case DType::kFloat32:
      return put(real);
    case DType::kFloat64:
      return put(static_cast<double>(real));
    case DType::kBool:
      return put(static_cast<std::uint8_t>(whole & 1));
    case DType::kInt16:
    case DType::kUInt16:
      return put(static_cast<std::uint16_t>(whole));
    case DType::kInt32:
    case DType::kUInt32:
      return put(static_cast<std::uint32_t>(whole));
    case DType::kInt64:
    case DType::kUInt64:
      return put(static_cast<std::uint64_t>(whole));
    default:
      return put(static_cast<std::uint8_t>(whole));  // Bytes; as an 8-bit float, a small number.
  }
}

/// A scalar's bytes; at least 8 are there.
Status ScalarBytes(const Parameter& parameter, double value, void* to) {
  auto put = [&](auto typed) {
    std::memcpy(to, &typed, sizeof(typed));
    return Status();
  };
  switch (parameter.dtype) {
    case DType::kFloat32:
      return put(static_cast<float>(value));
    case DType::kFloat64:
      return put(value);
    case DType::kInt32:
    case DType::kUInt32:
      return put(static_cast<std::int32_t>(value));
    case DType::kInt64:
    case DType::kUInt64:
      return put(static_cast<std::int64_t>(value));
    case DType::kBool:
      return put(value != 0);
    default:
      return UnimplementedError("the command cannot make a " + std::string(DTypeName(parameter.dtype)) + " scalar");
  }
}

/// The arguments of a launch, and what they refer to.
struct Arguments {
  std::vector<DeviceBuffer> buffers;
  std::vector<std::unique_ptr<TensorView>> views;
  std::vector<std::unique_ptr<std::uint64_t>> words;
  std::vector<Argument> list;
};

Result<Arguments> MakeArguments(const KernelDefinition& definition, const Bundle::Example& example, StreamView stream) {
  Arguments arguments;
  std::mt19937 random(1);
  for (const Parameter& parameter : definition.parameters()) {
    if (parameter.kind == ParameterKind::kScalar) {
      auto value = example.scalars.find(parameter.name);
      auto word = std::make_unique<std::uint64_t>(0);
      TUNEONCE_RETURN_IF_ERROR(ScalarBytes(parameter, value == example.scalars.end() ? 0 : value->second, word.get()));
      arguments.list.push_back(Argument::Scalar(parameter.dtype, word.get()));
      arguments.words.push_back(std::move(word));
    }
    if (parameter.kind != ParameterKind::kTensor) continue;
    DType dtype = parameter.dtype;
    if (auto given = example.dtypes.find(parameter.name); dtype == DType::kAny && given != example.dtypes.end()) {
      dtype = given->second;
    }
    if (dtype == DType::kAny) {
      return InvalidArgumentError("the tensor '" + parameter.name +
                                  "' has no dtype: the bundle's example must say one");
    }
    std::vector<std::int64_t> extents;
    for (const std::string& dim : parameter.dims) extents.push_back(example.dims.at(dim));
    TUNEONCE_ASSIGN_OR_RETURN(std::int64_t count, examples::ElementCount(extents));
    std::size_t element = DTypeBytes(dtype);
    std::size_t bytes = static_cast<std::size_t>(count) * element;
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer buffer, DeviceBuffer::Allocate(stream, bytes));
    std::vector<char> host(bytes);
    for (std::size_t i = 0; i < bytes; i += element) RandomElement(dtype, random, host.data() + i);
    TUNEONCE_RETURN_IF_ERROR(buffer.CopyFromHost(host.data(), bytes));
    TUNEONCE_RETURN_IF_ERROR(stream.Synchronize());
    arguments.views.push_back(std::make_unique<TensorView>(
        TensorView::Contiguous(buffer.data(), dtype, extents.data(), static_cast<int>(extents.size()))));
    arguments.buffers.push_back(std::move(buffer));
    arguments.list.emplace_back(*arguments.views.back());
  }
  return arguments;
}

}  // namespace

Result<BundleReport> TuneBundle(const Bundle& bundle, const Device& device, const std::vector<std::string>& shape,
                                const std::vector<std::string>& scalars, AutotunePolicy policy) {
  const KernelDefinition& definition = bundle.definition();
  Bundle::Example example = bundle.example();
  TUNEONCE_RETURN_IF_ERROR(Apply(definition, shape, scalars, &example));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
  ScopedContext current(context.view());
  TUNEONCE_RETURN_IF_ERROR(current.status());
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
  TUNEONCE_ASSIGN_OR_RETURN(Arguments arguments, MakeArguments(definition, example, stream.view()));
  BundleReport report;
  report.device_name = identity.name;
  for (const std::string& dim : definition.dims()) {
    report.shape += (report.shape.empty() ? "" : ", ") + dim + "=" + std::to_string(example.dims[dim]);
  }
  TUNEONCE_ASSIGN_OR_RETURN(report.run,
                            examples::RunTuned(definition, device, stream.view(), arguments.list, std::move(policy)));
  return report;
}

}  // namespace tuneonce::cli
