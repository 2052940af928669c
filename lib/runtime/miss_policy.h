#ifndef TUNEONCE_LIB_RUNTIME_MISS_POLICY_H_
#define TUNEONCE_LIB_RUNTIME_MISS_POLICY_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "runtime/chooser.h"
#include "runtime/failed_tunes.h"
#include "runtime/kept_inputs.h"
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
  /// A launch whose key's config was not verified at extents like its own: verified now, or at a safe point, where the
  /// mode lets searches be made; the fallback runs elsewhere, and until then.
  Status LaunchUnverified(CUstream stream, BoundCall& call, const ResidentKey& key);
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
  /// How much is done to make a choice resident.
  struct Effort {
    bool tries_again;  ///< What failed, before its pause is over.
    bool may_wait;     ///< For another process that tunes the key.
    bool is_launch;    ///< In which only kTune searches.
    bool asks_store;   ///< No mode does more.
  };
  static constexpr Effort kOfALaunch = {false, true, true, false};
  static constexpr Effort kOfAWarmUp = {true, true, false, false};
  static constexpr Effort kOfASafePoint = {false, false, false, false};
  static constexpr Effort kOfOneOfMany = {true, false, false, false};  ///< Others come first.
  static constexpr Effort kOfALookUp = {true, false, false, true};
  /// The parts of Warm, for who warms many keys: the choice, as far as `effort` goes; the stand-in; and where the mode
  /// searches at safe points, that the key waits for one.
  TuneOutcome WarmChoice(const TuneRequest& request, Effort effort);
  Status WarmStandIn(const BoundCall& bound, const TuneLimits* limits = nullptr);
  Status LetWait(const BoundCall& call);
  /// The key of the call with what it takes to make another call of it later. `inputs` may be null.
  WaitingKeys::Waiting WaitingOf(const BoundCall& call, const ResidentKey& key,
                                 std::shared_ptr<const KeptInputs> inputs) const;
  /// OK if the call is one that a search can be made on. Errors: what is wrong with this call, not with its key.
  Status CheckTunable(CUstream stream, TuningCall& call);
  /// The keys that are to be tuned at a safe point of the current device, now.
  Result<std::vector<WaitingKeys::Waiting>> Due() const;
  /// Runs `tune` on the inputs that the launch of a waiting key read, else on fills.
  Status OnInputs(CUstream stream, const WaitingKeys::Waiting& waiting, const std::function<Status(TuningCall&)>& tune);
  /// Counts, tells the observer and remembers that the key could not be tuned. True: TuneOutcome::is_news.
  bool NoteFailure(const TuneOnce::Key& flight, const std::string& key_text, const TuneOutcome& outcome);
  /// Drops what max_resident_keys leaves no room for, failures too. REQUIRES: a safe point.
  void DropOldest();
  bool is_sealed() const { return sealed_; }
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
  std::int64_t kept_inputs_bytes() const { return keeper_.bytes(); }

 private:
  /// Errors: FailedPrecondition inside a trial, which holds what another thread's tune of the key may wait for.
  Status CheckOutsideTrial() const;
  /// The same, and the errors of CheckContext. Takes no lock: a child of fork() is refused by it.
  Status CheckMayMiss() const;
  /// The launch in a capture, or of a kernel that compiles nothing any more; empty elsewhere. REQUIRES: CheckMayMiss.
  std::optional<Status> LaunchWhereNothingIsTuned(CUstream stream, BoundCall& call, const ResidentKey& key);
  Status LaunchCaptureMiss(CUstream stream, BoundCall& call, const ResidentKey& missed);
  Status LaunchSealedMiss(CUstream stream, BoundCall& call, const ResidentKey& missed);
  /// kTune: after a search now, or after another's.
  Status LaunchTuned(CUstream stream, BoundCall& call, const ResidentKey& key);
  /// kTuneInBackground and kStoredOnly: the stored choice, or the stand-in, and the key waits for a safe point.
  Status LaunchStored(CUstream stream, BoundCall& call, const ResidentKey& key);
  /// REQUIRES: the key's choice was made resident.
  Status LaunchChoice(CUstream stream, BoundCall& call, const ResidentKey& key);
  /// In a group of ranks, whatever the mode: the stand-in, and the key waits for a safe point.
  Status LaunchNotAgreed(CUstream stream, BoundCall& call, const ResidentKey& key);
  /// Copies of what the launch is going to read, if the mode searches at safe points and they can be had; else null.
  std::shared_ptr<const KeptInputs> KeepInputs(CUstream stream, const BoundCall& call, const ResidentKey& key);
  /// The key waits from now on, and its launches find its stand-in, if that is loaded.
  void Wait(const BoundCall& call, const ResidentKey& key, std::shared_ptr<const KeptInputs> inputs);
  /// A key's that waits: its launches are hits from now on. Undone, with the waiting, where Seal was called meanwhile.
  void MakeStandInKnown(const BoundCall& bound, const ResidentKey& key);
  /// Launches the stand-in since the choice cannot be had, for the reason `why`. Errors: both reasons.
  Status LaunchInstead(CUstream stream, BoundCall& call, const ResidentKey& key, const TuneOutcome& why);
  /// Makes the key's choice resident, as the mode lets it be made, or waits for the thread that does. `*waited` says
  /// which.
  TuneOutcome MakeResident(const TuneRequest& request, const ResidentKey& key, Effort effort, bool* waited);
  /// The key's choice being resident: sees to it that it is verified at the call's extents too. `so_far`: how it came
  /// to be resident.
  TuneOutcome VerifyResident(const TuneRequest& request, const ResidentKey& key, Effort effort, bool only_serves,
                             const TuneOutcome& so_far);
  /// A call of the key: on the inputs that were kept, else on fills.
  Result<TuningCall> CallOf(CUstream stream, const WaitingKeys::Waiting& waiting);
  /// One key's part of a safe point.
  Status ChooseWaiting(CUstream stream, const WaitingKeys::Waiting& waiting);

  const Chooser::Context to_;
  Chooser& chooser_;
  ThreadedCounter stand_ins_;
  std::atomic<bool> sealed_{false};
  mutable Mutex missed_mutex_;
  std::vector<std::string> missed_keys_ TUNEONCE_GUARDED_BY(missed_mutex_);  // After Seal; the first ones.
  TuneOnce tune_once_;
  FailedTunes failed_;
  InputKeeper keeper_;
  WaitingKeys waiting_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_MISS_POLICY_H_
