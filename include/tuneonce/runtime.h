#ifndef TUNEONCE_RUNTIME_H_
#define TUNEONCE_RUNTIME_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// One step of a search, for a host's own display.
struct SearchProgress {
  /// The stages of a search, in order.
  enum class Stage {
    kCompile,  ///< Candidates are compiled.
    /// Each candidate runs once, is timed, and its outputs are compared. On a GPU, other candidates are compiled
    /// meanwhile.
    kMeasure,
    kRace,  ///< The correct candidates are timed, round by round.
    kDone,  ///< The search is over. No further step follows.
  };

  Stage stage = Stage::kCompile;
  /// Number of candidates finished in this stage. In kRace, number of candidates that were eliminated.
  int done = 0;
  int total = 0;  ///< Number of candidates of this stage.
  /// The definition's name.
  std::string kernel;
  std::string key;     ///< The key that is tuned: "M<=64, x:float16". Empty in a search without dims.
  std::string config;  ///< The candidate that was just finished. Empty in kRace.
  /// Number of worker processes that the search has lost so far (TuningCost::workers_replaced).
  int workers_replaced = 0;
  /// Estimated time until this stage ends, in seconds, from its finished candidates. For kRace it is the most that the
  /// budgets of the race allow, because the race ends earlier when the result is conclusive. Never beyond
  /// Budgets::wall. Empty: unknown.
  std::optional<double> seconds_left;
  /// The fraction by which a guided search expects its next trials to beat the best time so far. It ends below 0.01.
  /// Empty: unknown, or the search is not guided.
  std::optional<double> expected_gain;
};

/// Receives the steps of a search, on the thread that searches.
using ProgressCallback = std::function<void(const SearchProgress&)>;

/// Returns a step as one line of text for a terminal: "kernel key: compiled 3/12, 4 s left  {config}".
TUNEONCE_API std::string ProgressLine(const SearchProgress& progress);

/// Returns a callback that draws a progress line on stderr, or null if stderr is not a terminal. `before` is called at
/// each step and returns the beginning of the line, for example "3/40 " in a program that makes many searches. Null
/// (default): the line has no such beginning.
TUNEONCE_API ProgressCallback TerminalProgress(std::function<std::string()> before = nullptr);

/// What a TunedKernel holds at a moment. These values rise and fall: gauges, in the terms of metrics.
struct Gauges {
  /// Kernels whose code is loaded. Keys that run the same config with the same code on a device share them: at most
  /// two, one as a selected config and one as a fallback config.
  std::int64_t loaded_kernels = 0;
  /// Configs that are ready to launch, counted for each key. A key usually has two: its selected config and its
  /// fallback config.
  std::int64_t ready_entries = 0;
  /// Keys that wait for TunePending. They run the fallback config until then or, where a record of a search that was
  /// cut short serves, the config of that record.
  std::int64_t pending_keys = 0;
  std::int64_t pinned_keys = 0;  ///< Keys that run a pinned config.
  /// Device memory, in bytes, that copies of the inputs of pending keys use. AutotunePolicy::kept_inputs_bytes is the
  /// limit.
  std::int64_t kept_inputs_bytes = 0;
};

/// What happened in a TunedKernel since its creation. All values but those of `now` only grow.
struct Counters {
  /// Launches whose key was loaded already, so that they neither searched nor read the store.
  std::int64_t hits = 0;
  std::int64_t tunes = 0;        ///< Searches that ran.
  std::int64_t stored_hits = 0;  ///< Keys served from a stored record, without a search.
  std::int64_t predictions = 0;  ///< Keys served by a prediction (AutotunePolicy::on_new_key).
  std::int64_t waits = 0;        ///< Launches that waited for another thread's search.
  std::int64_t fallbacks = 0;    ///< Launches that ran the fallback config in place of a selected one.
  /// Launches after Freeze, outside captures, whose key was not loaded. They also count in `fallbacks`.
  std::int64_t frozen_misses = 0;
  std::int64_t failed_tunes = 0;  ///< Failed attempts to tune a key. AutotunePolicy states when a key is tried again.
  double tuning_seconds = 0;      ///< Wall time of searches, in seconds.
  double tuning_gpu_seconds = 0;  ///< Device time of searches (TuningCost::gpu_seconds), in seconds.
  /// Launches on a capturing stream whose key was not loaded. They ran the fallback config or returned an error.
  std::int64_t capture_misses = 0;
  std::int64_t busy_elsewhere = 0;   ///< Launches that did not tune because another process was tuning their key.
  std::int64_t inputs_not_kept = 0;  ///< Misses in mode kTuneDeferred whose inputs could not be copied.
  // How often a lookup in the store found no record that serves the key, by RecordMiss.
  std::int64_t misses_no_record = 0;     ///< Lookups in the store that ended with RecordMiss::kNoRecord.
  std::int64_t misses_other_driver = 0;  ///< Lookups that ended with RecordMiss::kOtherDriver.
  std::int64_t misses_other_device = 0;  ///< Lookups that ended with RecordMiss::kOtherDevice.
  std::int64_t misses_other_source = 0;  ///< Lookups that ended with RecordMiss::kOtherSource.
  std::int64_t misses_refused = 0;       ///< Lookups that ended with RecordMiss::kRefused.
  std::int64_t workers_replaced = 0;     ///< Worker processes that searches lost (TuningCost::workers_replaced).
  Gauges now;                            ///< What the kernel holds now.
};

/// Calls `fields(name, value)` for each gauge.
template <typename Fields>
void VisitFields(Fields& fields, const Gauges& gauges) {
  fields("loaded_kernels", gauges.loaded_kernels);
  fields("ready_entries", gauges.ready_entries);
  fields("pending_keys", gauges.pending_keys);
  fields("pinned_keys", gauges.pinned_keys);
  fields("kept_inputs_bytes", gauges.kept_inputs_bytes);
}

/// Calls `fields(name, value)` for each counter, but not for Counters::now, so that a program can export all of them as
/// metrics by their names.
template <typename Fields>
void VisitFields(Fields& fields, const Counters& counters) {
  fields("hits", counters.hits);
  fields("tunes", counters.tunes);
  fields("stored_hits", counters.stored_hits);
  fields("predictions", counters.predictions);
  fields("waits", counters.waits);
  fields("fallbacks", counters.fallbacks);
  fields("frozen_misses", counters.frozen_misses);
  fields("failed_tunes", counters.failed_tunes);
  fields("tuning_seconds", counters.tuning_seconds);
  fields("tuning_gpu_seconds", counters.tuning_gpu_seconds);
  fields("capture_misses", counters.capture_misses);
  fields("busy_elsewhere", counters.busy_elsewhere);
  fields("inputs_not_kept", counters.inputs_not_kept);
  fields("misses_no_record", counters.misses_no_record);
  fields("misses_other_driver", counters.misses_other_driver);
  fields("misses_other_device", counters.misses_other_device);
  fields("misses_other_source", counters.misses_other_source);
  fields("misses_refused", counters.misses_refused);
  fields("workers_replaced", counters.workers_replaced);
}

/// The counters of one of a process's kernels (Runtime::Kernels).
struct KernelCounters {
  std::string kernel;  ///< The definition's name. Several kernels may have the same one.
  Counters counters;
};

class CompileSlots;  // Opaque to hosts, as Cupti, Environment, IdleWorkers, KernelList and ShapeLog.
class Cupti;
class Device;
class IdleWorkers;
class KernelList;
struct Environment;
class RecordStore;
class ShapeLog;
class ToolchainSet;
class Trace;

/// How much a Runtime logs. Each level includes the ones before it.
enum class LogLevel {
  kWarn,   ///< What does not work, and what the library does instead.
  kInfo,   ///< Results for keys: found in the store or missed and why, searched, failed, pinned.
  kDebug,  ///< Steps within a search: each compile, each check, rounds of the race.
};

/// Options of a Runtime. The defaults suit one program on one machine.
struct RuntimeOptions {
  /// Environment variables that override the process's, by name: {{"TUNEONCE_CXX", "clang++"}}. An empty value unsets
  /// the variable. Default: none. All other variables are read once, when the Runtime is made.
  std::map<std::string, std::string> environment;
  /// Number of candidates that all searches together compile at a time. Default 0: TUNEONCE_COMPILE_WORKERS, else the
  /// cores that this process may use, less one for the thread that measures, as far as free memory allows.
  int compile_workers = 0;
  /// The compilers. Null (default): the built-in ones, which are located by the environment.
  std::shared_ptr<const ToolchainSet> toolchains;
  /// The store of kernels that have none of their own (AutotunePolicy::store). Null (default): the user's file
  /// (TUNEONCE_STORE, else in XDG_CACHE_HOME or HOME), which is opened when it is first needed, or memory if that
  /// fails.
  std::shared_ptr<RecordStore> store;
  /// Receives the log lines of the levels that TUNEONCE_LOG (warn, info, debug) enables; by default only warnings. A
  /// line is printable text without line breaks. The function is called on the thread that logs, and several threads
  /// may call it at once. The thread waits for it, and so do threads that wait for a search on that thread, so a slow
  /// log should use a queue. Inside the function, calls that launch or tune fail with FailedPrecondition, and further
  /// lines of that thread are dropped. Exceptions from it are dropped. Default: stderr, which shows each warning once.
  std::function<void(LogLevel level, const std::string& line)> log;
};

/// The state that searches and kernels of a process share: the environment as it was read once, compilers, the limit of
/// compiles at a time, the default store, a store in memory, CUPTI, the log and the trace. Most programs use
/// Runtime::Default() implicitly. Two Runtimes share only what belongs to the machine: loaded drivers and compiler
/// libraries, one lock per device, so that two searches never measure each other's kernels, and the ownership of CUPTI,
/// which one owner per process can have.
///
/// A Runtime lives as long as its last user (SearchOptions::runtime). Thread rule: any thread.
class TUNEONCE_API Runtime {
 public:
  /// Returns the Runtime of the process, made at the first call from the environment at that time, and never destroyed.
  static const std::shared_ptr<Runtime>& Default();
  /// Returns `given`, or Default() if it is null.
  static const std::shared_ptr<Runtime>& OrDefault(const std::shared_ptr<Runtime>& given) {
    return given != nullptr ? given : Default();
  }
  /// Makes a Runtime. REQUIRES: no other thread sets environment variables meanwhile. Errors: InvalidArgument for a
  /// variable that the library does not know or a value that it cannot use.
  static Result<std::shared_ptr<Runtime>> Create(RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Opens a device by its kind and optional index: "cuda", "cuda:1", "cpu", "cpu:0". The CPU device is used only when
  /// it is named. A process has one, with the size that the first Runtime that opens it requests (TUNEONCE_CPU_DEVICES,
  /// TUNEONCE_CPU_MEMORY_MIB). Errors: InvalidArgument for any other name; Unavailable if the driver is missing;
  /// FailedPrecondition if the CPU device is already running with less than this Runtime requests.
  Result<Device> OpenDevice(const std::string& name) const;

  /// Returns the compilers.
  const ToolchainSet& toolchains() const;
  /// Returns the default store, which is opened at the first call. If it should be on disk and cannot be, the reason is
  /// logged as a warning.
  std::shared_ptr<RecordStore> store() const;
  /// Returns this Runtime's store in memory. It keeps the artifacts of searches without a TunedKernel
  /// (CompileOptions::cache), and suits kernels whose records need not be on disk (AutotunePolicy::store).
  std::shared_ptr<RecordStore> memory_store() const;
  /// Returns how often searches and kernels ran a compiler, failed compiles included. Cached and precompiled code does
  /// not count.
  std::int64_t num_compiles() const;
  /// Returns the counters of all kernels that use this Runtime (SearchOptions::runtime) and have met a device, in the
  /// order in which they did: what an endpoint of metrics shows. A kernel that is destroyed meanwhile waits.
  std::vector<KernelCounters> Kernels() const;
  /// Returns whether lines of this level are logged.
  bool Logs(LogLevel level) const;
  /// Logs a line if its level is enabled (Logs).
  void Log(LogLevel level, const std::string& line) const;
  /// Logs a line at level kWarn.
  void Warn(const std::string& line) const { Log(LogLevel::kWarn, line); }

  /// Starts to record the work of this Runtime's searches and kernels with its times and threads: compiles, loads,
  /// checks, rounds of the race with each candidate's times, lookups in the store, and waits. Hits are not recorded. At
  /// most `max_events` events are kept, and further ones are only counted. A recording that was not ended is discarded.
  void BeginTrace(std::size_t max_events = 200000) const;
  /// Ends the recording and returns the events that ended since BeginTrace as JSON in Chrome's Trace Event Format,
  /// which Perfetto (ui.perfetto.dev) and chrome://tracing show. Times are in microseconds since BeginTrace.
  /// docs/internal/measuring.md describes the events. Without BeginTrace the list is empty.
  std::string EndTrace() const;

  // For the library itself.
  TUNEONCE_LOCAL const Environment& environment() const;
  TUNEONCE_LOCAL CompileSlots& compile_slots() const;
  TUNEONCE_LOCAL const Cupti& cupti() const;
  TUNEONCE_LOCAL Trace& trace() const;
  TUNEONCE_LOCAL IdleWorkers& idle_workers() const;
  TUNEONCE_LOCAL KernelList& kernel_list() const;
  TUNEONCE_LOCAL ShapeLog* shape_log() const;  ///< Null if launches are not recorded.

 private:
  struct TUNEONCE_LOCAL Impl;
  TUNEONCE_LOCAL explicit Runtime(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_RUNTIME_H_
