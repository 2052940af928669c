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
#include "ranks/search_board.h"
#include "runtime/chooser.h"
#include "runtime/tuned_kernel_impl.h"
#include "runtime/tuning_call.h"
#include "tuneonce/rank_group.h"

namespace tuneonce {
inline namespace v0 {

/// Keys that the ranks of a group agree on in one go: what this rank brings along of each, what it does for the others,
/// and what it makes of what was decided. How ranks agree, Agreement knows; which keys there are, its caller.
/// REQUIRES: what its keys are of outlives it. Used on one thread.
class RankedKeys {
 public:
  struct Key {
    TunedKernel::Impl* impl = nullptr;
    ResidentKey key;
    std::string text;
    /// Calls of the key, to know it and to load code for it: as many as may have stand-ins of their own.
    std::size_t num_calls = 1;
    std::function<Result<TuningCall>(std::size_t index)> call;
    /// Runs `tune` on the call that the key is tuned on.
    std::function<Status(const std::function<Status(TuningCall&)>& tune)> on_inputs;
    /// What this rank's work may take; null: no limit. That of others is waited for all the same.
    std::function<TuneLimits()> limits;
    /// As SearchOptions::interrupted: ends a wait for others, too. May be null.
    std::function<bool()> interrupted;
    /// Waits, since a launch met it: not agreed on while other ranks have not met it, which is no error.
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
  /// Called once, before this rank searches the keys at `places`, in the order of Add, alone: to compile for all of
  /// them. What takes long calls `beat`. Those of a search that is shared out are compiled as they are claimed.
  using AheadFn = std::function<void(const std::vector<std::size_t>& places, const std::function<void()>& beat)>;
  void CompileAheadBy(AheadFn ahead) { ahead_ = std::move(ahead); }
  /// Whether a rank that this one's last agreement gave up is waited for: it may have a host that starts anew.
  enum class Patience { kForAll, kNotForSilent };
  /// All of it; the stand-ins are loaded, too. Also without keys: the other ranks count on every rank's turn.
  /// `of_device`: of what rank this is, where there is no key; may be null.
  std::vector<Outcome> Agree(TunedKernel::Impl* of_device, Patience patience = Patience::kForAll);
  /// After Agree: Agreement::KeysOfOthersAlone.
  std::vector<Fingerprint> TakeKeysOfOthersAlone() { return std::move(of_others_); }

 private:
  struct Entry {
    Key key;
    KeyVote vote;
    Chooser::Brought brought;
    std::optional<Chooser::Agreed> ready;  // Not resident yet.
    std::size_t added = 0;                 // In the order of Add.
    bool is_in_vote = false;
    bool is_in_all_lists = true;  // False too where this rank's call of the key cannot be launched.
    Outcome outcome;
  };

  Vote MakeVote(TunedKernel::Impl* of_device);
  Status Bring(Entry& entry);
  AgreementWork Work();
  Result<std::string> Find(std::size_t place, const Agreement& agreement, RankBeat& beat);
  void CompileAhead(const Agreement& agreement, RankBeat& beat);
  /// A search, by all ranks that take part in it.
  Status Search(Entry& entry, std::vector<int> helpers, RankBeat& beat);
  /// Takes part in what `leader` offers next: AgreementWork::help.
  Result<bool> Help(int leader, int wait_ms, RankBeat& beat);
  Status HelpWith(Entry& entry, const SearchOffer& offer, SearchBoard& board, RankBeat& beat);
  SearchBoard& BoardOf(int leader, RankBeat& beat);
  void ClaimTimer(const TunedKernel::Impl& impl);
  Result<Fingerprint> MakeReady(Entry& entry, std::size_t place, const Agreement& agreement, RankBeat& beat);
  Status LoadStandIns(Entry& entry, const TuneLimits* limits);
  void Finish(Entry& entry, Status agreed, bool runs_stand_in);
  /// The key goes on waiting, or fails.
  void FinishFailed(Entry& entry, Status why);
  /// As SearchOptions::interrupted, of all that the list is of.
  bool IsInterrupted() const;
  TuneLimits LimitsOf(const Entry& entry, RankBeat& beat) const;

  const CUstream stream_;
  const RankPolicy& policy_;
  std::deque<Entry> entries_;  // Addresses stay.
  std::vector<Entry*> voted_;  // By the agreement's places.
  std::vector<Fingerprint> of_others_;
  AheadFn ahead_;              // May be null, and is so once it was called.
  std::uint64_t round_ = 0;
  std::map<int, SearchBoard> boards_;  // Of searches that are shared out, by leader.
  std::set<int> offered_all_;          // Leaders that have no more.
  std::optional<TimingBurst> burst_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_RANKED_KEYS_H_
