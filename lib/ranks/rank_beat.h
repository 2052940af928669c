#ifndef TUNEONCE_LIB_RANKS_RANK_BEAT_H_
#define TUNEONCE_LIB_RANKS_RANK_BEAT_H_

#include <chrono>
#include <map>
#include <set>

#include "ranks/agreement.h"
#include "ranks/rank_watch.h"
#include "tuneonce/plugin/rank_group.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Says to the other ranks that this one works, and knows which of them do, for as long as an agreement takes. Thread
/// rule: one thread.
class RankBeat {
 public:
  /// `silent`: ranks that are, from the beginning, until they say something. REQUIRES: `group` and `agreement` outlive
  /// it.
  RankBeat(RankGroup& group, int silence_ms, const Agreement& agreement, const std::set<int>& silent);
  /// Something was done, or is waited for: said at most a few times in the time after which a silent rank is given up;
  /// and looks at the others' beats.
  void Step();
  /// The least time between two beats.
  static std::chrono::milliseconds PauseOf(int silence_ms);

  /// Looks for the beats of all others, now and then. Errors: the engine's.
  Status Look();
  /// A message of that rank's came.
  void Heard(int rank) { watches_.at(rank).Heard(RankWatch::Clock::now()); }
  /// That rank said nothing for the time after which a rank is given up.
  bool IsSilent(int rank) const { return watches_.at(rank).IsSilent(RankWatch::Clock::now()); }

 private:
  RankGroup& group_;
  const Agreement& agreement_;
  const std::chrono::milliseconds pause_;
  Beat beat_;
  std::map<int, RankWatch> watches_;  // The watches of the other ranks.
  RankWatch::Clock::time_point last_, next_call_, next_look_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RANKS_RANK_BEAT_H_
