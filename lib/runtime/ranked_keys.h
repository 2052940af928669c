#ifndef TUNEONCE_LIB_RUNTIME_RANKED_KEYS_H_
#define TUNEONCE_LIB_RUNTIME_RANKED_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "measure/cupti_timer.h"
#include "ranks/agree.h"
#include "ranks/agreement.h"
#include "runtime/agreed_configs.h"
#include "runtime/config_provider.h"
#include "runtime/tuned_kernel_impl.h"
#include "runtime/tuning_call.h"
#include "tuneonce/plugin/rank_group.h"
#include "tuneonce/plugin/wait_limits.h"

namespace tuneonce {
inline namespace v0 {

/// Keys that the ranks of a group agree on in one turn: it collects what this rank contributes for each key, does its
/// work for the others, and applies the results. Agreement implements the protocol, and the caller provides the keys.
/// REQUIRES: the objects that the keys refer to outlive it. Thread rule: one thread.
class RankedKeys {
 public:
  struct Key {
    TunedKernel::Impl* impl = nullptr;
    LaunchKey key;
    std::string text;
    /// Number of calls that identify the key and load code for it: one for each possible fallback config.
    std::size_t num_calls = 1;
    std::function<Result<TuningCall>(std::size_t index)> call;
    /// Calls `tune` with the call that the key is tuned on.
    std::function<Status(const std::function<Status(TuningCall&)>& tune)> on_inputs;
    /// Limits of this rank's own work. Null: no limit. The work of other ranks is waited for regardless.
    std::function<TuneLimits()> limits;
    /// Ends a wait for other ranks, as SearchOptions::stop does.
    StopToken stop;
    /// Whether the key is pending because a launch met it. It is then not an error if other ranks have not met it.
    bool is_waiting = false;
  };
  struct Outcome {
    WarmedKey::State state = WarmedKey::State::kFailed;
    bool is_complete = true;
    Status status;
  };

  RankedKeys(CUstream stream, const RankPolicy& policy) : stream_(stream), policy_(policy) {}

  void Add(Key key) {
    const std::size_t added = entries_.size();
    entries_.emplace_back().key = std::move(key);
    entries_.back().added = added;
  }
  /// Called once and alone, before this rank searches, with the keys that it will search for unless other ranks take
  /// them, to compile for all of them: their places in the order of Add, the most expensive first. Long work calls
  /// `beat`.
  using AheadFn = std::function<void(const std::vector<std::size_t>& places, const std::function<void()>& beat)>;
  /// Returns whether this rank has most of the code of a key's candidates, or no rank compiles them ahead. Otherwise it
  /// does not take the key's search from another rank, which compiles them already. Long work calls `beat`.
  using HasCodeFn = std::function<bool(std::size_t place, const std::function<void()>& beat)>;
  /// Returns whether candidates of a key are still being compiled by AheadFn.
  using WaitsFn = std::function<bool(std::size_t place)>;
  void CompileAheadBy(AheadFn ahead, HasCodeFn has_code, WaitsFn waits) {
    ahead_ = std::move(ahead);
    has_code_ = std::move(has_code);
    waits_ = std::move(waits);
  }
  /// Whether to wait for a rank that the last agreement gave up, because its host may have restarted it. Otherwise this
  /// rank takes part without its keys then, since nothing can be agreed on.
  enum class Patience { kForAll, kNotForSilent };
  /// Runs the whole agreement and loads fallback configs too. It also runs without keys, because the other ranks expect
  /// each rank to take part. Without a key, `of_device` identifies this rank's device and may be null.
  std::vector<Outcome> Agree(TunedKernel::Impl* of_device, Patience patience = Patience::kForAll);
  /// Returns Agreement::KeysOfOthersAlone after Agree.
  std::vector<Fingerprint> TakeKeysOfOthersAlone() { return std::move(of_others_); }

 private:
  struct Entry {
    Key key;
    KeyVote vote;
    AgreedConfigs::Contribution contribution;
    std::optional<FoundConfig> ready;  // Loaded, but not yet published.
    std::size_t added = 0;             // Position in the order of Add.
    bool is_in_vote = false;
    bool is_in_all_lists = true;  // Also false if this rank's call of the key cannot be launched.
    Outcome outcome;
  };

  Vote MakeVote(TunedKernel::Impl* of_device);
  Status Contribute(Entry& entry);
  AgreementWork Work();
  Result<std::string> Find(std::size_t place, const Agreement& agreement, RankBeat& beat);
  void CompileAhead(const Agreement& agreement, RankBeat& beat);
  /// Finds the key's record: the stored one, or a search's.
  Status Search(Entry& entry, RankBeat& beat);
  /// Fetches the code of the record that another rank decided on. Code that is not found is compiled here.
  void FetchCodeOf(const Entry& entry);
  Result<Fingerprint> MakeReady(Entry& entry, std::size_t place, const Agreement& agreement, RankBeat& beat);
  Status LoadFallbacks(Entry& entry, const TuneLimits* limits);
  void Finish(Entry& entry, Status agreed, bool runs_fallback);
  /// Leaves the key pending, or makes it fail.
  void FinishFailed(Entry& entry, Status why);
  /// Returns whether SearchOptions::stop of any kernel in the list asks to stop.
  bool IsStopped() const;
  /// Returns whether this rank may not search for the key any more.
  static bool IsOver(const Entry& entry);
  TuneLimits LimitsOf(const Entry& entry, RankBeat& beat) const;

  const CUstream stream_;
  const RankPolicy& policy_;
  std::deque<Entry> entries_;  // A deque keeps addresses valid.
  std::vector<Entry*> voted_;  // In the order of the agreement.
  std::vector<Fingerprint> of_others_;
  AheadFn ahead_;       // May be null, and is null after its call.
  HasCodeFn has_code_;  // May be null.
  WaitsFn waits_;       // May be null.
  std::optional<TimingBurst> burst_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_RANKED_KEYS_H_
