#ifndef TUNEONCE_LIB_RANKS_RANK_TURN_H_
#define TUNEONCE_LIB_RANKS_RANK_TURN_H_

#include <cstdint>
#include <set>

#include "base/mutex.h"
#include "tuneonce/plugin/rank_group.h"

namespace tuneonce {
inline namespace v0 {

/// One of a rank's agreements: what belongs together has the same turn in all ranks, and what comes late of an earlier
/// one is not taken for this one's. While it lives no other thread of the rank uses the group. Every call that all
/// ranks make takes one, also one that fails before it says anything: the ranks would count differently ever after.
class RankTurn {
 public:
  explicit RankTurn(RankGroup& group) TUNEONCE_THREAD_SAFETY(no_thread_safety_analysis);  // It keeps the lock.

  std::uint64_t number() const { return number_; }
  /// Returns the number that identifies this start of the rank.
  std::uint64_t nonce() const { return nonce_; }
  /// The ranks that this one gave up in its last agreement, as silent: for this turn to read, and to leave its own.
  std::set<int>& silent() const { return silent_; }

 private:
  MutexLock lock_;
  const std::uint64_t number_;
  const std::uint64_t nonce_;
  std::set<int>& silent_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RANKS_RANK_TURN_H_
