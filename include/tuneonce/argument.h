#ifndef TUNEONCE_ARGUMENT_H_
#define TUNEONCE_ARGUMENT_H_

#include <cstdint>
#include <type_traits>

#include "tuneonce/tensor_view.h"

namespace tuneonce {
inline namespace v0 {

/// Returns the dtype with which a scalar of the C++ type `T` is passed to a kernel.
template <typename T>
constexpr DType ScalarDType() {
  static_assert(std::is_arithmetic_v<T>, "a kernel's scalar is an int, float or bool");
  static_assert(sizeof(T) <= 8, "a kernel's scalar has at most 8 bytes");
  if constexpr (std::is_same_v<T, bool>) return DType::kBool;
  if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64;
  constexpr bool kSigned = std::is_signed_v<T>;
  if constexpr (sizeof(T) == 1) return kSigned ? DType::kInt8 : DType::kUInt8;
  if constexpr (sizeof(T) == 2) return kSigned ? DType::kInt16 : DType::kUInt16;
  if constexpr (sizeof(T) == 4) return kSigned ? DType::kInt32 : DType::kUInt32;
  return kSigned ? DType::kInt64 : DType::kUInt64;
}

/// A reference to one argument that the caller passes to Launch: a TensorView, a PointerTable or a scalar.
/// TunedKernel::Launch makes it on the stack. A launch compares kind() with the declared kind, and returns
/// InvalidArgument for an argument of another type. REQUIRES: the referenced value outlives the call.
class Argument {
 public:
  /// The value of kind() for a TensorView. For a scalar, kind() is its DType as a number.
  static constexpr std::uint32_t kTensor = 0x100;
  static constexpr std::uint32_t kTable = kTensor | 0x200;

  Argument(const TensorView& tensor) : kind_(kTensor), value_(&tensor) {}  // NOLINT(google-explicit-constructor)
  Argument(const PointerTable& table) : kind_(kTable), value_(&table) {}   // NOLINT(google-explicit-constructor)
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Argument(const T& scalar)  // NOLINT(google-explicit-constructor)
      : kind_(static_cast<std::uint32_t>(ScalarDType<T>())), value_(&scalar) {}

  /// Makes a reference to a scalar whose dtype is known at run time only. `value` points to DTypeBytes(dtype) bytes.
  static Argument Scalar(DType dtype, const void* value) { return Argument(static_cast<std::uint32_t>(dtype), value); }

  std::uint32_t kind() const { return kind_; }
  bool is_tensor() const { return (kind_ & kTensor) != 0; }
  bool is_table() const { return kind_ == kTable; }
  /// Returns the TensorView, or the member `view` of a PointerTable. REQUIRES: is_tensor().
  const TensorView& tensor() const { return *static_cast<const TensorView*>(value_); }
  /// Returns the pointer table. REQUIRES: is_table().
  const PointerTable& table() const { return *static_cast<const PointerTable*>(value_); }
  /// Returns the address of the TensorView, of the PointerTable, or of the scalar's DTypeBytes(dtype()) bytes.
  const void* value() const { return value_; }
  DType dtype() const { return is_tensor() ? tensor().dtype : static_cast<DType>(kind_); }

 private:
  Argument(std::uint32_t kind, const void* value) : kind_(kind), value_(value) {}

  std::uint32_t kind_;
  const void* value_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_ARGUMENT_H_
