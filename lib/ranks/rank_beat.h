#ifndef TUNEONCE_LIB_RANKS_RANK_BEAT_H_
#define TUNEONCE_LIB_RANKS_RANK_BEAT_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "ranks/agreement.h"
#include "tuneonce/rank_group.h"

namespace tuneonce {
inline namespace v0 {

/// Says to the other ranks that this one works. Thread rule: one thread.
class TUNEONCE_API RankBeat {
 public:
  /// REQUIRES: `group` and `agreement` outlive it.
  RankBeat(RankGroup& group, int silence_ms, const Agreement& agreement);
  /// Something was done: sent at most a few times in the time after which a silent rank is given up.
  void Step();
  /// Lets an engine that carries messages only while it is called do so: for a rank that works while others ask it, at
  /// most 50 times a second.
  void Listen();

  struct Beat {
    std::uint64_t round = 0, nonce = 0, steps = 0, num_said = 0;
    /// Its rank may still say what `listener` waits for. One that has said it, or has gone on, is silent in that,
    /// however much it does: two ranks that wait for each other would keep each other waiting for ever.
    bool MaySpeak(const Agreement& listener) const {
      const std::uint64_t here = listener.options().round;
      return round != here ? round < here : num_said < static_cast<std::uint64_t>(listener.num_awaited());
    }
    /// It was sent later, or by another start of the rank: what an engine brings late, or twice, is no news.
    bool IsNews(const Beat& than) const {
      if (nonce != than.nonce) return true;
      return round != than.round ? round > than.round : steps > than.steps;
    }
  };
  /// Where a rank's beats are, and what is there; empty if it is none.
  static std::string NameOf(int rank);
  static std::optional<Beat> Read(const std::string& bytes);
  /// The least time between two beats.
  static std::chrono::milliseconds PauseOf(int silence_ms);

 private:
  RankGroup& group_;
  const Agreement& agreement_;
  const std::chrono::milliseconds pause_;
  Beat beat_;
  std::chrono::steady_clock::time_point last_, last_listened_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RANKS_RANK_BEAT_H_
