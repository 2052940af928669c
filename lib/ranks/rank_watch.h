#ifndef TUNEONCE_LIB_RANKS_RANK_WATCH_H_
#define TUNEONCE_LIB_RANKS_RANK_WATCH_H_

#include <chrono>
#include <functional>
#include <optional>

#include "ranks/rank_beat.h"
#include "tuneonce/rank_group.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Tells a rank that works, and is waited for, from one that is silent: by its beats. Thread rule: one thread.
class TUNEONCE_API RankWatch {
 public:
  using Clock = std::chrono::steady_clock;
  /// From now on. `may_speak`: whether a beat shows that its rank may still say what is waited for. REQUIRES: `group`
  /// outlives it.
  RankWatch(RankGroup& group, int silence_ms, int rank, std::function<bool(const RankBeat::Beat&)> may_speak);

  /// Looks for a beat, now and then. Errors: the engine's.
  Status Look();
  /// It said nothing for the time after which a rank is given up.
  bool IsSilent() const { return Clock::now() - last_word_ >= silence_; }
  /// Its last beat shows that it has gone on: what is waited for it will not say any more.
  bool HasGoneOn() const { return beat_ && !may_speak_(*beat_); }

 private:
  RankGroup& group_;
  const std::chrono::milliseconds silence_;
  const int rank_;
  const std::function<bool(const RankBeat::Beat&)> may_speak_;
  Clock::time_point last_word_ = Clock::now();
  Clock::time_point next_look_ = Clock::now();
  std::optional<RankBeat::Beat> beat_;  // The last one.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RANKS_RANK_WATCH_H_
