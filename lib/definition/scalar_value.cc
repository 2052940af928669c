#include "definition/scalar_value.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/number_text.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Returns the value of `dtype` at `bytes` as an integer, or kNoWholeNumber if it is too large.
template <typename T>
std::int64_t Load(const void* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(std::int64_t)) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return kNoWholeNumber;
  }
  return static_cast<std::int64_t>(value);
}

template <typename Float>
std::optional<std::string> Digits(Float value) {
  return std::isfinite(value) ? std::optional(ShortestText(value)) : std::nullopt;
}

/// Returns the value of a type of at most 32 bits, which a float has exactly.
float Decode(DType dtype, const FloatFormat& format, const void* bytes) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, bytes, DTypeBytes(dtype));
  const std::uint32_t mantissa_end = std::uint32_t{1} << format.mantissa_bits;
  const std::uint32_t mantissa = bits & (mantissa_end - 1);
  const int largest = (1 << format.exponent_bits) - 1, bias = largest / 2;
  const int exponent = static_cast<int>(bits >> format.mantissa_bits) & largest;
  const bool is_negative = bits >> (8 * DTypeBytes(dtype) - 1) != 0;
  float size = 0;
  if (exponent == largest && (format.has_infinity || mantissa == mantissa_end - 1)) {
    size = std::numeric_limits<float>::infinity();  // Or NaN.
  } else if (exponent == 0) {
    size = std::ldexp(static_cast<float>(mantissa), 1 - bias - format.mantissa_bits);
  } else {
    size = std::ldexp(static_cast<float>(mantissa_end + mantissa), exponent - bias - format.mantissa_bits);
  }
  return is_negative ? -size : size;
}

}  // namespace

std::optional<std::string> NumberText(DType dtype, const void* bytes) {
  if (dtype == DType::kFloat64) {
    double value;
    std::memcpy(&value, bytes, sizeof(value));
    return Digits(value);
  }
  if (const std::optional<FloatFormat> format = FloatFormatOf(dtype)) return Digits(Decode(dtype, *format, bytes));
  const std::int64_t whole = WholeScalar(dtype, bytes);
  return whole == kNoWholeNumber ? std::nullopt : std::optional(std::to_string(whole));
}

std::int64_t WholeScalar(DType dtype, const void* bytes) {
  switch (dtype) {
    case DType::kBool:
      return Load<std::uint8_t>(bytes) != 0 ? 1 : 0;
    case DType::kInt8:
      return Load<std::int8_t>(bytes);
    case DType::kUInt8:
      return Load<std::uint8_t>(bytes);
    case DType::kInt16:
      return Load<std::int16_t>(bytes);
    case DType::kUInt16:
      return Load<std::uint16_t>(bytes);
    case DType::kInt32:
      return Load<std::int32_t>(bytes);
    case DType::kUInt32:
      return Load<std::uint32_t>(bytes);
    case DType::kInt64:
      return Load<std::int64_t>(bytes);
    case DType::kUInt64:
      return Load<std::uint64_t>(bytes);
    default:
      return kNoWholeNumber;
  }
}

}  // namespace v0
}  // namespace tuneonce
