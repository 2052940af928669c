#ifndef TUNEONCE_LIB_RANKS_AGREE_H_
#define TUNEONCE_LIB_RANKS_AGREE_H_

#include <cstddef>
#include <functional>
#include <set>
#include <string>

#include "ranks/agreement.h"
#include "ranks/rank_beat.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/rank_group.h"
#include "tuneonce/plugin/wait_limits.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// What an agreement has a rank do. What takes long says by `beat` that it comes along; nothing throws.
struct AgreementWork {
  /// The record of a key: the one that is here (Agreement::HasRecord), or a search's. As bytes.
  std::function<Result<std::string>(std::size_t key, const Agreement& agreement, RankBeat& beat)> find;
  /// What a rank does with a search that was dealt to another rank, and that nobody has started.
  enum class Taking { kTakes, kLeavesThis, kTakesNoMore };
  /// Asked once before this rank takes the key's search. Null: it takes all.
  std::function<Taking(std::size_t key, RankBeat& beat)> taking = nullptr;
  /// Returns whether the key's search would wait for code that is still being compiled. Null: no search would.
  std::function<bool(std::size_t key)> waits = nullptr;
  /// Makes a key ready to run: what was decided, or this rank's own (Agreement::DecisionOf), or the fallback
  /// (RunsFallback). A digest of what would run.
  std::function<Result<Fingerprint>(std::size_t key, const Agreement& agreement, RankBeat& beat)> make_ready;
  /// Ends a wait of this rank.
  StopToken stop = {};
};

/// Runs an agreement to its end over a group: outcomes are in it then. Returns after `silence_ms` without a word of a
/// rank that is waited for, and what its own work and the engine's calls take. `silent`: ranks that were waited for so
/// long already, which are silent from the beginning, unless they say something; then those that this agreement gave
/// up, or another rank did. What the engine throws is an error.
void Agree(RankGroup& group, int silence_ms, const AgreementWork& work, Agreement* agreement, std::set<int>* silent);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RANKS_AGREE_H_
