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

/// Most parameters that a kernel can declare.
inline constexpr int kMaxParameters = 128;

/// What a definition's functions may depend on besides the config: the values of the dims and of the scalars, the
/// arguments' dtypes, and the target. A plain value on the stack, which points into the caller's arguments.
struct TUNEONCE_API Problem {
  Dims dims;
  Target target;
  /// By parameter, in the order of KernelDefinition::Parameters; kAny for those that are no tensor or scalar.
  /// CallBinder sets as many as there are parameters.
  std::array<DType, kMaxParameters> dtypes;
  /// By parameter: its TensorView, or its scalar's bytes; null for those that the caller does not pass, and for scalars
  /// that must not be read: where a function's result serves all launches of a key, those that the key does not name.
  std::array<const void*, kMaxParameters> values;

  std::int64_t operator[](Dim dim) const { return dims[dim]; }
  DType dtype(int parameter) const { return dtypes[static_cast<std::size_t>(parameter)]; }
  /// The value of a scalar that the caller passed; `parameter`: its index in KernelDefinition::Parameters, `T`: exactly
  /// its C++ type. For the definition's functions: one that asks for another type, for no scalar, or for one that must
  /// not be read here, is ended by an exception, which becomes an error that names the function. So a function that
  /// makes a source may read what is in the key (ValueOf) only.
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
