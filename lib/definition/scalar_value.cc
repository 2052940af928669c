#include "definition/scalar_value.h"

#include <cstring>
#include <type_traits>

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

}  // namespace

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
