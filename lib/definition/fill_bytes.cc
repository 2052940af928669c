#include "definition/fill_bytes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "definition/scalar_value.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Maximum skew of WarmupFill::Offsets. With more, the first group would have all rows anyway.
constexpr double kMostSkew = 16;

/// The fill of floating-point tensors without a declared one, in the range of normalized activations and weights.
WarmupFill DefaultFill() { return WarmupFill::Uniform(-1, 1); }

bool IsSkew(double number) { return number >= 0 && number <= kMostSkew; }

bool Repeats(const WarmupFill& fill) {
  return fill.kind == WarmupFill::Kind::kConstant || fill.kind == WarmupFill::Kind::kUniform;
}

/// True if the number is the same at all dims.
bool IsGiven(const FillNumber& number) { return number.dim.empty() && !number.term; }

/// The bits of an infinity; of a dtype without infinities, those of its least number or NaN of that exponent.
std::uint64_t InfinityBits(const FloatFormat& format) {
  return ((std::uint64_t{1} << format.exponent_bits) - 1) << format.mantissa_bits;
}

constexpr std::size_t BytesOf(const FloatFormat& format) {
  return static_cast<std::size_t>(1 + format.exponent_bits + format.mantissa_bits) / 8;
}

void WriteFloat(const FloatFormat& format, std::uint64_t bits, bool is_negative, void* to) {
  bits |= std::uint64_t{is_negative} << (8 * BytesOf(format) - 1);
  std::memcpy(to, &bits, BytesOf(format));
}

/// Rounds a finite number to the nearest one of a type of at most 32 bits, to even between two.
bool EncodeRounded(const FloatFormat& format, double value, void* to) {
  const double size = std::fabs(value);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  constexpr int kBias = 1023, kMantissaBits = 52;  // A double has these.
  std::uint64_t bits;
  std::memcpy(&bits, &size, sizeof(bits));
  if (bits >> kMantissaBits > static_cast<std::uint64_t>(kBias - bias)) {
    // A normal number of the format. A mantissa that is rounded up to 2 carries into the exponent by itself.
    const int dropped = kMantissaBits - format.mantissa_bits;
    bits += (std::uint64_t{1} << (dropped - 1)) - 1 + (bits >> dropped & 1);
    bits = (bits >> dropped) - (static_cast<std::uint64_t>(kBias - bias) << format.mantissa_bits);
  } else {
    bits = static_cast<std::uint64_t>(std::nearbyint(std::ldexp(size, bias - 1 + format.mantissa_bits)));
  }
  const std::uint64_t nan_mantissa = (std::uint64_t{1} << format.mantissa_bits) - 1;
  if (bits >= InfinityBits(format) + (format.has_infinity ? 0 : nan_mantissa)) return false;
  WriteFloat(format, bits, std::signbit(value), to);
  return true;
}

template <typename Integer>
bool EncodeInteger(double value, void* to) {
  constexpr int kDigits = std::numeric_limits<Integer>::digits;
  double end = std::ldexp(1.0, kDigits);  // The first number that is too large. It is exact as a double.
  double least = std::is_signed_v<Integer> ? -end : 0;
  if (!(value >= least && value < end) || value != std::trunc(value)) return false;
  auto integer = static_cast<Integer>(value);
  std::memcpy(to, &integer, sizeof(integer));
  return true;
}

/// Not a number where a term has no value.
double ValueAt(const FillNumber& number, const KernelDefinition& definition, const Dims& dims) {
  if (number.term) {
    Term term = *number.term;
    Problem problem;
    problem.dims = dims;
    if (!term.Resolve(definition.dims()).ok()) return std::nan("");
    std::int64_t value = term.Value(Config(), problem);
    return value == Term::kNoValue ? std::nan("") : static_cast<double>(value);
  }
  return number.dim.empty() ? number.value : static_cast<double>(dims[definition.DimOf(number.dim)]);
}

std::string NumberText(const FillNumber& number) {
  if (number.term) return "a term";
  return number.dim.empty() ? absl::StrCat(number.value) : number.dim;
}

/// The i-th of a fixed sequence of numbers from [0, 1): splitmix64's 53 high bits.
double RandomAt(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1p-53;
}

/// Writes `count` uniform random numbers from [first, second) as elements of a type of at most 32 bits, and returns how
/// many of them it can hold: fewer if one does not fit. The type is known to the compiler, since a search of a kernel
/// makes a million elements.
template <DType dtype>
std::size_t WriteUniform(double first, double second, std::uint64_t sequence, std::size_t count, char* to) {
  constexpr FloatFormat kFormat = *FloatFormatOf(dtype);
  for (std::size_t i = 0; i < count; ++i, to += BytesOf(kFormat)) {
    const double value = first + RandomAt(sequence + i) * (second - first);
    if (!std::isfinite(value) || !EncodeRounded(kFormat, value, to)) return i;
  }
  return count;
}

/// As above, by the type. Other types: 0.
std::size_t WriteUniform(DType dtype, double first, double second, std::uint64_t sequence, std::size_t count,
                         char* to) {
  switch (dtype) {
    case DType::kFloat16:
      return WriteUniform<DType::kFloat16>(first, second, sequence, count, to);
    case DType::kBFloat16:
      return WriteUniform<DType::kBFloat16>(first, second, sequence, count, to);
    case DType::kFloat32:
      return WriteUniform<DType::kFloat32>(first, second, sequence, count, to);
    case DType::kFloat8E4M3:
      return WriteUniform<DType::kFloat8E4M3>(first, second, sequence, count, to);
    case DType::kFloat8E5M2:
      return WriteUniform<DType::kFloat8E5M2>(first, second, sequence, count, to);
    default:
      return 0;
  }
}

/// See WarmupFill::Offsets.
std::vector<double> OffsetsOf(double end, double skew, std::size_t count) {
  std::vector<double> sums(count, 0.0);
  for (std::size_t i = 1; i < count; ++i) sums[i] = sums[i - 1] + std::pow(static_cast<double>(i), -skew);
  const double total = count == 0 ? 1 : sums.back();
  for (double& sum : sums) sum = sum == total ? end : std::floor(end * sum / total);
  if (count > 0) sums.front() = 0;
  return sums;
}

Status Misfit(const Parameter& parameter, const std::string& what) {
  return InvalidArgumentError(absl::StrCat("parameter '", parameter.name, "' ", what));
}

Status NoFill(const Parameter& parameter, DType dtype) {
  bool is_scalar = parameter.kind == ParameterKind::kScalar;
  return Misfit(parameter,
                absl::StrCat("(", std::string(DTypeName(dtype)), is_scalar ? " scalar" : " tensor",
                             ") has no warm-up values: declare them with ForWarmup, in a manifest with "
                             "\"warmup\", ",
                             is_scalar ? "name it in the shape, " : "", "or warm up with your own arguments"));
}

}  // namespace

bool IsFloatingPoint(DType dtype) { return dtype != DType::kAny && !IsWhole(dtype); }

bool EncodeElement(DType dtype, double value, void* to) {
  if (const std::optional<FloatFormat> format = FloatFormatOf(dtype); format && dtype != DType::kFloat64) {
    return std::isfinite(value) && EncodeRounded(*format, value, to);
  }
  switch (dtype) {
    case DType::kBool:
      return (value == 0 || value == 1) && EncodeInteger<std::uint8_t>(value, to);
    case DType::kInt8:
      return EncodeInteger<std::int8_t>(value, to);
    case DType::kUInt8:
      return EncodeInteger<std::uint8_t>(value, to);
    case DType::kInt16:
      return EncodeInteger<std::int16_t>(value, to);
    case DType::kUInt16:
      return EncodeInteger<std::uint16_t>(value, to);
    case DType::kInt32:
      return EncodeInteger<std::int32_t>(value, to);
    case DType::kUInt32:
      return EncodeInteger<std::uint32_t>(value, to);
    case DType::kInt64:
      return EncodeInteger<std::int64_t>(value, to);
    case DType::kUInt64:
      return EncodeInteger<std::uint64_t>(value, to);
    case DType::kFloat64:
      if (!std::isfinite(value)) return false;
      std::memcpy(to, &value, sizeof(value));
      return true;
    default:
      return false;
  }
}

bool EncodeScalar(DType dtype, double value, void* to) {
  if (std::isfinite(value)) return EncodeElement(dtype, value, to);
  const std::optional<FloatFormat> format = FloatFormatOf(dtype);
  if (!format || (!format->has_infinity && !std::isnan(value))) return false;
  std::uint64_t bits = InfinityBits(*format);
  if (std::isnan(value)) {
    const std::uint64_t end_of_mantissa = std::uint64_t{1} << format->mantissa_bits;
    bits |= format->has_infinity ? end_of_mantissa >> 1 : end_of_mantissa - 1;
  }
  WriteFloat(*format, bits, std::signbit(value), to);
  return true;
}

Status CheckWarmupFill(const Parameter& parameter, const std::vector<std::string>& dims) {
  if (!parameter.warmup) return Status();
  const WarmupFill& fill = *parameter.warmup;
  bool is_scalar = parameter.kind == ParameterKind::kScalar;
  if (!is_scalar && (parameter.kind != ParameterKind::kTensor || parameter.dims.empty())) {
    return InvalidArgumentError("only scalars and tensors with dims take warm-up values");
  }
  if (!is_scalar && parameter.access == Access::kOut) {
    return InvalidArgumentError("an output that the kernel does not read takes no warm-up values: remove them");
  }
  if (parameter.by_pointers && !Repeats(fill)) {
    return InvalidArgumentError(
        "a tensor that is passed ByPointers can only be filled with a constant or with uniform random numbers");
  }
  if (is_scalar && fill.kind != WarmupFill::Kind::kConstant) {
    return InvalidArgumentError("the warm-up value of a scalar must be one number");
  }
  if (fill.kind == WarmupFill::Kind::kFunction) {
    return fill.function
               ? Status()
               : InvalidArgumentError("the warm-up fill is an empty std::function: pass a function that can be called");
  }
  std::uint64_t word = 0;
  bool has_second = fill.kind != WarmupFill::Kind::kConstant;
  for (const FillNumber* number : {&fill.first, has_second ? &fill.second : &fill.first}) {
    if (number->term) {
      Term term = *number->term;
      TUNEONCE_RETURN_IF_ERROR(term.Resolve(dims, Term::kNoValue + 1).WithPrefix("warm-up value"));
      if (term.IsOfArguments()) continue;
      return InvalidArgumentError(
          "the warm-up value depends on an axis or the device, but only dims are known when inputs are made");
    }
    if (!number->dim.empty()) {
      if (std::find(dims.begin(), dims.end(), number->dim) != dims.end()) continue;
      return InvalidArgumentError(
          absl::StrCat("the warm-up value names the dim '", number->dim, "', but the kernel has no such dim"));
    }
    // The high end of a range, and a skew, need not be values of the dtype themselves.
    bool is_end = has_second && number == &fill.second;
    if (parameter.dtype == DType::kAny || is_end || EncodeElement(parameter.dtype, number->value, &word)) continue;
    return InvalidArgumentError(absl::StrCat("the warm-up value ", number->value, " cannot be represented as ",
                                             std::string(DTypeName(parameter.dtype))));
  }
  if (fill.kind == WarmupFill::Kind::kOffsets && IsGiven(fill.first) && fill.first.value < 0) {
    return InvalidArgumentError(absl::StrCat("the warm-up offsets end at ", fill.first.value, ", below 0"));
  }
  if (fill.kind == WarmupFill::Kind::kOffsets && IsGiven(fill.second) && !IsSkew(fill.second.value)) {
    return InvalidArgumentError(
        absl::StrCat("the skew of warm-up offsets must be 0 to ", kMostSkew, ", not ", fill.second.value));
  }
  bool is_empty = fill.kind == WarmupFill::Kind::kUniform && IsGiven(fill.first) && IsGiven(fill.second) &&
                  !(fill.first.value < fill.second.value);
  return is_empty ? InvalidArgumentError(
                        absl::StrCat("the warm-up range [", fill.first.value, ", ", fill.second.value, ") is empty"))
                  : Status();
}

Result<std::uint64_t> WarmupScalar(const KernelDefinition& definition, const Parameter& parameter, const Dims& dims) {
  if (!parameter.warmup) return NoFill(parameter, parameter.dtype);
  std::uint64_t word = 0;
  double value = ValueAt(parameter.warmup->first, definition, dims);
  if (EncodeElement(parameter.dtype, value, &word)) return word;
  return Misfit(parameter, absl::StrCat("cannot be ", value, ": it is a ", std::string(DTypeName(parameter.dtype))));
}

std::optional<double> OffsetsEnd(const KernelDefinition& definition, const Parameter& parameter, const Dims& dims) {
  if (!parameter.warmup || parameter.warmup->kind != WarmupFill::Kind::kOffsets) return std::nullopt;
  return ValueAt(parameter.warmup->first, definition, dims);
}

bool RepeatsAtAllDims(const Parameter& parameter) {
  if (!parameter.warmup) return true;  // DefaultFill.
  return Repeats(*parameter.warmup) && IsGiven(parameter.warmup->first) && IsGiven(parameter.warmup->second);
}

Result<std::vector<char>> WarmupBytes(const KernelDefinition& definition, const Parameter& parameter, const Dims& dims,
                                      const TensorView& tensor) {
  if (!parameter.warmup && !IsFloatingPoint(tensor.dtype)) return NoFill(parameter, tensor.dtype);
  const WarmupFill fill = parameter.warmup ? *parameter.warmup : DefaultFill();
  std::vector<char> bytes(Repeats(fill) ? std::min(tensor.bytes, kMostRepeatedBytes) : tensor.bytes);
  if (fill.kind == WarmupFill::Kind::kFunction) {
    TensorView host = tensor;
    host.data = bytes.data();
    TUNEONCE_RETURN_IF_ERROR(CallUser(absl::StrCat("the fill of parameter '", parameter.name, "'"), [&] {
      fill.function(dims, host);
      return Status();
    }));
    return bytes;
  }
  double first = ValueAt(fill.first, definition, dims);
  double second = ValueAt(fill.second, definition, dims);
  bool is_uniform = fill.kind == WarmupFill::Kind::kUniform;
  if (is_uniform && !(first < second)) {
    return Misfit(parameter, absl::StrCat("has no warm-up values: the range [", NumberText(fill.first), ", ",
                                          NumberText(fill.second), ") is empty at ", definition.DimsString(dims)));
  }
  std::size_t size = DTypeBytes(tensor.dtype);
  std::vector<double> offsets;
  if (fill.kind == WarmupFill::Kind::kOffsets) {
    if (!IsSkew(second)) {
      return Misfit(parameter, absl::StrCat("has no warm-up values: the skew of offsets must be 0 to ", kMostSkew,
                                            ", not ", NumberText(fill.second), " at ", definition.DimsString(dims)));
    }
    offsets = OffsetsOf(first, second, bytes.size() / size);
  }
  const bool is_whole = !IsFloatingPoint(tensor.dtype);
  // Each parameter has numbers of its own: a kernel that reads one input in place of another computes other values.
  const std::uint64_t sequence = std::uint64_t{definition.FindParameter(parameter.name).value_or(0)} << 32;
  const std::size_t count = bytes.size() / size;
  const std::size_t num_written =
      is_uniform ? WriteUniform(tensor.dtype, first, second, sequence, count, bytes.data()) : 0;
  for (std::size_t i = num_written; i < count; ++i) {
    double value = first;
    if (is_uniform) value = first + RandomAt(sequence + i) * (second - first);
    if (is_uniform && is_whole) value = std::floor(value);
    if (!offsets.empty()) value = offsets[i];
    if (fill.kind == WarmupFill::Kind::kIota) value = first + static_cast<double>(i) * second;
    if (!EncodeElement(tensor.dtype, value, bytes.data() + i * size)) {
      return Misfit(parameter, absl::StrCat("cannot hold ", value, " (element ", i, " at ", definition.DimsString(dims),
                                            ") as a ", std::string(DTypeName(tensor.dtype))));
    }
  }
  return bytes;
}

}  // namespace v0
}  // namespace tuneonce
