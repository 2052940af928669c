#ifndef TUNEONCE_LIB_SHARED_COMPILE_POOL_H_
#define TUNEONCE_LIB_SHARED_COMPILE_POOL_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compile/compile_slots.h"
#include "definition/shared_source.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

class Trace;

/// One thing to compile: by the first of the sources that compiles.
struct CompileJob {
  struct Alternative {
    SharedSource source;
    Hints hints;
    /// What may refuse an artifact, so that the next alternative is taken. Empty: each is taken. It is called on the
    /// thread that compiled.
    std::function<Status(const Artifact&)> accepts = nullptr;
  };
  std::vector<Alternative> alternatives;
  std::string label;                   ///< What it is, for traces: the config.
  std::shared_ptr<RecordStore> cache;  ///< Replaces CompileOptions::cache unless it is null.
  /// False: what is neither cached nor compiled ahead is Unavailable, and no compiler, slot or lease is asked for.
  /// Machine code is taken as it is all the same.
  bool may_compile = true;
  /// It is given up at this time, compiled or not; CompileOptions::total_timeout may end it before. Default: never.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

/// The outcome of one job.
struct CompiledJob {
  std::size_t job = 0;          ///< Its place in the list that was given.
  std::size_t alternative = 0;  ///< Which source compiled; the last one if none did.
  Result<Artifact> artifact;    ///< Errors: as Toolchain::Compile, the last source's.
  /// Why the sources before `alternative` did not compile.
  std::vector<Status> passed_over;
  bool from_cache = false;
  /// No verdict on the source: the time for all, or its own, ended, or the compiles were cancelled, before it was
  /// compiled.
  bool was_cut_short = false;
};

/// Compiles the jobs of one search on several threads and hands out each result when it is there, so that measuring can
/// begin while others compile. How many compiles run at a time is a matter of all searches (CompileSlots); what is
/// cached needs no slot. Jobs are started in their order, and those that ask for the same artifact are compiled once.
/// Where the system gives no thread, Next compiles. A toolchain that throws has failed to compile. Its destructor stops
/// what still runs. Thread rule: one thread uses it.
class CompilePool {
 public:
  /// Starts compiling. `trace` may be null. REQUIRES: `options.cache` is not null; `slots`, `toolchains` and `trace`
  /// outlive the pool.
  CompilePool(CompileSlots& slots, const ToolchainSet& toolchains, const Target& target, std::vector<CompileJob> jobs,
              const CompileOptions& options, Trace* trace = nullptr);
  ~CompilePool();

  /// The next result, in the order in which jobs end; waits for it. Nothing once all were handed out.
  std::optional<CompiledJob> Next();
  /// Returns the next result if a job has ended. It does not wait, and does not compile.
  std::optional<CompiledJob> Poll();

  int num_workers() const;
  /// Returns how many compiles of one pool with these options run at a time.
  static int WorkersFor(const CompileSlots& slots, const CompileOptions& options);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SHARED_COMPILE_POOL_H_
