#include "tune_bundle.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>

#include "numbers.h"
#include "tuned_run.h"
#include "tuneonce/cuda/context.h"
#include "tuneonce/cuda/device_buffer.h"
#include "tuneonce/cuda/stream.h"

namespace tuneonce::cli {
namespace {

/// The example's dims with `shape` put in: one for each of the definition's.
Status ApplyShape(const KernelDefinition& definition, const std::vector<std::string>& shape,
                  std::map<std::string, std::int64_t>* dims) {
  TUNEONCE_ASSIGN_OR_RETURN(auto settings, ParseSettings(shape, "shape"));
  for (const auto& [name, text] : settings) {
    if (std::find(definition.dims().begin(), definition.dims().end(), name) == definition.dims().end()) {
      return InvalidArgumentError("the bundle has no dim '" + name + "'");
    }
    std::optional<std::int64_t> extent = ParseNumber<std::int64_t>(text);
    if (!extent || *extent < 1) {
      return InvalidArgumentError("--shape " + name + "=" + text +
                                  ": the value must be a whole number from 1 to 2^63 - 1");
    }
    (*dims)[name] = *extent;
  }
  for (const std::string& dim : definition.dims()) {
    if (dims->count(dim) == 0) {
      return InvalidArgumentError("the dim '" + dim + "' has no value: give --shape " + dim + "=...");
    }
  }
  return Status();
}

/// A scalar's bytes, in a word; those of its own type are used.
Result<std::uint64_t> ScalarWord(const Parameter& parameter, const std::string& text) {
  std::uint64_t word = 0;
  auto parse = [&](auto value) -> Result<std::uint64_t> {
    std::optional<decltype(value)> parsed = ParseNumber<decltype(value)>(text);
    if (!parsed) {
      return InvalidArgumentError("scalar '" + parameter.name + "': " + text + " is no number that a " +
                                  std::string(DTypeName(parameter.dtype)) + " holds");
    }
    std::memcpy(&word, &*parsed, sizeof(value));
    return word;
  };
  switch (parameter.dtype) {
    case DType::kFloat32:
      return parse(float{});
    case DType::kFloat64:
      return parse(double{});
    case DType::kInt32:
      return parse(std::int32_t{});
    case DType::kUInt32:
      return parse(std::uint32_t{});
    case DType::kInt64:
      return parse(std::int64_t{});
    case DType::kUInt64:
      return parse(std::uint64_t{});
    case DType::kBool:
      if (text == "0" || text == "1") return std::uint64_t{text == "1"};
      return InvalidArgumentError("scalar '" + parameter.name + "': " + text + " is neither 0 nor 1");
    default:
      return UnimplementedError("the command cannot make a " + std::string(DTypeName(parameter.dtype)) + " scalar");
  }
}

/// Each scalar's bytes, by name: of `scalars`, else of the example, else 0.
Result<std::map<std::string, std::uint64_t>> ScalarWords(const KernelDefinition& definition,
                                                         const std::vector<std::string>& scalars,
                                                         const std::map<std::string, double>& example) {
  TUNEONCE_ASSIGN_OR_RETURN(auto settings, ParseSettings(scalars, "scalar"));
  std::map<std::string, std::uint64_t> words;
  for (const Parameter& parameter : definition.parameters()) {
    if (parameter.kind != ParameterKind::kScalar) continue;
    std::string text = "0";
    if (auto value = example.find(parameter.name); value != example.end()) {
      char digits[32];  // The shortest text of a double has at most 24.
      text.assign(digits, std::to_chars(digits, digits + sizeof(digits), value->second).ptr);
    }
    if (auto given = settings.find(parameter.name); given != settings.end()) {
      text = given->second;
      settings.erase(given);
    }
    TUNEONCE_ASSIGN_OR_RETURN(words[parameter.name], ScalarWord(parameter, text));
  }
  if (settings.empty()) return words;
  return InvalidArgumentError("the bundle has no scalar '" + settings.begin()->first + "'");
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

/// The arguments of a launch, and what they refer to.
struct Arguments {
  std::vector<DeviceBuffer> buffers;
  std::vector<std::unique_ptr<TensorView>> views;
  std::vector<std::unique_ptr<std::uint64_t>> words;
  std::vector<Argument> list;
};

Result<Arguments> MakeArguments(const KernelDefinition& definition, const Bundle::Example& example,
                                const std::map<std::string, std::uint64_t>& scalars, StreamView stream) {
  Arguments arguments;
  std::mt19937 random(1);
  for (const Parameter& parameter : definition.parameters()) {
    if (parameter.kind == ParameterKind::kScalar) {
      auto word = std::make_unique<std::uint64_t>(scalars.at(parameter.name));
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
  TUNEONCE_RETURN_IF_ERROR(ApplyShape(definition, shape, &example.dims));
  TUNEONCE_ASSIGN_OR_RETURN(auto scalar_words, ScalarWords(definition, scalars, example.scalars));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
  ScopedContext current(context.view());
  TUNEONCE_RETURN_IF_ERROR(current.status());
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
  TUNEONCE_ASSIGN_OR_RETURN(Arguments arguments, MakeArguments(definition, example, scalar_words, stream.view()));
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
