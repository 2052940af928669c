#ifndef TUNEONCE_EXHAUSTIVE_SEARCH_H_
#define TUNEONCE_EXHAUSTIVE_SEARCH_H_

#include <cuda.h>

#include <cstring>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "tuneonce/argument.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"
#include "tuneonce/search_options.h"
#include "tuneonce/tuning_result.h"

namespace tuneonce {
inline namespace v0 {

/// The search with a definition: compiles and measures every config of its space for the arguments' dims, in the
/// space's order, on a private stream ordered after `stream`, of the current context's device. The caller's data is not
/// touched: outputs go to scratch, and inputs are copied, as far as memory allows; where it does not, and a candidate
/// writes its input, the result's notes or the error say which tensor is damaged. No cache is read or written, and
/// DISABLE_AUTOTUNE does not apply.
///
/// REQUIRES: the stream's context is current, and nobody writes the tensors until the search is done. Errors:
/// InvalidArgument (arguments, space, callback), FailedPrecondition (no context, the stream is capturing), Internal
/// when every candidate failed, listing why, and Unavailable or ResourceExhausted where that may pass (no compiler, no
/// process, no memory). A fault in a kernel loses the context: an error with sticky() that names the candidate.
TUNEONCE_API Result<TuningResult> exhaustive_search(const KernelDefinition& definition, CUstream stream,
                                                    const std::vector<Argument>& arguments,
                                                    const SearchOptions& options = {});

/// One kernel argument of a search without a definition.
class TUNEONCE_API TrialArgument {
 public:
  /// Memory that the kernel only reads. Without a size (0) it is neither copied nor checked: a kernel that writes it
  /// all the same writes the caller's.
  static TrialArgument In(const void* pointer, std::size_t bytes = 0) {
    return TrialArgument(Access::kIn, const_cast<void*>(pointer), bytes);
  }
  /// Memory that the kernel writes (and reads): moved to scratch in trials, hence the size. Without a dtype its values
  /// cannot be compared with the baseline's.
  static TrialArgument Out(void* pointer, std::size_t bytes, DType dtype = DType::kAny) {
    return TrialArgument(Access::kOut, pointer, bytes, dtype);
  }
  static TrialArgument InOut(void* pointer, std::size_t bytes, DType dtype = DType::kAny) {
    return TrialArgument(Access::kInOut, pointer, bytes, dtype);
  }
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  TrialArgument(T scalar) : dtype_(ScalarDType<T>()) {  // NOLINT(google-explicit-constructor)
    std::memcpy(&word_, &scalar, sizeof(scalar));
  }

  /// Of an output: as Parameter::MayBePartial and Parameter::Within.
  TrialArgument MayBePartial() && {
    may_be_partial_ = true;
    return std::move(*this);
  }
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

/// The engine alone, with the names that cuTile's users know: `grid_fn` gives the launch geometry of a config,
/// `kernel_fn` its source, `args_fn` its kernel arguments in order, `hints_fn` its compiler hints (null: the config's
/// hint axes). Errors and the rest as above.
TUNEONCE_API Result<TuningResult> exhaustive_search(
    const SearchSpace& space, CUstream stream, const std::function<Geometry(const Config&)>& grid_fn,
    const std::function<KernelSource(const Config&)>& kernel_fn,
    const std::function<std::vector<TrialArgument>(const Config&)>& args_fn,
    const std::function<Hints(const Config&)>& hints_fn = nullptr, const SearchOptions& options = {});

/// The same over what the host launches itself: `launch_fn` puts a config's work into the stream (Callable says how it
/// must behave), on the arguments that `args_fn` gives for it, by index; null: none, and nothing is verified.
TUNEONCE_API Result<TuningResult> exhaustive_search(
    const SearchSpace& space, CUstream stream, const Variant::LaunchFn& launch_fn,
    const std::function<std::vector<TrialArgument>(const Config&)>& args_fn = nullptr,
    const SearchOptions& options = {});

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_EXHAUSTIVE_SEARCH_H_
