#ifndef TUNEONCE_LIB_RUNTIME_MISS_POLICY_H_
#define TUNEONCE_LIB_RUNTIME_MISS_POLICY_H_

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/chooser.h"
#include "runtime/failed_tunes.h"
#include "runtime/threaded_counter.h"
#include "runtime/tune_once.h"

namespace tuneonce {

/// Decides what a launch does whose choice is not resident or may not run: captures, Seal, failures and their pauses,
/// who works and who waits. What a choice is, Chooser knows.
/// REQUIRES: what it is made of outlives it. Thread-safe.
class MissPolicy {
 public:
  MissPolicy(const Chooser::Context& context, Chooser& chooser);

  /// A launch whose key is not resident.
  Status LaunchMiss(CUstream stream, BoundCall& call, const ResidentKey& key);
  /// Launches what stands in for the choice. `missed`: null, or where to say that it is not loaded, instead of loading it.
  Status LaunchStandIn(CUstream stream, BoundCall& call, bool* missed = nullptr);

  /// Makes what a launch of `call` would find resident, ahead of it: the choice, unless it is disabled, and the stand-in.
  /// A key that failed is tried again.
  Status Warm(CUstream stream, TuningCall& call);
  /// Errors: FailedPrecondition without a context, and on a capturing stream.
  Status CheckCanWarm(CUstream stream) const;

  void Seal() { sealed_ = true; }
  std::vector<std::string> sealed_misses() const;
  std::int64_t num_stand_ins() const { return stand_ins_.Sum(); }

 private:
  /// OK if the call is one that a search can be made on. Errors: what is wrong with this call, not with its key.
  Status CheckTunable(CUstream stream, const BoundCall& call);
  Status LaunchCaptureMiss(CUstream stream, BoundCall& call);
  Status LaunchSealedMiss(CUstream stream, BoundCall& call);
  /// Launches the stand-in since the choice cannot be had, for the reason `why`. Errors: both reasons.
  Status LaunchInstead(CUstream stream, BoundCall& call, const TuneOutcome& why);
  /// Makes the key resident, or waits for the thread that does. `*waited` says which.
  TuneOutcome MakeResident(const TuneRequest& request, const ResidentKey& key, bool is_warmup, bool* waited);
  TuneOutcome WarmChoice(const TuneRequest& request);
  Status WarmStandIn(const BoundCall& call);
  /// Counts, tells and remembers that the key could not be tuned.
  void NoteFailure(const TuneOnce::Key& flight, const BoundCall& call, const TuneOutcome& outcome);

  const Chooser::Context to_;
  Chooser& chooser_;
  ThreadedCounter stand_ins_;
  std::atomic<bool> sealed_{false};
  mutable std::mutex missed_mutex_;
  std::vector<std::string> missed_keys_;  // After Seal; the first ones.
  TuneOnce tune_once_;
  FailedTunes failed_;
};

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_MISS_POLICY_H_
