#ifndef TUNEONCE_ASSUMPTION_H_
#define TUNEONCE_ASSUMPTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tuneonce/arguments.h"

namespace tuneonce {
inline namespace v0 {

/// A property of a launch's arguments that the code was compiled for. A launch whose arguments lack it skips the
/// variant (Variant::assumptions). The functions below make assumptions, which can be parts of a Condition.
struct Assumption {
  enum class Kind : std::uint8_t {
    kAligned,
    kStrideIs,
    kStrideDivisibleBy,
    kExtentIs,
    kExtentDivisibleBy,
    kNoOverlap,
    kContiguous,
    kScalarIs,
    kScalarDivisibleBy,
    kDTypeIn,
    // The kinds from here on are implied by how the kernel takes its parameters and need not be declared:
    kStrideFitsInt32,    ///< The stride is not negative and fits int32, the type in which the kernel takes it.
    kStrideNotNegative,  ///< The stride is not negative. The kernel takes it as int64.
    kExtentFitsInt32,
    // Declared kinds. A kernel's identity contains these numbers, so new kinds are added at the end.
    kExtentAtLeast,
    kScalarAtLeast,
    kCondition,  ///< Not declared: a part of a requirement (Variant::Requires) that is not a single assumption.
  };

  Kind kind = Kind::kAligned;
  /// Name of the tensor, or of the scalar for kScalarIs, kScalarDivisibleBy and kScalarAtLeast.
  std::string tensor;
  /// Index of the dimension of `tensor`, outermost first. Unused for kAligned, kNoOverlap, kContiguous, kDTypeIn and
  /// scalars.
  int dimension = 0;
  /// The assumed value, depending on `kind`: an alignment in bytes; a stride or an extent in elements, or its divisor
  /// or minimum; or a scalar's value, divisor or minimum. Unused for kNoOverlap, kContiguous and kDTypeIn, and where
  /// `real` is set.
  std::int64_t value = 1;
  std::string other;  ///< Name of the other tensor, for kNoOverlap.
  /// The assumed value of kScalarIs if it was given as a floating-point number. Otherwise empty, and `value` applies.
  std::optional<double> real = std::nullopt;
  std::vector<DType> dtypes = {};  ///< The dtypes that the tensor may have, for kDTypeIn.
};
/// Assumes that the address of the tensor `tensor` is a multiple of `bytes`. For a tensor ByPointers, that is each of
/// its tensors.
inline Assumption Aligned(std::string tensor, std::int64_t bytes) {
  return Assumption{Assumption::Kind::kAligned, std::move(tensor), 0, bytes, ""};
}
/// Assumes that the stride of the dimension (outermost: 0) of `tensor` is `elements`, or that its extent is 1.
inline Assumption StrideIs(std::string tensor, int dimension, std::int64_t elements) {
  return Assumption{Assumption::Kind::kStrideIs, std::move(tensor), dimension, elements, ""};
}
/// Assumes that the stride of the dimension (outermost: 0) of `tensor` is a multiple of `divisor` elements, even if the
/// dimension's extent is 1.
inline Assumption StrideDivisibleBy(std::string tensor, int dimension, std::int64_t divisor) {
  return Assumption{Assumption::Kind::kStrideDivisibleBy, std::move(tensor), dimension, divisor, ""};
}
/// Assumes that the extent of the dimension (outermost: 0) of `tensor` is `elements`, which the code contains as a
/// constant. Other variants may be compiled for other extents.
inline Assumption ExtentIs(std::string tensor, int dimension, std::int64_t elements) {
  return Assumption{Assumption::Kind::kExtentIs, std::move(tensor), dimension, elements, ""};
}
/// Assumes that the extent of the dimension (outermost: 0) of `tensor` is a multiple of `divisor`.
inline Assumption ExtentDivisibleBy(std::string tensor, int dimension, std::int64_t divisor) {
  return Assumption{Assumption::Kind::kExtentDivisibleBy, std::move(tensor), dimension, divisor, ""};
}
/// Assumes that the extent of the dimension (outermost: 0) of `tensor` is at least `elements`. Declare 1 for code whose
/// behaviour is undefined for an extent of 0.
inline Assumption ExtentAtLeast(std::string tensor, int dimension, std::int64_t elements) {
  return Assumption{Assumption::Kind::kExtentAtLeast, std::move(tensor), dimension, elements, ""};
}
/// Assumes that the tensor is row-major without gaps. The stride of a dimension of extent 1 may be any. The assumption
/// need not be declared where the kernel takes a bare pointer (CallingConvention).
inline Assumption Contiguous(std::string tensor) {
  return Assumption{Assumption::Kind::kContiguous, std::move(tensor), 0, 1, ""};
}
/// Assumes that the tensor has one of these dtypes. It is for code whose parameter declares no dtype (In("x", {"M",
/// "N"})), so that a definition can have variants for several dtypes. Every key contains the dtype, so the check costs
/// a launch with a ready key nothing. A TunedKernel::Shape that does not set the tensor's dtype uses the first dtype of
/// the first variant that assumes one.
inline Assumption DTypeIn(std::string tensor, std::vector<DType> dtypes) {
  Assumption assumption{Assumption::Kind::kDTypeIn, std::move(tensor), 0, 1, ""};
  assumption.dtypes = std::move(dtypes);
  return assumption;
}
/// Assumes that the tensor has this dtype. DTypeIn explains the use.
inline Assumption DTypeIs(std::string tensor, DType dtype) { return DTypeIn(std::move(tensor), {dtype}); }
/// Assumes that the memory of the two tensors does not overlap.
inline Assumption NoOverlap(std::string tensor, std::string other) {
  return Assumption{Assumption::Kind::kNoOverlap, std::move(tensor), 0, 1, std::move(other)};
}

/// Assumes that the scalar has this value: a boolean, an integer, or for a floating-point scalar a number. The values
/// are compared bit by bit in the scalar's dtype, so 0.0 differs from -0.0. Where the key contains the scalar (ValueOf)
/// the comparison costs a launch nothing.
template <typename T>
Assumption ScalarIs(std::string scalar, T value) {
  static_assert(std::is_arithmetic_v<T>, "a scalar is an int, float or bool");
  Assumption assumption{Assumption::Kind::kScalarIs, std::move(scalar), 0, 0, ""};
  if constexpr (std::is_integral_v<T>) assumption.value = static_cast<std::int64_t>(value);
  if constexpr (std::is_floating_point_v<T>) assumption.real = static_cast<double>(value);
  return assumption;
}
/// Assumes that the integer scalar is a multiple of `divisor`.
inline Assumption ScalarDivisibleBy(std::string scalar, std::int64_t divisor) {
  return Assumption{Assumption::Kind::kScalarDivisibleBy, std::move(scalar), 0, divisor, ""};
}
/// Assumes that the integer scalar is at least `value`.
inline Assumption ScalarAtLeast(std::string scalar, std::int64_t value) {
  return Assumption{Assumption::Kind::kScalarAtLeast, std::move(scalar), 0, value, ""};
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_ASSUMPTION_H_
