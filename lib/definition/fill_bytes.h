#ifndef TUNEONCE_LIB_DEFINITION_FILL_BYTES_H_
#define TUNEONCE_LIB_DEFINITION_FILL_BYTES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Writes `value` as an element of `dtype`, where floating-point types round to the nearest. Returns false and writes
/// nothing if the type cannot hold it: it has a fraction, exceeds the type's largest number, or is not finite.
bool EncodeElement(DType dtype, double value, void* to);

/// Writes a scalar's `value` as EncodeElement does, and also an infinity or NaN where `dtype` has such a value.
bool EncodeScalar(DType dtype, double value, void* to);

/// True for types whose values stand for numbers on a scale, not for indices, lengths or flags: such tensors need no
/// declared fill.
bool IsFloatingPoint(DType dtype);

/// Checks what a parameter declares for warm-ups. Errors: InvalidArgument, without the parameter's name.
Status CheckWarmupFill(const Parameter& parameter, const std::vector<std::string>& dims);

/// The bytes of a scalar at these dims (8, zero behind the dtype's). Errors: InvalidArgument, naming the parameter.
Result<std::uint64_t> WarmupScalar(const KernelDefinition& definition, const Parameter& parameter, const Dims& dims);

/// Returns where the parameter's declared offsets end at these dims (WarmupFill::Offsets), or nothing.
std::optional<double> OffsetsEnd(const KernelDefinition& definition, const Parameter& parameter, const Dims& dims);

/// The most bytes of values that repeat. A prime number of 8 bytes, so that rows of no usual length are the same: a
/// kernel that reads another row or tile then computes other values.
inline constexpr std::size_t kMostRepeatedBytes = std::size_t{8} * 131071;

/// True if the parameter's values repeat, and those of a smaller tensor are the first ones of a larger one's, whatever
/// the dims are.
bool RepeatsAtAllDims(const Parameter& parameter);

/// Returns the bytes that a tensor of this shape is filled with, or the first kMostRepeatedBytes of them, which are
/// then repeated. Floating-point tensors without a declared fill get numbers in [-1, 1). The pseudo-random numbers of
/// two parameters differ. Errors: InvalidArgument that names the parameter; those of the fill's function.
Result<std::vector<char>> WarmupBytes(const KernelDefinition& definition, const Parameter& parameter, const Dims& dims,
                                      const TensorView& tensor);

// The dtypes that a tensor may have if its parameter leaves the dtype open: those that variants assume (DTypeIn).

/// The dtypes that variants assume of parameter `index`, whatever these run on, in the order in which they do. None if
/// none does.
std::vector<DType> DTypesAssumed(const KernelDefinition& definition, std::size_t index);
/// Returns the dtype of the tensor parameter `index` for a shape that sets none: the declared one, else the first that
/// a variant assumes. Returns kAny if no variant assumes one, and for a tensor with the dtype of another one.
DType DTypeUnlessSaid(const KernelDefinition& definition, std::size_t index);
/// False if the variant's code is for other dtypes than the problem's. REQUIRES: those of all tensors are known.
bool IsForDTypes(const KernelDefinition& definition, const Variant& variant, const Problem& problem);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_FILL_BYTES_H_
