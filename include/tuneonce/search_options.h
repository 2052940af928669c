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

/// Whether candidates' outputs are verified.
enum class Verify {
  /// Outputs are compared with SearchOptions::reference, else with the baseline's. If the baseline fails there is
  /// nothing to compare with, and all others fail too (OutcomeKind::kNotVerified). Without a baseline, the search only
  /// checks that every element was written.
  kAgainstBaseline,
  kOff,  ///< Outputs are not compared. The search only checks that a candidate wrote nothing but its outputs.
};

/// Where candidates run.
enum class Isolation {
  kOff,  ///< Candidates run in this process and in the current context, which is lost if a candidate faults.
  /// Candidates run in a worker process with its own context, which is replaced when a candidate crashes or hangs it.
  /// If that is not possible (docs/isolation.md), they run in this process, which TuningRecord::notes then states.
  kPreferred,
  /// Candidates run in a worker process. If that is not possible, the search fails (FailedPrecondition,
  /// ResourceExhausted).
  kRequired,
};

/// Options of a search.
struct SearchOptions {
  /// Provides compilers, the limit of compiles at a time, CUPTI and the environment. Null (default):
  /// Runtime::Default().
  std::shared_ptr<Runtime> runtime;
  /// How candidates are timed. Null (default): by CUPTI, or by events if CUPTI is missing or has another owner, which
  /// TuningRecord::notes then states.
  Timer* timer = nullptr;
  /// The content of the L2 cache when a sample begins (timer.h). Default CacheState::kDefault.
  CacheState cache = {};
  /// How outputs are verified before anything is timed. Default kAgainstBaseline. Set kOff for a kernel whose configs
  /// compute different results on purpose.
  Verify verify = Verify::kAgainstBaseline;
  /// Expected outputs in place of the baseline's: one tensor in device memory per Out and InOut parameter, in order,
  /// each with as many bytes as the output. All elements are compared, also for outputs that may be partial. Default:
  /// none.
  std::vector<TensorView> reference;
  /// How much faster than the baseline a winner must be, as a fraction; otherwise the baseline is selected. Default
  /// 0.02.
  double baseline_margin = 0.02;
  /// Number of rounds in which only the winner and the baseline run after the race. The winner must keep its margin
  /// there. Default 0. A search that is distributed over ranks ignores it, because its finals run on all ranks.
  int final_rounds = 0;
  /// Whether the energy of a launch is measured for each finalist (CandidateOutcome::energy_mj), which takes about a
  /// second for each. Default false.
  bool measure_energy = false;
  /// Limits of the race. No round begins after `max_rounds` rounds, after the samples took `gpu_budget_ms` on the
  /// device, or after `race_budget_ms` of wall time. The winner is then selected from the rounds so far, and
  /// TuningRecord::is_conclusive is false. Defaults 300, 500 ms and 10 s.
  int max_rounds = 300;
  /// Limit of the race: total device time of its samples, in milliseconds (see `max_rounds`).
  double gpu_budget_ms = 500;
  /// Limit of the race: wall time, in milliseconds (see `max_rounds`).
  double race_budget_ms = 10000;
  /// For a matmul (KernelDefinition::Matmul) with more configs than this: the number of configs to try in addition to
  /// the baseline, namely those nearest to the proposals of NVIDIA's library nvMatmulHeuristics. Without that library
  /// or its proposals, all configs are tried. 0: all configs. Default 16.
  int max_proposed = 16;
  /// Limit of the wall time of the whole search in milliseconds, compiling included. The race gets as much of it as it
  /// may need, but at most half. Candidates that were not compiled or tried in time are TuningRecord::not_measured.
  /// Running compilers are stopped, except NVRTC, which finishes its compile. The baseline is compiled and measured in
  /// any case, or without one the candidate that compiles cheapest, so that there is a result. Default 0: no limit.
  double wall_budget_ms = 0;
  /// Device memory in bytes that the search may hold at a time (TuningCost::peak_bytes). If it does not suffice for
  /// copies of the inputs, the baseline is selected without trying others (see `allow_trials_in_place`). If it does not
  /// suffice for a candidate's own memory, that candidate fails (OutcomeKind::kResources). Default 0: half of what is
  /// free when the search begins. Set it lower if the host allocates memory while other threads tune.
  std::size_t memory_budget_bytes = 0;
  /// Whether candidates may run on the caller's own inputs if memory does not suffice for copies. Checksums then detect
  /// an overwritten input. That is an error of the search, and of the launch or warm-up that started it
  /// (StatusCode::kDataLoss), which names the tensor, and nothing is stored. Default false: only the baseline runs on
  /// them, the others are TuningRecord::not_measured, and TuningRecord::notes states which tensor was too large.
  bool allow_trials_in_place = false;
  /// Where candidates run. A worker's context needs device memory of its own, and is kept between searches that follow
  /// each other. Default kOff. The `tuneonce` command and the Python package use kPreferred.
  Isolation isolation = Isolation::kOff;
  /// In a worker, how long a candidate may take to be loaded, run and verified, and by how much a round of the race may
  /// exceed what its candidates took before, in milliseconds. After that the worker is ended and the candidate failed
  /// (OutcomeKind::kTimeout). It is capped at `wall_budget_ms`, but is at least one second. 0: no limit. Default 10 s.
  double candidate_deadline_ms = 10000;
  /// Seed for the order of candidates within rounds. Default 1.
  std::uint64_t seed = 1;
  /// Options of the compiles: how many run at a time, deadlines, and the store of artifacts.
  CompileOptions compile;
  /// Ends the search with a Cancelled error soon after it becomes true. A running trial is finished first. Null
  /// (default): never.
  const std::atomic<bool>* cancelled = nullptr;
  /// Ends the search with a Cancelled error when it returns true. It is called 50 to 100 times a second on the thread
  /// that searches, or that waits for another thread's search. It is for hosts that must poll for an interrupt, as
  /// Python does. Once true it must stay true until the call that searches has returned. It must not launch, and an
  /// exception from it counts as true. Null (default): never.
  std::function<bool()> interrupted;
  /// Whether to suppress the progress line. Default false: a line is drawn if stderr is a terminal and no callback is
  /// set.
  bool quiet = false;
  /// Called on the searching thread after each step. Exceptions from it are dropped.
  std::function<void(const SearchProgress&)> on_progress;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_SEARCH_OPTIONS_H_
