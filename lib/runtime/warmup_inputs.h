#ifndef TUNEONCE_LIB_RUNTIME_WARMUP_INPUTS_H_
#define TUNEONCE_LIB_RUNTIME_WARMUP_INPUTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "launch/device_table.h"
#include "tuneonce/arguments.h"
#include "tuneonce/device.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The shape that inputs are made for.
struct InputShape {
  Dims dims;
  /// The dtype of each tensor parameter, in order. It may be kAny if the definition declares the dtype, or the
  /// parameter that it equals. May be empty.
  std::vector<DType> dtypes;
  /// The bytes of each scalar, by parameter. Scalars without a value get the declared one, as do all if it is empty.
  std::vector<std::optional<std::uint64_t>> scalars;
};

/// Arguments for a launch without a caller's data, which TunedKernel::Warmup makes from a shape. Inputs have the values
/// that the definition declares (Parameter::ForWarmup). Floating-point tensors without a declaration have pseudo-random
/// numbers in [-1, 1), the same in each process. Outputs have zeros.
///
/// Move-only. The memory is in the order of a stream, which outlives the object.
class WarmupInputs {
 public:
  enum class Use {
    kSearch,  ///< They will be used for measurements.
    kShapes,  ///< Nothing will be measured: inputs without a declared fill have zeros.
    kKey,     ///< Nothing will be launched: no memory is allocated, and tensors have addresses that are never read.
  };

  /// Makes the arguments and waits for the stream, except for kKey, which does not use it. Errors: InvalidArgument,
  /// naming the parameter, for a mismatch with the definition, for raw memory, and for kSearch also for scalars and
  /// tensors of integers or booleans without a declared fill; ResourceExhausted.
  static Result<WarmupInputs> Create(const KernelDefinition& definition, const InputShape& shape, StreamView stream,
                                     Use use = Use::kSearch);

  /// Returns the device memory of all tensors together, in bytes.
  std::size_t bytes() const;
  /// Returns the arguments in the order of a launch. They point into this object.
  const std::vector<Argument>& arguments() const { return arguments_; }

 private:
  WarmupInputs() = default;
  /// Returns an address for a tensor that needs no memory. It is aligned like memory and does not overlap others.
  void* NextPlace(std::size_t bytes);
  /// Adds the tensors of a parameter by pointers. All have the shape that the dims give, and lie in one block.
  Status AddTable(const KernelDefinition& definition, const Parameter& parameter, const Dims& dims, DType dtype,
                  StreamView stream, Use use);
  /// Allocates memory of the view's size and fills it for the parameter.
  Result<DeviceBuffer> Filled(const KernelDefinition& definition, const Parameter& parameter, const Dims& dims,
                              const TensorView& view, StreamView stream, Use use);
  Status AddTensor(const KernelDefinition& definition, const Parameter& parameter, const Dims& dims, DType dtype,
                   StreamView stream, Use use);

  // These never grow after Create, because `arguments_` points into them.
  std::vector<TensorView> views_;
  std::vector<std::unique_ptr<DeviceTable>> tables_;
  std::vector<std::uint64_t> scalars_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<std::vector<char>> host_;                  // Sources of copies, until Create has waited.
  std::uintptr_t next_place_ = std::uintptr_t{1} << 20;  // The next address for a tensor without memory.
  std::vector<Argument> arguments_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_WARMUP_INPUTS_H_
