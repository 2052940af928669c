#ifndef TUNEONCE_RUNTIME_H_
#define TUNEONCE_RUNTIME_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

class ArtifactCache;
class CompileSlots;  // Opaque to hosts, as Cupti, Environment, IdleWorkers and ShapeLog.
class Cupti;
class Device;
class IdleWorkers;
struct Environment;
class RecordStore;
class ShapeLog;
class ToolchainSet;
class Trace;

/// How much a Runtime's log says: each level says what those before it say, too.
enum class LogLevel {
  kWarn,   ///< What does not work, and what is done instead.
  kInfo,   ///< What becomes of keys: found in the store, missed there and why, searched, failed, pinned.
  kDebug,  ///< What happens within a search: each compile, each check, rounds.
};

/// What a Runtime is made of. Each default is what one program on one machine wants.
struct RuntimeOptions {
  /// Environment variables that count in place of the process's, by name: {{"TUNEONCE_CXX", "clang++"}}. An empty value
  /// is as good as none. Default: none. All others are read once, when the Runtime is made.
  std::map<std::string, std::string> environment;
  /// Candidates compiled at a time by all searches together. Default 0: TUNEONCE_COMPILE_WORKERS, else the cores that
  /// this process may use less one, for the thread that measures, as far as free memory allows.
  int compile_workers = 0;
  /// The compilers. Null (default): those built in, found as the environment says.
  std::shared_ptr<const ToolchainSet> toolchains;
  /// Where kernels remember that name no store of their own (AutotunePolicy::store). Null (default): the user's file
  /// (TUNEONCE_STORE, else in XDG_CACHE_HOME or HOME), opened when it is first needed; memory where that cannot be.
  std::shared_ptr<RecordStore> store;
  /// Where searches keep artifacts that name no cache of their own. Null (default): in memory.
  std::shared_ptr<ArtifactCache> artifacts;
  /// Where the log goes, of the levels that TUNEONCE_LOG (warn, info, debug) allows: by default warnings alone. A line
  /// is one line of printable text. Called on the thread that has something to say, by several at once; that thread
  /// waits for it, and with it whoever waits for that thread's search: a slow log belongs into a queue. What it calls
  /// of this library that launches or tunes fails (FailedPrecondition), and what would be said meanwhile on its thread
  /// is left out. Exceptions from it are dropped. Default: stderr, where each warning is said once.
  std::function<void(LogLevel level, const std::string& line)> log;
};

/// What searches and kernels of a process have in common: the environment as it was read once, compilers, the limit of
/// compiles at a time, the default store, an artifact cache, CUPTI, the log and the trace. Who does not care uses
/// Default() without naming it; two Runtimes share nothing but what belongs to the machine: loaded drivers and compiler
/// libraries, one lock per device, so that two searches never time each other's kernels, and the claim of CUPTI, which
/// serves one owner per process.
///
/// Held by whoever uses it (SearchOptions::runtime): it lives as long as the last of them. Thread rule: any thread.
class TUNEONCE_API Runtime {
 public:
  /// Made at the first call, of the process's environment as it is then, and never destroyed.
  static const std::shared_ptr<Runtime>& Default();
  /// `given`, or Default() if that is null.
  static const std::shared_ptr<Runtime>& OrDefault(const std::shared_ptr<Runtime>& given) {
    return given != nullptr ? given : Default();
  }
  /// REQUIRES: no other thread sets environment variables meanwhile. Errors: InvalidArgument for a variable that the
  /// library does not know, or a value that it cannot use.
  static Result<std::shared_ptr<Runtime>> Create(RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// The first device of the named kind, or one by its index: "cuda", "cuda:1", "cpu", "cpu:0". The CPU device is used
  /// only when named; a process has one, with the devices that the Runtime wants which opens it first
  /// (TUNEONCE_CPU_DEVICES, TUNEONCE_CPU_MEMORY_MIB). Errors: InvalidArgument for any other name; Unavailable if the
  /// driver is missing; FailedPrecondition if the CPU device runs already and has less than this Runtime wants.
  Result<Device> OpenDevice(const std::string& name) const;

  const ToolchainSet& toolchains() const;
  ArtifactCache& artifacts() const;
  /// Opened at the first call; why it is not on disk, if that was not asked for, is a warning then.
  std::shared_ptr<RecordStore> store() const;
  /// A store of this Runtime's that is in memory, for kernels that need none.
  std::shared_ptr<RecordStore> memory_store() const;
  /// Compiles that searches and kernels asked a compiler for, failed ones too: what was cached or compiled ahead is none.
  std::int64_t num_compiles() const;
  /// True if lines of this level go anywhere.
  bool Logs(LogLevel level) const;
  /// Says `line` where the log goes.
  void Log(LogLevel level, const std::string& line) const;
  void Warn(const std::string& line) const { Log(LogLevel::kWarn, line); }

  /// From now on records what searches and kernels of this Runtime do, when, and on which thread: compiles, loads,
  /// checks, rounds of the race with each candidate's times, what the store is asked, waits. At most `max_events`, and
  /// of what is more only the number. Hits are not recorded. What was recorded before and not ended is forgotten.
  void BeginTrace(std::size_t max_events = 200000) const;
  /// Ends that, and returns what has ended since, as JSON in Chrome's Trace Event Format, which Perfetto
  /// (ui.perfetto.dev) and chrome://tracing show; times are microseconds since BeginTrace. docs/measuring.md says what
  /// is in it. Without BeginTrace there are no events.
  std::string EndTrace() const;

  // For the library itself.
  const Environment& environment() const;
  CompileSlots& compile_slots() const;
  const Cupti& cupti() const;
  Trace& trace() const;
  IdleWorkers& idle_workers() const;
  ShapeLog* shape_log() const;  ///< Null: launches are not recorded.

 private:
  struct Impl;
  explicit Runtime(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_RUNTIME_H_
