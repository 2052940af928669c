#ifndef TUNEONCE_EXHAUSTIVE_SEARCH_H_
#define TUNEONCE_EXHAUSTIVE_SEARCH_H_

#include <cuda.h>

#include <cstring>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "tuneonce/arguments.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// Compiles and measures every config of the definition's space for the arguments' dims, and returns the fastest that
/// is correct. Configs are compiled in the space's order. Trials run on the current context's device, on a private
/// stream that is ordered after `stream`. The caller's data is not touched: outputs go to scratch memory, and inputs
/// are copied as far as memory allows. Where it does not, and a candidate writes its input, the result's notes or the
/// error name the damaged tensor. The search reads and writes no store, and ignores DISABLE_AUTOTUNE.
///
/// REQUIRES: the stream's context is current, and nobody writes the tensors until the search is done. Errors:
/// InvalidArgument (arguments, space, options, callback); FailedPrecondition (no context, capturing stream); Internal
/// when every candidate failed, with the reasons; Unavailable or ResourceExhausted for a transient reason (no compiler,
/// no process, no memory). A fault in a kernel loses the context: the error is sticky() and names the candidate.
TUNEONCE_API Result<TuningRecord> exhaustive_search(const KernelDefinition& definition, CUstream stream,
                                                    const std::vector<Argument>& arguments,
                                                    const SearchOptions& options = {});

/// One kernel argument of a search that has no KernelDefinition.
class TUNEONCE_API TrialArgument {
 public:
  /// Memory that the kernel only reads. Without a size (`bytes` is 0) it is neither copied nor checked, so that a
  /// kernel that writes it anyway writes the caller's data.
  static TrialArgument In(const void* pointer, std::size_t bytes = 0) {
    return TrialArgument(Access::kIn, const_cast<void*>(pointer), bytes);
  }
  /// Memory that the kernel writes. Trials write scratch memory in its place, so the size is required. Without a dtype
  /// its values cannot be compared with the baseline's.
  static TrialArgument Out(void* pointer, std::size_t bytes, DType dtype = DType::kAny) {
    return TrialArgument(Access::kOut, pointer, bytes, dtype);
  }
  /// Memory that the kernel reads and writes. Each trial starts from a copy of the caller's bytes, so the size is
  /// required. Without a dtype its values cannot be compared with the baseline's.
  static TrialArgument InOut(void* pointer, std::size_t bytes, DType dtype = DType::kAny) {
    return TrialArgument(Access::kInOut, pointer, bytes, dtype);
  }
  /// A number that the kernel takes by value, with the dtype of its C++ type.
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  TrialArgument(T scalar) : dtype_(ScalarDType<T>()) {  // NOLINT(google-explicit-constructor)
    std::memcpy(&word_, &scalar, sizeof(scalar));
  }

  /// Declares that the kernel leaves some elements of this output unwritten; see Parameter::MayBePartial.
  TrialArgument MayBePartial() && {
    may_be_partial_ = true;
    return std::move(*this);
  }
  /// Sets by how much this output may differ from the baseline's; see Parameter::Within.
  TrialArgument Within(Tolerance tolerance) && {
    tolerance_ = tolerance;
    return std::move(*this);
  }

  bool may_be_partial() const { return may_be_partial_; }
  const std::optional<Tolerance>& tolerance() const { return tolerance_; }
  bool is_pointer() const { return is_pointer_; }
  Access access() const { return access_; }
  DType dtype() const { return dtype_; }
  const TensorView& memory() const { return memory_; }
  const void* scalar() const { return &word_; }

 private:
  TrialArgument(Access access, void* pointer, std::size_t bytes, DType dtype = DType::kAny)
      : is_pointer_(true), access_(access), memory_(TensorView::Raw(pointer, bytes)) {
    memory_.dtype = dtype;
  }

  bool is_pointer_ = false;
  Access access_ = Access::kIn;
  DType dtype_ = DType::kAny;
  TensorView memory_;
  std::uint64_t word_ = 0;
  bool may_be_partial_ = false;
  std::optional<Tolerance> tolerance_;
};

/// Searches without a KernelDefinition, with the names that cuTile uses. For each config, `grid_fn` returns the launch
/// geometry, `kernel_fn` the source, `args_fn` the kernel arguments in order, and `hints_fn` the compiler hints (null:
/// the values of the config's hint axes). Trials, requirements and errors are those of the search with a
/// KernelDefinition.
TUNEONCE_API Result<TuningRecord> exhaustive_search(
    const SearchSpace& space, CUstream stream, const std::function<Geometry(const Config&)>& grid_fn,
    const std::function<KernelSource(const Config&)>& kernel_fn,
    const std::function<std::vector<TrialArgument>(const Config&)>& args_fn,
    const std::function<Hints(const Config&)>& hints_fn = nullptr, const SearchOptions& options = {});

/// Searches over launches that the host makes itself. `launch_fn` enqueues a config's work on the stream (Callable
/// documents its duties). It reads the arguments that `args_fn` returned for the config by index. If `args_fn` is null,
/// the launches have no arguments, and nothing is verified. Trials, requirements and errors are those of the search
/// with a KernelDefinition.
TUNEONCE_API Result<TuningRecord> exhaustive_search(
    const SearchSpace& space, CUstream stream, const Variant::LaunchFn& launch_fn,
    const std::function<std::vector<TrialArgument>(const Config&)>& args_fn = nullptr,
    const SearchOptions& options = {});

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_EXHAUSTIVE_SEARCH_H_
