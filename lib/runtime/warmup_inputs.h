#ifndef TUNEONCE_LIB_RUNTIME_WARMUP_INPUTS_H_
#define TUNEONCE_LIB_RUNTIME_WARMUP_INPUTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "launch/device_table.h"
#include "tuneonce/argument.h"
#include "tuneonce/device_buffer.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// What inputs are made for.
struct InputShape {
  Dims dims;
  /// By tensor parameter, in order; where the definition names the dtype, or says whose it is, it may be kAny; may be
  /// empty.
  std::vector<DType> dtypes;
  /// By parameter, the bytes of scalars; those without, and all if it is empty, hold what the definition declares.
  std::vector<std::optional<std::uint64_t>> scalars;
};

/// Arguments for a launch where there is no caller's data: what TunedKernel::Warmup makes of a shape. Inputs hold what
/// the definition declares (Parameter::ForWarmup); floating-point tensors without a declaration pseudo-random numbers
/// from [-1, 1), the same in each process; outputs zeros.
///
/// Move-only. The memory is in the order of a stream, which outlives the object.
class TUNEONCE_API WarmupInputs {
 public:
  enum class Use {
    kSearch,  ///< Something will be measured on them.
    kShapes,  ///< Nothing will: inputs without a declared fill hold zeros.
    kKey,     ///< Nothing will be launched either: there is no memory, and tensors have addresses that nobody reads.
  };

  /// Waits for the stream, but for kKey, which does not use it. Errors: InvalidArgument, naming the parameter, for
  /// what does not fit the definition, for raw memory, and, if they are to search on, for scalars and tensors of
  /// integers or truth values without a declared fill; ResourceExhausted.
  static Result<WarmupInputs> Create(const KernelDefinition& definition, const InputShape& shape, StreamView stream,
                                     Use use = Use::kSearch);

  /// Of device memory, all tensors together.
  std::size_t bytes() const;
  /// In the order of a launch; they point into this object.
  const std::vector<Argument>& arguments() const { return arguments_; }

 private:
  WarmupInputs() = default;
  /// A tensor's place where it needs none: aligned like memory, and apart from the others.
  void* NextPlace(std::size_t bytes);
  /// Tensors by pointers: all have the shape that the dims give them, and lie in one block.
  Status AddTable(const KernelDefinition& definition, const Parameter& parameter, const Dims& dims, DType dtype,
                  StreamView stream, Use use);
  /// Memory of the view's size, with what the parameter is filled with.
  Result<DeviceBuffer> Filled(const KernelDefinition& definition, const Parameter& parameter, const Dims& dims,
                              const TensorView& view, StreamView stream, Use use);
  Status AddTensor(const KernelDefinition& definition, const Parameter& parameter, const Dims& dims, DType dtype,
                   StreamView stream, Use use);

  // Never grow after Create: `arguments_` points into them.
  std::vector<TensorView> views_;
  std::vector<std::unique_ptr<DeviceTable>> tables_;
  std::vector<std::uint64_t> scalars_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<std::vector<char>> host_;                  // What is copied from, until Create has waited.
  std::uintptr_t next_place_ = std::uintptr_t{1} << 20;  // Of what has no memory.
  std::vector<Argument> arguments_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_WARMUP_INPUTS_H_
