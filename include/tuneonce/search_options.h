#ifndef TUNEONCE_SEARCH_OPTIONS_H_
#define TUNEONCE_SEARCH_OPTIONS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tuneonce/compile_options.h"
#include "tuneonce/tensor_view.h"

namespace tuneonce {
inline namespace v0 {

enum class CacheState;
struct SearchProgress;
class Runtime;
class Timer;

/// Whether candidates' outputs are checked.
enum class Verify {
  /// With SearchOptions::reference, else with the baseline's. If the baseline fails there is nothing to compare with,
  /// and
  /// all others fail too (FailureKind::kNotVerified). Without a baseline, only that every element was written.
  kAgainstBaseline,
  kOff,  ///< Only that nothing but outputs was written, and these within their bounds.
};

/// Where candidates are run.
enum class Isolation {
  kOff,  ///< In this process and context, which a candidate that faults takes with it.
  /// In a worker process with a context of its own, which is replaced when a candidate ends or hangs it. Where that
  /// cannot be (docs/isolation.md) in this process, which TuningResult::notes then says.
  kPreferred,
  kRequired,  ///< In a worker process; where that cannot be the search fails (FailedPrecondition, ResourceExhausted).
};

struct SearchOptions {
  /// Compilers, the limit of compiles at a time, CUPTI, and the environment. Null (default): Runtime::Default().
  std::shared_ptr<Runtime> runtime;
  /// How candidates are timed. Null (default): by CUPTI; by events where CUPTI is missing or has another owner, which
  /// TuningResult::notes then says.
  Timer* timer = nullptr;
  /// What is in the L2 cache when a sample begins (timer.h). Default CacheState::kDefault.
  CacheState cache = {};
  /// Outputs are compared with the baseline's before anything is timed. Default kAgainstBaseline. Switch it off for a
  /// kernel whose configs compute different things on purpose.
  Verify verify = Verify::kAgainstBaseline;
  /// Expected outputs instead of the baseline's: one tensor in device memory per Out and InOut parameter, in order,
  /// each spanning as many bytes as the output. All of it counts, also for outputs that may be partial. Default: none.
  std::vector<TensorView> reference;
  /// A winner must be faster than the baseline by this share; else the baseline stays. Default 2 %.
  double baseline_margin = 0.02;
  /// Rounds of the winner against the baseline alone after the race; the winner must keep its margin there. Default 0.
  /// A search that ranks share out has none: its finals are on all of them.
  int final_rounds = 0;
  /// Rounds at most, and no round is begun once the samples add up to this, on the device, or the race has taken this
  /// long. The choice is then made of what is known (TuningResult::is_certain is false). Default 300, 500 ms, 10 s.
  int max_rounds = 300;
  double gpu_budget_ms = 500;
  double race_budget_ms = 10000;
  /// Of a matmul (KernelDefinition::Matmul) with more configs than this: how many are tried at most, besides the
  /// baseline, where a model proposes some. 0: all configs. Default 16.
  int max_proposed = 16;
  /// Wall time of the whole search, compiling included, of which the race is left as much as it may take, but half at
  /// most. What was not compiled, or not tried, when its time ended is TuningResult::not_measured; compilers that run
  /// are stopped (NVRTC, which cannot be, ends its compile first). The baseline, or without one what compiles cheapest,
  /// is compiled and measured all the same, so that there is a result. Default 0: no limit.
  double wall_budget_ms = 0;
  /// Device memory that the search may hold at a time (TuningCost::peak_bytes). Where it does not suffice for copies of
  /// the inputs, the baseline is selected without trying others (`allow_trials_in_place`); where it does not suffice
  /// for a candidate's own memory, that candidate fails (FailureKind::kResources). Default 0: half of what is free when
  /// the search begins. Set it lower where the host allocates while others tune.
  std::size_t memory_budget_bytes = 0;
  /// Try candidates on the caller's own inputs where these cannot be copied for lack of memory, and detect by checksums
  /// whether one was overwritten. That is an error of the search, and of the launch or warm-up that made it
  /// (StatusCode::kDataLoss), which names the tensor; nothing is stored then. Default false: only the baseline runs on
  /// them, the others are TuningResult::not_measured, and TuningResult::notes states which tensor was too large.
  bool allow_trials_in_place = false;
  /// Where candidates are run. A worker's context takes device memory of its own while searches follow each other.
  /// Default kOff; the command and Python have kPreferred.
  Isolation isolation = Isolation::kOff;
  /// In a worker: how long a candidate may take to be loaded, run and checked, and each round of the race beyond what
  /// its candidates took before; then the worker is ended, and the candidate has failed (FailureKind::kTimeout).
  /// No longer than `wall_budget_ms`, but a second at least. 0: no limit. Default 10 s.
  double candidate_deadline_ms = 10000;
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
  std::function<void(const SearchProgress&)> on_progress;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_SEARCH_OPTIONS_H_
