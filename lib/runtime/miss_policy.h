#ifndef TUNEONCE_LIB_RUNTIME_MISS_POLICY_H_
#define TUNEONCE_LIB_RUNTIME_MISS_POLICY_H_

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "runtime/chooser.h"
#include "runtime/failed_tunes.h"
#include "runtime/threaded_counter.h"
#include "runtime/tune_once.h"
#include "runtime/waiting_keys.h"

namespace tuneonce {
inline namespace v0 {

/// Decides what a launch does whose choice is not resident or may not run: captures, Seal, modes, failures and their
/// pauses, who works and who waits. What a choice is, Chooser knows.
/// REQUIRES: what it is made of outlives it. Thread-safe.
class MissPolicy {
 public:
  MissPolicy(const Chooser::Context& context, Chooser& chooser);

  /// A launch whose key is not resident.
  Status LaunchMiss(CUstream stream, BoundCall& call, const ResidentKey& key);
  /// Launches what stands in for the choice. `missed`: null, or where to say that it is not loaded, instead of loading
  /// it.
  Status LaunchStandIn(CUstream stream, BoundCall& call, bool* missed = nullptr);

  /// Makes what a launch of `call` would find resident, ahead of it: the choice, if mode and Seal let one be made, and
  /// the stand-in. A key that failed is tried again.
  Status Warm(CUstream stream, TuningCall& call);
  /// Tunes the key of `call` again, whatever it has: TunedKernel::Retune.
  Status Retune(CUstream stream, TuningCall& call);
  /// The key runs what a host said, or no longer does: no failure of it counts any more, nor does it wait.
  void Forget(const ResidentKey& key);
  /// Why a launch of a key that is not resident runs its stand-in whatever the store has; empty: it asks the store.
  struct Refusal {
    Choice::Because because;
    std::string detail;
  };
  Result<std::optional<Refusal>> RefusalOf(CUstream stream, const ResidentKey& key) const;
  /// True if Warm may make a search.
  bool may_search() const {
    return !sealed_ && (to_.policy.mode == AutotunePolicy::Mode::kTune ||
                        to_.policy.mode == AutotunePolicy::Mode::kTuneInBackground);
  }
  /// Does what waited: TunedKernel::AtSafePoint.
  Status AtSafePoint(CUstream stream);
  /// Errors, in which `what` and `advice` are "warm-up" and "warm up", say: FailedPrecondition without a context, and
  /// on a capturing stream.
  Status CheckSafe(CUstream stream, const char* what, const char* advice) const;

  void Seal();
  std::vector<std::string> sealed_misses() const;
  std::int64_t num_stand_ins() const { return stand_ins_.Sum(); }
  std::int64_t num_waiting() const { return static_cast<std::int64_t>(waiting_.size()); }

 private:
  /// OK if the call is one that a search can be made on. Errors: what is wrong with this call, not with its key.
  Status CheckTunable(CUstream stream, const BoundCall& call);
  /// Errors: FailedPrecondition inside a trial, which holds what another thread's tune of the key may wait for.
  Status CheckOutsideTrial() const;
  /// Neither the tuned config can run, for the reason `why`, nor what stands in for it. What lost the context is what
  /// the caller must see.
  static Status BothFailed(const Status& why, const Status& instead);
  Status LaunchCaptureMiss(CUstream stream, BoundCall& call);
  Status LaunchSealedMiss(CUstream stream, BoundCall& call);
  /// kTune: after a search now, or after another's.
  Status LaunchTuned(CUstream stream, BoundCall& call, const ResidentKey& key);
  /// kTuneInBackground and kStoredOnly: the stored choice, or the stand-in, and the key waits for a safe point.
  Status LaunchStored(CUstream stream, BoundCall& call, const ResidentKey& key);
  /// REQUIRES: the key's choice was made resident.
  Status LaunchChoice(CUstream stream, BoundCall& call, const ResidentKey& key);
  /// The key waits from now on, and its launches find its stand-in, if that is loaded.
  void Wait(const BoundCall& call, const ResidentKey& key);
  /// A key's that waits: its launches are hits from now on. Undone, with the waiting, where Seal was called meanwhile.
  void MakeStandInKnown(const BoundCall& bound, const ResidentKey& key);
  /// Launches the stand-in since the choice cannot be had, for the reason `why`. Errors: both reasons.
  Status LaunchInstead(CUstream stream, BoundCall& call, const TuneOutcome& why);
  struct Effort {
    bool tries_again;  ///< What failed, before its pause is over.
    bool may_wait;     ///< For another process that tunes the key.
    bool is_launch;    ///< In which only kTune searches.
  };
  static constexpr Effort kOfALaunch = {false, true, true};
  static constexpr Effort kOfAWarmUp = {true, true, false};
  static constexpr Effort kOfASafePoint = {false, false, false};
  /// Makes the key's choice resident, as the mode lets it be made, or waits for the thread that does. `*waited` says
  /// which.
  TuneOutcome MakeResident(const TuneRequest& request, const ResidentKey& key, Effort effort, bool* waited);
  /// One key's part of a safe point.
  Status ChooseWaiting(CUstream stream, const WaitingKeys::Waiting& waiting);
  TuneOutcome WarmChoice(const TuneRequest& request);
  Status WarmStandIn(const BoundCall& bound);
  /// Counts, tells and remembers that the key could not be tuned.
  void NoteFailure(const TuneOnce::Key& flight, const std::string& key_text, const TuneOutcome& outcome);

  const Chooser::Context to_;
  Chooser& chooser_;
  ThreadedCounter stand_ins_;
  std::atomic<bool> sealed_{false};
  mutable Mutex missed_mutex_;
  std::vector<std::string> missed_keys_ TUNEONCE_GUARDED_BY(missed_mutex_);  // After Seal; the first ones.
  TuneOnce tune_once_;
  FailedTunes failed_;
  WaitingKeys waiting_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_MISS_POLICY_H_
