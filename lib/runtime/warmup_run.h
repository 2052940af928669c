#ifndef TUNEONCE_LIB_RUNTIME_WARMUP_RUN_H_
#define TUNEONCE_LIB_RUNTIME_WARMUP_RUN_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/cupti_timer.h"
#include "runtime/compile_ahead.h"
#include "runtime/ranked_keys.h"
#include "runtime/tune_once.h"
#include "runtime/tuned_kernel_impl.h"
#include "runtime/tuning_call.h"
#include "shared/compile_pool.h"

namespace tuneonce {
inline namespace v0 {

/// One call of WarmupAll: it finds the keys, decides their order, and divides the time. MissPolicy makes each key
/// ready. Thread rule: one thread.
class WarmupRun {
 public:
  WarmupRun(CUstream stream, const WarmupAllOptions& options);

  /// Adds the kernel at this index of the list, with its shapes. Errors: FailedPrecondition where warm-ups are not
  /// allowed.
  Status Add(std::size_t place, const KernelShapes& kernel);
  /// Called in place of Run after Add failed, because other ranks expect this one to take part.
  static void TakeTurns(CUstream stream, const std::vector<KernelShapes>& kernels, const WarmupAllOptions& options);
  std::vector<WarmedKey> Run();

 private:
  using Clock = std::chrono::steady_clock;
  using State = WarmedKey::State;

  /// A key of a kernel on this device.
  struct Entry {
    TunedKernel::Impl* impl = nullptr;
    // No words for an invalid shape, because copying an uninitialized key would read undefined memory.
    LaunchKey key{};
    WarmedKey warmed;
    std::vector<InputShape> shapes;  ///< The first one is tuned.
    std::optional<TuningCall> call;  ///< The call of the first shape, without memory.
    /// The number in `ahead_` of the key whose candidates it waits for: this one, or the one whose selection it will
    /// share. Empty: no candidates are compiled ahead.
    std::optional<std::size_t> compiles;
    bool is_done = false;
  };

  /// A group of ranks, and the device by which it knows this one.
  struct Group {
    const RankPolicy* policy;
    TunedKernel::Impl* impl;  // May be null.
  };

  void NoteGroup(const TunedKernel& kernel, TunedKernel::Impl* impl);
  /// Lets groups of ranks agree on their kernels' keys.
  void AgreeInRanks();
  RankedKeys::Key RankedKeyOf(Entry& entry);
  void AddShape(std::size_t place, TunedKernel::Impl& impl, std::size_t index, const TunedKernel::Shape& shape);
  Result<TuningCall> CallWithoutMemory(const Entry& entry, const InputShape& shape) const;
  void Serve(Entry& entry);
  void CompileTheRest();
  /// Compiles for these keys, except the finished ones. `beat` (may be null) is called while this waits.
  void CompileFor(const std::vector<Entry*>& entries, const std::function<void()>& beat);
  /// Starts a worker process if one will be needed, while the code that it will run is compiled and loaded.
  static void AnnounceSearches(const TunedKernel::Impl& first);
  /// Returns what the key's fallback config and its search need compiled.
  Result<KeyJobs> JobsOf(Entry& entry) const;
  /// Passes the compile jobs of a key to `ahead_`.
  Status PlanCompiles(Entry& entry);
  /// Returns whether most of the code that the key's search compiles ahead is there. Calls `beat` while it looks.
  bool HasCode(Entry& entry, const std::function<void()>& beat) const;
  /// Returns whether candidates of the key are being compiled ahead, as of the last CompileAhead::Update.
  bool WaitsForCompiles(const Entry& entry) const;
  void Tune(Entry& entry, bool may_wait);
  /// Searches for the keys that are left. The next one is the first whose candidates are compiled, or else the first.
  void TuneTheRest(bool may_wait);
  Status LoadFallbacks(Entry& entry);
  /// Verifies the selected config at those shapes of the key whose extents are of another class than those verified so
  /// far. In a group of ranks nothing more is verified, because they agreed on a config.
  void VerifyShapes(Entry& entry);
  void Finish(Entry& entry);
  void End(Entry& entry, State state, Status status = Status());
  /// Returns the error of a key that was not reached. `status` is what its search returned, or OK if none began.
  Status WhyNotReached(const Entry& entry, Status status) const;
  bool IsOver() const;
  bool IsOverFor(const TunedKernel::Impl& impl) const;
  Clock::duration TimeLeft() const { return end_ - Clock::now(); }

  const CUstream stream_;
  const WarmupAllOptions& options_;
  const Clock::time_point start_ = Clock::now();
  const Clock::time_point end_;
  std::map<TunedKernel::Impl*, ReadyKeys::Reader> kernels_;         // The kernels of the list.
  std::vector<Group> groups_;                                       // In the order in which the list first names them.
  std::deque<Entry> entries_;                                       // A deque keeps addresses valid.
  std::map<std::pair<std::size_t, TuneOnce::Key>, Entry*> by_key_;  // By the kernel's index and the key.
  // By AutotunePolicy::selection_group and key.
  std::map<std::pair<std::string, std::vector<std::uint64_t>>, Entry*> shared_;
  CompileAhead ahead_;
  std::optional<TimingBurst> burst_;
  Status fatal_;  // The error that lost the context.
  std::size_t num_done_ = 0;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_WARMUP_RUN_H_
