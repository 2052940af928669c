#ifndef TUNEONCE_WARMUP_FILL_H_
#define TUNEONCE_WARMUP_FILL_H_

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "tuneonce/api.h"
#include "tuneonce/dims.h"
#include "tuneonce/tensor_view.h"

namespace tuneonce {

/// A number of a WarmupFill: given, or the value that a dim has in the shape which is warmed.
struct FillNumber {
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  FillNumber(T number) : value(static_cast<double>(number)) {}       // NOLINT(google-explicit-constructor)
  FillNumber(std::string its_dim) : dim(std::move(its_dim)) {}       // NOLINT(google-explicit-constructor)
  FillNumber(const char* its_dim) : FillNumber(std::string(its_dim)) {}  // NOLINT(google-explicit-constructor)

  double value = 0;  ///< Whole numbers are exact up to 2^53.
  std::string dim;   ///< If not empty, this dim's value counts.
};

/// What a tensor or a scalar holds in a warm-up by shape, where there is no caller whose data it could be: for a kernel
/// whose speed, or whose safety, depends on values (lengths, indices, flags). A value.
struct TUNEONCE_API WarmupFill {
  enum class Kind { kConstant, kIota, kUniform, kFunction };
  /// Fills `host`: the tensor, row-major, in host memory. Called on the thread that warms.
  using Function = std::function<void(const Dims& dims, const TensorView& host)>;

  /// A constant, the only fill that a scalar can have.
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  WarmupFill(T value) : first(value) {}                    // NOLINT(google-explicit-constructor)
  static WarmupFill Constant(FillNumber value);
  /// Element i, in row-major order, is start + i * step: offsets of equally long sequences, a permutation.
  static WarmupFill Iota(FillNumber start = 0, FillNumber step = 1);
  /// Pseudo-random numbers from `low` up to, but not, `high`; whole ones for integers. The same in each process. A
  /// tensor of more than 4 MiB repeats them.
  static WarmupFill Uniform(FillNumber low, FillNumber high);
  static WarmupFill Of(Function function);

  Kind kind = Kind::kConstant;
  FillNumber first;       ///< The constant, kIota's start, kUniform's low end.
  FillNumber second = 0;  ///< kIota's step, kUniform's high end.
  Function function;      ///< kFunction.
};

}  // namespace tuneonce

#endif  // TUNEONCE_WARMUP_FILL_H_
