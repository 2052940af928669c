#ifndef TUNEONCE_PROBLEM_H_
#define TUNEONCE_PROBLEM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tuneonce/api.h"
#include "tuneonce/argument.h"
#include "tuneonce/dims.h"
#include "tuneonce/target.h"
#include "tuneonce/tensor_view.h"

namespace tuneonce {
inline namespace v0 {

/// Maximum number of parameters of a kernel. KernelDefinition::Validate returns InvalidArgument for more.
inline constexpr int kMaxParameters = 128;

/// What the functions of a definition receive together with the config: values of dims and scalars, the arguments'
/// dtypes, and the target. It points into the caller's arguments, so it is valid during the call that it is passed to.
struct TUNEONCE_API Problem {
  Dims dims;
  /// The device that the call is for. It outlives the problem. By default, a target whose limits are unknown.
  const Target* target = &kUnknownTarget;
  /// The dtype of each parameter, in the order of KernelDefinition::Parameters. It is kAny for a parameter that is not
  /// a tensor or scalar. Only as many entries are set as the kernel has parameters.
  std::array<DType, kMaxParameters> dtypes;
  /// A pointer to the TensorView or the scalar's bytes of each parameter. It is null for a parameter that the caller
  /// does not pass, and for a scalar that must not be read. If a function's result serves all launches of a key, these
  /// are the scalars that the key does not contain.
  std::array<const void*, kMaxParameters> values;

  /// Returns the value of a dim.
  std::int64_t operator[](Dim dim) const { return dims[dim]; }
  /// Returns the dtype of a parameter by its index.
  DType dtype(int parameter) const { return dtypes[static_cast<std::size_t>(parameter)]; }
  /// Returns a scalar that the caller passed. `parameter` is its index in KernelDefinition::Parameters, and `T` must be
  /// exactly its C++ type. A function that asks for another type, for a parameter that is not a scalar, or for a scalar
  /// that must not be read here, ends with an exception that becomes an error naming the function. A source function
  /// may read only scalars that are part of the key (ValueOf).
  template <typename T>
  T scalar(int parameter) const {
    T value;
    std::memcpy(&value, FindScalar(parameter, ScalarDType<T>()), sizeof(value));
    return value;
  }

 private:
  const void* FindScalar(int parameter, DType dtype) const;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_PROBLEM_H_
