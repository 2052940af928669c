#ifndef TUNEONCE_AUTOTUNE_POLICY_H_
#define TUNEONCE_AUTOTUNE_POLICY_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tuneonce/arguments.h"
#include "tuneonce/plugin/rank_group.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/plugin/wait_limits.h"

namespace tuneonce {
inline namespace v0 {

enum class CacheState;
struct SearchProgress;
class SearchStrategy;
struct StrategySpace;
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
  /// If that is not possible (docs/verification.md), they run in this process, which TuningRecord::notes then states.
  kPreferred,
  /// Candidates run in a worker process. If that is not possible, the search fails (FailedPrecondition,
  /// ResourceExhausted).
  kRequired,
};

/// Which configs of its space a search tries, and in which order. docs/spaces.md compares them.
enum class Strategy {
  kAutomatic,   ///< kExhaustive for a space of up to SearchSpace::MaxConfigs configs, kGuided for a larger one.
  kExhaustive,  ///< All configs. If a budget ends the search first, a random sample of them.
  /// A model of what was measured so far proposes configs. The search ends when it expects to gain less than 1 %.
  kGuided,
  kRandom,  ///< Configs at random until a budget ends the search, to compare with.
};

/// How long a search and its parts may take. A limit may have fractions of a millisecond.
struct Budgets {
  /// A duration in milliseconds, to which all durations of std::chrono convert: `budgets.wall =
  /// std::chrono::seconds(5)`.
  using Milliseconds = std::chrono::duration<double, std::milli>;

  /// Wall time of the whole search, enumerating, planning and compiling included. The race gets as much of it as it
  /// may need, but at most half. Candidates that were not compiled or tried in time are counted in
  /// TuningRecord::num_not_measured. Which ones were is a random sample, or in a guided search the strategy's choice.
  /// Running compilers are stopped. NVRTC is one of them unless tuneonce_worker is missing: it then finishes its
  /// front end. The baseline is compiled and measured in any case, or without one the first candidate, so that there
  /// is a result. Default 0: no limit.
  Milliseconds wall{0};
  /// The most configs that the search compiles or runs, the baseline included. The search is then cut short: its record
  /// (TuningRecord::is_complete) serves, and a later process continues the search (TunedKernel::TunePending), which
  /// runs the baseline and at most three of the fastest configs again, and up to `trials` others. Default 0: no limit.
  int trials = 0;
  /// Wall time of the race. No round begins after it, nor after SearchOptions::max_rounds rounds, nor after `gpu`. The
  /// winner is then selected from the rounds so far, and TuningRecord::is_conclusive is false. Default 10 s.
  Milliseconds race = std::chrono::seconds(10);
  /// Device time of all samples of the race together (see `race`). The trials of a search that is not exhaustive may
  /// take ten times as much before the race. Then the search is cut short. Default 500 ms.
  Milliseconds gpu = std::chrono::milliseconds(500);
  /// In a worker, how long a candidate may take to be loaded, run and verified, and by how much a round of the race may
  /// exceed what its candidates took before. After that the worker is ended and the candidate failed
  /// (OutcomeKind::kTimeout). It is capped at `wall`, but is at least one second. 0: no limit. Default 10 s.
  Milliseconds candidate = std::chrono::seconds(10);
};

/// Options of a search.
struct SearchOptions {
  /// Provides compilers, the limit of compiles at a time, CUPTI and the environment. Null (default):
  /// Runtime::Default().
  std::shared_ptr<Runtime> runtime;
  /// How candidates are timed. Null (default): by CUPTI, or by events if CUPTI is missing or has another owner, which
  /// TuningRecord::notes then states.
  Timer* timer = nullptr;
  /// The content of the L2 cache when a sample begins (plugin/timer.h). Default CacheState::kDefault.
  CacheState cache = {};
  /// How outputs are verified before anything is timed. Default kAgainstBaseline. Set kOff for a kernel whose configs
  /// compute different results on purpose.
  Verify verify = Verify::kAgainstBaseline;
  /// Expected outputs in place of the baseline's: one tensor in device memory per Out and InOut parameter, in order,
  /// each with as many bytes as the output. All elements are compared, also for outputs that may be partial. Default:
  /// none.
  std::vector<TensorView> reference;
  /// Which configs are tried. Default kAutomatic.
  Strategy strategy = Strategy::kAutomatic;
  /// Makes the strategy of a search that is not exhaustive, in place of `strategy`'s, for the valid configs of the
  /// problem. It is called on the searching thread. Null (default): the library's (plugin/search_strategy.h).
  std::function<std::unique_ptr<SearchStrategy>(StrategySpace space)> make_strategy;
  /// How much faster than the baseline a winner must be, as a fraction; otherwise the baseline is selected. Default
  /// 0.02.
  double baseline_margin = 0.02;
  /// Number of rounds in which only the winner and the baseline run after the race. The winner must keep its margin
  /// there. Default 0. A search that is distributed over ranks ignores it, because its finals run on all ranks.
  int final_rounds = 0;
  /// Whether the energy of a launch is measured for each finalist (CandidateOutcome::energy_mj), which takes about a
  /// second for each. Default false.
  bool measure_energy = false;
  /// The most rounds of the race (see Budgets::race). Default 300.
  int max_rounds = 300;
  /// How long the search and its parts may take.
  Budgets budgets;
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
  /// Seed for the order of candidates within rounds. Default 1.
  std::uint64_t seed = 1;
  /// Options of the compiles: how many run at a time, deadlines, and the store of artifacts.
  CompileOptions compile;
  /// Ends the search with a Cancelled error, also where it waits for another thread's search. A running trial is
  /// finished first. A launch or warm-up that it ends returns the error. So does a call that searches nothing but has
  /// to compile, such as Pin, or a launch whose fallback config is new: reset a flag that such calls shall outlast.
  /// Default: never.
  StopToken stop;
  /// Whether to suppress the progress line. Default false: a line is drawn if stderr is a terminal and no callback is
  /// set.
  bool quiet = false;
  /// Called on the searching thread after each step. Exceptions from it are dropped.
  std::function<void(const SearchProgress&)> on_progress;
};

class AutotuneObserver;
class RecordStore;
enum class RecordMatch;

/// Options of a TunedKernel: when it tunes, and what it does when it cannot. All defaults suit an inference engine.
struct AutotunePolicy {
  /// What a launch does when its key is new. TunedKernel::Freeze ends all tuning, whatever the mode. docs/production.md
  /// has a table of all cases.
  enum class Mode {
    /// Use the stored config, or search now. Other threads and processes that need the key wait. The stored config of a
    /// search that was cut short is used at once, in every mode, and the search is continued at idle points only
    /// (TunedKernel::TunePending). This is the default.
    kTuneOnMiss,
    /// Use the stored config. Without one, run the fallback config and keep the key pending until the host calls
    /// TunedKernel::TunePending or Warmup. No launch waits for a search, and nothing is measured while other work runs.
    kTuneDeferred,
    /// Use the stored config. Without one, run the fallback config. Nothing is searched or compiled, because stored
    /// code is loaded.
    kStoredOnly,
    /// Always run the fallback config. Nothing is measured, stored or looked up.
    kFallbackOnly,
  };
  /// The mode of the kernel. The environment variable DISABLE_AUTOTUNE (or TUNEONCE_DISABLE_AUTOTUNE) of the Runtime
  /// overrides it with kFallbackOnly.
  Mode mode = Mode::kTuneOnMiss;
  /// What runs for a key that has no record before it is tuned.
  enum class OnNewKey {
    kTune,  ///< What `mode` states: a search, or the fallback config. This is the default.
    /// The config that a model of the kernel's records for other keys predicts, or that the nearest of them selected
    /// where they are too few for a model. It runs only if it is verified: an exact key's extents must be of classes at
    /// which its code was selected, and so verified, for other keys (docs/verification.md). Otherwise, where a launch
    /// or warm-up may search, it is compared with the baseline, and the faster of the two runs. A prediction is not
    /// stored, and its LaunchPlan::origin is kPredicted. Its key stays pending until TunePending, which searches. In
    /// mode kStoredOnly, which searches nothing, the prediction runs until the process ends. Ranks and kernels with a
    /// `selection_group` do not predict.
    kPredict,
  };
  OnNewKey on_new_key = OnNewKey::kTune;
  /// Options of the searches that misses start. They have SearchOptions' defaults, except that `quiet` is true.
  SearchOptions search = QuietSearch();
  /// Where records are stored, and artifacts too if `search.compile.cache` is null. Null (default): the store of
  /// `search.runtime`, which is the user's file on disk.
  std::shared_ptr<RecordStore> store;
  /// The weakest match of a stored record that is used without a search. Default kExact. kOtherDriver keeps selected
  /// configs across driver updates. kOtherDevice accepts a record of any device, for a fleet that ships one.
  RecordMatch min_match = {};
  /// Whether results that were measured under a profiler (CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH) are stored.
  /// Default false: they serve this process only.
  bool store_under_profiler = false;
  /// How long a launch (in mode kTuneOnMiss) or a warm-up waits for another process that tunes the same key. After
  /// that, launches run the fallback config (Counters::busy_elsewhere) and later launches check again. Two processes
  /// never search for the same key at the same time. Default two minutes, which is twice as long as a search of 30
  /// configs takes when they are compiled on a busy machine. 0: do not wait.
  std::chrono::milliseconds max_wait = std::chrono::minutes(2);
  /// What a launch does when its key could not be tuned.
  enum class OnTuneError {
    /// Run the fallback config and notify the observer (default). The launch still returns an error if the context was
    /// lost, if the search was stopped (SearchOptions::stop) or if it damaged the launch's inputs
    /// (StatusCode::kDataLoss).
    kUseFallback,
    /// Return the error from the launch that searched or waited for the search. Later launches run the fallback config.
    kReturn,
  };
  OnTuneError on_tune_error = OnTuneError::kUseFallback;
  /// How long to wait before a key is tuned again when its tune failed for a transient reason
  /// (IsTransient) or another process tuned it. The time doubles with each failure, up to five minutes, and launches
  /// run the fallback config meanwhile. After other failures, launches do not try the key again, but
  /// TunedKernel::Warmup and WarmupAll do. Default one second, which is how long a shortage of processes or memory
  /// lasts.
  std::chrono::milliseconds retry_after = std::chrono::seconds(1);
  /// Whether a bucket is tuned at its upper bound where memory allows. If false, or if memory does not suffice, it is
  /// tuned at the launch's own shape. Default true.
  bool tune_at_bucket_bound = true;
  /// Maximum number of keys that are loaded, each with its selected config and its fallback config. When it is
  /// exceeded, the oldest keys are dropped by the next call of TunePending or Warmup, never by a launch. After Freeze
  /// only keys that were loaded later are dropped. The next launch of a dropped key is a miss, which the store serves.
  /// Default 65536: more shapes than a server meets in a day, in about ten megabytes.
  std::size_t max_ready_keys = 65536;
  /// In mode kTuneDeferred, the device memory in bytes that the kernel may hold in each context for copies of the
  /// inputs of pending keys, so that each key is tuned on real data. Keys whose inputs do not fit, or cannot be copied,
  /// are tuned on the values that the definition declares (Parameter::ForWarmup). Default 256 MiB. 0: no inputs are
  /// copied.
  std::size_t kept_inputs_bytes = std::size_t{256} << 20;
  /// Receives notifications about misses. Null (default): no notifications. Warnings go to the Runtime's log in any
  /// case.
  std::shared_ptr<AutotuneObserver> observer;
  /// Name of a group of kernels that share selected configs: kernels with the same name here, the same configs and the
  /// same values of TuningKey::key_words run the same config. The first kernel that meets a key tunes it, and the
  /// others compile that config without measuring it. TunePending does not continue a search that was cut short. Use it
  /// for a backward pass that must run with the forward pass's config. Empty (default): each kernel selects its own
  /// configs.
  std::string selection_group;
  /// Other processes or threads that run the same config for each key (docs/production.md). Default: none.
  RankPolicy ranks;

 private:
  static SearchOptions QuietSearch() {
    SearchOptions options;
    options.quiet = true;
    return options;
  }
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_AUTOTUNE_POLICY_H_
