#ifndef TUNEONCE_PROBLEM_H_
#define TUNEONCE_PROBLEM_H_

#include <array>
#include <cstddef>

#include "tuneonce/dims.h"
#include "tuneonce/target.h"
#include "tuneonce/tensor_view.h"

namespace tuneonce {
inline namespace v0 {

/// Most parameters that a kernel can declare.
inline constexpr int kMaxParameters = 24;

/// What a definition's functions may depend on besides the config: the values of the dims, the arguments' dtypes, and
/// the target. A plain value on the stack.
struct Problem {
  Dims dims;
  Target target;
  /// By parameter, in the order of KernelDefinition::Parameters; kAny for those that are no tensor or scalar.
  /// CallBinder sets as many as there are parameters.
  std::array<DType, kMaxParameters> dtypes;

  std::int64_t operator[](Dim dim) const { return dims[dim]; }
  DType dtype(int parameter) const { return dtypes[static_cast<std::size_t>(parameter)]; }
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_PROBLEM_H_
