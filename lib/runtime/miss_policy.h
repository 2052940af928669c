#ifndef TUNEONCE_LIB_RUNTIME_MISS_POLICY_H_
#define TUNEONCE_LIB_RUNTIME_MISS_POLICY_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "runtime/config_chain.h"
#include "runtime/failed_tunes.h"
#include "runtime/fallback_configs.h"
#include "runtime/kept_inputs.h"
#include "runtime/kernel_parts.h"
#include "runtime/pending_keys.h"
#include "runtime/threaded_counter.h"
#include "runtime/tune_once.h"

namespace tuneonce {
inline namespace v0 {

/// The error when neither the tuned config can run, for the reason `why`, nor the fallback config. An error that lost
/// the context takes precedence, because the caller must see it.
Status BothFailed(const Status& why, const Status& instead);

/// Decides what a launch does if its selected config is not loaded or must not run: in captures, after Freeze, by mode,
/// after failures, and which thread works while others wait. ConfigChain selects the config. REQUIRES: the
/// constructor's arguments outlive it. Thread-safe.
class MissPolicy {
 public:
  MissPolicy(const KernelParts& kernel, ConfigChain& chain, FallbackConfigs& fallbacks);

  /// Runs a launch whose key is not loaded.
  Status LaunchMiss(CUstream stream, BoundCall& call, const LaunchKey& key);
  /// Runs a launch whose key's config was not verified at extents like its own. It is verified now, or by TunePending
  /// if the mode allows searches. The fallback config runs until then.
  Status LaunchUnverified(CUstream stream, BoundCall& call, const LaunchKey& key);
  /// Launches the fallback config, and loads it first if needed. If `missed` is not null it is not loaded, and
  /// `*missed` is set instead.
  Status LaunchFallback(CUstream stream, BoundCall& call, bool* missed = nullptr);

  /// Loads in advance what a launch of `call` needs: the selected config if mode and Freeze allow selecting one, and
  /// the fallback config. A key that failed before is tried again.
  Status Warm(CUstream stream, TuningCall& call);
  /// Tunes the key of `call` again even if it has a config: TunedKernel::Retune.
  Status Retune(CUstream stream, TuningCall& call);
  /// Forgets failures of the key and that it is pending, because the host pinned or unpinned it.
  void Forget(const LaunchKey& key);
  /// Why a launch of a key that is not loaded runs the fallback config without asking the store. Empty: it asks the
  /// store.
  struct Refusal {
    LaunchPlan::Reason reason;
    std::string detail;
  };
  Result<std::optional<Refusal>> RefusalOf(CUstream stream, const LaunchKey& key) const;
  /// How much work may be done to load a selected config.
  struct Effort {
    bool tries_again;  ///< Also a key that failed, before its pause is over.
    bool may_wait;     ///< Wait for another process that tunes the key.
    bool is_launch;    ///< Called by a launch, which searches only in mode kTuneOnMiss.
    bool asks_store;   ///< Ask the store. If false, nothing else may be done either.
  };
  static constexpr Effort kForLaunch = {false, true, true, false};
  static constexpr Effort kForWarmup = {true, true, false, false};
  static constexpr Effort kForPending = {false, false, false, false};
  /// The effort for one of many keys, while other keys can be done first.
  static constexpr Effort kWithoutWaiting = {true, false, false, false};
  static constexpr Effort kForLookup = {true, false, false, true};
  /// The parts of Warm, for a caller that warms many keys: select and load a config within `effort`; load the fallback
  /// config; and make the key pending, where the mode tunes in TunePending.
  TuneOutcome WarmSelected(const TuneRequest& request, Effort effort);
  Status WarmFallback(const BoundCall& bound, const TuneLimits* limits = nullptr);
  Status MakePending(const BoundCall& call);
  /// Returns a pending key with what is needed to make a call of it later. `inputs` may be null.
  PendingKeys::Entry PendingOf(const BoundCall& call, const LaunchKey& key,
                               std::shared_ptr<const KeptInputs> inputs) const;
  /// Returns OK if a search can run on this call. Errors: those of the call, which do not concern its key.
  Status CheckTunable(CUstream stream, TuningCall& call);
  /// Returns the pending keys of the current device that TunePending should tune now.
  Result<std::vector<PendingKeys::Entry>> Due(bool continues) const;
  /// Runs `tune` on the copied inputs of the launch that met a pending key, or else on fills.
  Status OnInputs(CUstream stream, const PendingKeys::Entry& waiting, const std::function<Status(TuningCall&)>& tune);
  /// Counts a failed tune, notifies the observer and remembers it. Returns TuneOutcome::is_news.
  bool NoteFailure(const TuneOnce::Key& flight, const std::string& key_text, const TuneOutcome& outcome);
  /// Drops the oldest keys and failures beyond max_ready_keys. REQUIRES: the caller is TunePending.
  void DropOldest();
  bool is_frozen() const { return frozen_; }
  /// Returns whether Warm may search.
  bool may_search() const {
    return !frozen_ && (to_.policy.mode == AutotunePolicy::Mode::kTuneOnMiss ||
                        to_.policy.mode == AutotunePolicy::Mode::kTuneDeferred);
  }
  /// Implements TunedKernel::TunePending. `continues`: also continues the searches that were cut short. `end`: the time
  /// until then is divided over the keys. A key that is not reached by then stays pending, and the call returns OK.
  Status TunePending(CUstream stream, bool continues, std::optional<std::chrono::steady_clock::time_point> end = {});
  /// Returns FailedPrecondition without a context and on a capturing stream. The message uses `what` and `advice`, for
  /// example "warm-up" and "warm up".
  Status CheckSafe(CUstream stream, const char* what, const char* advice) const;

  void Freeze();
  std::vector<std::string> frozen_misses() const;
  std::int64_t num_fallbacks() const { return num_fallbacks_.Sum(); }
  std::int64_t num_pending() const { return static_cast<std::int64_t>(pending_.size()); }
  std::int64_t kept_inputs_bytes() const { return keeper_.bytes(); }

 private:
  /// Returns FailedPrecondition inside a trial, because the search that runs it may hold what this call would wait for.
  Status CheckOutsideTrial() const;
  /// Returns the errors of CheckOutsideTrial and CheckContext. It takes no lock, because it must refuse a child of
  /// fork().
  Status CheckMayMiss() const;
  /// Launches in a capture, or after Freeze. Returns nothing in other cases. REQUIRES: CheckMayMiss returned OK.
  std::optional<Status> LaunchWhereNothingIsTuned(CUstream stream, BoundCall& call, const LaunchKey& key);
  Status LaunchCaptureMiss(CUstream stream, BoundCall& call, const LaunchKey& missed);
  Status LaunchFrozenMiss(CUstream stream, BoundCall& call, const LaunchKey& missed);
  /// Launches in mode kTuneOnMiss: after a search now, or after another thread's.
  Status LaunchTuned(CUstream stream, BoundCall& call, const LaunchKey& key);
  /// Launches in the modes kTuneDeferred and kStoredOnly: the stored config, or the fallback config with the key
  /// made pending.
  Status LaunchStored(CUstream stream, BoundCall& call, const LaunchKey& key);
  /// Launches the selected config. REQUIRES: it was loaded.
  Status LaunchSelected(CUstream stream, BoundCall& call, const LaunchKey& key);
  /// Launches in a group of ranks, in any mode: the fallback config, with the key made pending.
  Status LaunchNotAgreed(CUstream stream, BoundCall& call, const LaunchKey& key);
  /// Copies what the launch will read, if the mode tunes in TunePending and memory allows. Otherwise returns null.
  std::shared_ptr<const KeptInputs> KeepInputs(CUstream stream, const BoundCall& call, const LaunchKey& key);
  /// Makes the key pending. If its fallback config is loaded, launches of the key find it from now on.
  void Wait(const BoundCall& call, const LaunchKey& key, std::shared_ptr<const KeptInputs> inputs);
  /// Publishes the fallback config of a pending key, so that its launches are hits. This is undone if Freeze is called
  /// meanwhile.
  void MakeFallbackKnown(const BoundCall& bound, const LaunchKey& key);
  /// Launches the fallback config because the key could not be tuned, for the reason `why`. Errors: both reasons.
  Status LaunchInstead(CUstream stream, BoundCall& call, const LaunchKey& key, const TuneOutcome& why);
  /// Selects and loads the key's config as far as the mode allows, or waits for the thread that does. `*waited` states
  /// which.
  TuneOutcome MakeReady(const TuneRequest& request, const LaunchKey& key, Effort effort, bool* waited);
  /// Verifies the key's loaded config at the call's extents too. `so_far` is how it came to be loaded.
  TuneOutcome VerifyReady(const TuneRequest& request, const LaunchKey& key, Effort effort, bool only_serves,
                          const TuneOutcome& so_far);
  /// Makes a key pending whose stored search was cut short, or whose config was predicted, so that TunePending
  /// searches.
  void NoteCutShort(const BoundCall& call, const LaunchKey& key, const TuneOutcome& served);
  /// Makes a call of the key, on its copied inputs or else on fills.
  Result<TuningCall> CallOf(CUstream stream, const PendingKeys::Entry& waiting);
  /// Tunes one pending key.
  Status TunePendingKey(CUstream stream, const PendingKeys::Entry& waiting, const TuneLimits* limits);
  /// Continues the search of a key that was cut short. The key keeps its config if that fails.
  Status ContinueSearch(CUstream stream, const PendingKeys::Entry& waiting, const TuneLimits* limits);

  const KernelParts to_;
  ConfigChain& chain_;
  FallbackConfigs& fallbacks_;
  ThreadedCounter num_fallbacks_;
  std::atomic<bool> frozen_{false};
  mutable Mutex missed_mutex_;
  std::vector<std::string> missed_keys_ TUNEONCE_GUARDED_BY(missed_mutex_);  // The first keys that missed after Freeze.
  TuneOnce tune_once_;
  FailedTunes failed_;
  InputKeeper keeper_;
  PendingKeys pending_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_MISS_POLICY_H_
