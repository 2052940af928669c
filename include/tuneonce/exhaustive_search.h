#ifndef TUNEONCE_EXHAUSTIVE_SEARCH_H_
#define TUNEONCE_EXHAUSTIVE_SEARCH_H_

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tuneonce/result.h"
#include "compile/compile_pool.h"
#include "tuneonce/toolchain.h"
#include "tuneonce/stream.h"
#include "tuneonce/argument.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/timer.h"
#include "tuneonce/progress.h"
#include "tuneonce/tuning_result.h"

namespace tuneonce {

/// Whether candidates' outputs are checked.
enum class Verify {
  /// With SearchOptions::reference, else with the baseline's. If the baseline fails there is nothing to compare with,
  /// and
  /// all others fail too (FailureKind::kNotVerified). Without a baseline, only that every element was written.
  kAgainstBaseline,
  kOff,  ///< Only that nothing but outputs was written, and these within their bounds.
};

struct SearchOptions {
  /// Compilers. Null (default): ToolchainSet::Default().
  const ToolchainSet* toolchains = nullptr;
  /// How candidates are timed. Null (default): by CUPTI; by events where CUPTI is missing or has another owner, which
  /// TuningResult::notes then says.
  Timer* timer = nullptr;
  /// What is in the L2 cache when a sample begins.
  CacheState cache = CacheState::kDefault;
  /// Outputs are compared with the baseline's before anything is timed. Default kAgainstBaseline. Switch it off for a
  /// kernel whose configs compute different things on purpose.
  Verify verify = Verify::kAgainstBaseline;
  /// Expected outputs instead of the baseline's: one tensor in device memory per Out and InOut parameter, in order,
  /// each spanning as many bytes as the output. All of it counts, also for outputs that may be partial. Default: none.
  std::vector<TensorView> reference;
  /// A winner must be faster than the baseline by this share; else the baseline stays. Default 2 %.
  double baseline_margin = 0.02;
  /// Rounds of the winner against the baseline alone after the race; the winner must keep its margin there. Default 0.
  int final_rounds = 0;
  /// Rounds at most, and no round is begun once the samples add up to this, on the device, or the race has taken this
  /// long. The choice is then made of what is known (TuningResult::is_certain is false). Default 300, 500 ms, 10 s.
  int max_rounds = 300;
  double gpu_budget_ms = 500;
  double wall_budget_ms = 10000;
  /// Device memory that the search may hold at a time (TuningCost::peak_bytes). Where it does not suffice inputs are
  /// not copied; where that does not either, candidates fail (FailureKind::kResources). Default 0: half of what is free
  /// when the search begins. Set it lower where the host allocates while others tune.
  std::size_t memory_budget_bytes = 0;
  /// Decides the order of candidates within rounds. Default 1.
  std::uint64_t seed = 1;
  /// How many candidates are compiled at a time, deadlines, and where artifacts are kept.
  CompileOptions compile;
  /// Ends the search with a Cancelled error soon after it becomes true; a trial that runs is finished first. Null
  /// (default): never.
  const std::atomic<bool>* cancelled = nullptr;
  /// The same, asked on the thread that searches, or waits for another's search, 50 to 100 times a second: for a host
  /// that must look itself whether its user wants an end, as Python. Once true it must stay so until the call that
  /// searches has returned. It must not launch; an exception from it counts as true. Null (default): never.
  std::function<bool()> interrupted;
  /// No progress line. Default false: one is drawn where stderr is a terminal and no callback is set.
  bool quiet = false;
  /// Called on the searching thread after each step. Exceptions from it are dropped.
  ProgressCallback on_progress;
};

/// The search with a definition: compiles and measures every config of its space for the arguments' dims, in the
/// space's order, on a private stream ordered after `stream`. The caller's data is not touched: outputs go to scratch,
/// and inputs are copied, as far as memory allows; where it does not, and a candidate writes its input, the result's
/// notes or the error say which tensor is damaged. No cache is read or written, and DISABLE_AUTOTUNE does not apply.
///
/// REQUIRES: the stream's context is current, and nobody writes the tensors until the search is done. Errors:
/// InvalidArgument (arguments, space, callback), FailedPrecondition (no context, the stream is capturing), Internal
/// when every candidate failed, listing why, and Unavailable or ResourceExhausted where that may pass (no compiler, no
/// process, no memory). A fault in a kernel loses the context: an error with sticky() that names the candidate.
TUNEONCE_API Result<TuningResult> exhaustive_search(const KernelDefinition& definition, StreamView stream,
                                                    const std::vector<Argument>& arguments,
                                                    const SearchOptions& options = {});

/// The same for arguments that are bound already. REQUIRES: `definition` was validated, and what `call` points to
/// outlives the call; `call.problem.target` is the current device's.
TUNEONCE_API Result<TuningResult> exhaustive_search(std::shared_ptr<const KernelDefinition> definition,
                                                    StreamView stream, const BoundCall& call,
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
    const SearchSpace& space, StreamView stream, const std::function<Geometry(const Config&)>& grid_fn,
    const std::function<KernelSource(const Config&)>& kernel_fn,
    const std::function<std::vector<TrialArgument>(const Config&)>& args_fn,
    const std::function<Hints(const Config&)>& hints_fn = nullptr, const SearchOptions& options = {});

}  // namespace tuneonce

#endif  // TUNEONCE_EXHAUSTIVE_SEARCH_H_
