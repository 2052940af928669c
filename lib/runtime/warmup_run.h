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

namespace tuneonce {
inline namespace v0 {

/// How much of the time that is left one key gets, where `keys` are left to be tuned: what one does not use, the others
/// have. REQUIRES: keys > 0.
std::chrono::milliseconds ShareOf(std::chrono::steady_clock::duration left, std::size_t keys);

/// One WarmupAll: which keys there are, in which order they are made ready, and what time each gets. How a key is made
/// ready, MissPolicy knows. Used on one thread.
class WarmupRun {
 public:
  WarmupRun(CUstream stream, const WarmupAllOptions& options);

  /// The kernel at this place of the list, with its shapes. Errors: FailedPrecondition, where nothing may be warmed.
  Status Add(std::size_t place, const KernelShapes& kernel);
  /// In place of Run, where Add failed: other ranks, if there are any, count on this one's turn.
  static void TakeTurns(CUstream stream, const std::vector<KernelShapes>& kernels, const WarmupAllOptions& options);
  std::vector<WarmedKey> Run();

 private:
  using Clock = std::chrono::steady_clock;
  using State = WarmedKey::State;

  /// A key of a kernel on this device.
  struct Entry {
    TunedKernel::Impl* impl = nullptr;
    ResidentKey key{};  // Of no words, where the shape is wrong: a copy of one that was not set reads anything.
    WarmedKey warmed;
    std::vector<InputShape> shapes;  ///< The first is the one that is tuned.
    std::optional<TuningCall> call;  ///< Of the first, without memory.
    bool is_done = false;
  };

  /// Ranks that agree, and what this one's device is known by.
  struct Group {
    const RankPolicy* policy;
    TunedKernel::Impl* impl;  // May be null.
  };

  void NoteGroup(const TunedKernel& kernel, TunedKernel::Impl* impl);
  /// What keys of kernels in groups of ranks run.
  void AgreeInRanks();
  RankedKeys::Key RankedKeyOf(Entry& entry);
  void AddShape(std::size_t place, TunedKernel::Impl& impl, std::size_t index, const TunedKernel::Shape& shape);
  Result<TuningCall> CallWithoutMemory(const Entry& entry, const InputShape& shape) const;
  void Serve(Entry& entry);
  void CompileTheRest();
  /// What these need, but for those of them that are done. `beat` is called while this waits; may be null.
  void CompileFor(const std::vector<Entry*>& entries, const std::function<void()>& beat);
  /// Has a worker start, if one is going to be needed, while what it will run is compiled and loaded.
  static void AnnounceSearches(const TunedKernel::Impl& first);
  /// Hands what a key needs to `ahead_`.
  Status PlanCompiles(Entry& entry);
  void Tune(Entry& entry, bool may_wait);
  void TuneTheRest(bool may_wait);
  Status LoadStandIns(Entry& entry);
  void Finish(Entry& entry);
  void End(Entry& entry, State state, Status status = Status());
  bool IsOver() const;
  bool IsOverFor(const TunedKernel::Impl& impl) const;
  Clock::duration TimeLeft() const { return end_ - Clock::now(); }

  const CUstream stream_;
  const WarmupAllOptions& options_;
  const Clock::time_point start_ = Clock::now();
  const Clock::time_point end_;
  std::map<TunedKernel::Impl*, Residency::Reader> kernels_;         // Those of the list.
  std::vector<Group> groups_;                                       // In the order in which the list names them first.
  std::deque<Entry> entries_;                                       // Addresses stay.
  std::map<std::pair<std::size_t, TuneOnce::Key>, Entry*> by_key_;  // With the kernel's place.
  std::map<std::pair<std::string, std::vector<std::uint64_t>>, Entry*> shared_;  // By shared choice and key.
  CompileAhead ahead_;
  std::optional<TimingBurst> burst_;
  Status fatal_;  // What lost the context.
  std::size_t num_done_ = 0;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_WARMUP_RUN_H_
