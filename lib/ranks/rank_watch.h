#ifndef TUNEONCE_LIB_RANKS_RANK_WATCH_H_
#define TUNEONCE_LIB_RANKS_RANK_WATCH_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// What a rank says now and then while it works. Each overwrites the one before.
struct Beat {
  std::uint64_t turn = 0, nonce = 0, steps = 0, num_said = 0;

  /// Returns whether the rank may still send its message number `num_awaited` in that turn. A rank that has sent it,
  /// or has gone on, counts as silent, whatever else it does. Otherwise two ranks could keep each other waiting
  /// forever.
  bool MaySpeak(std::uint64_t in_turn, int num_awaited) const {
    return turn != in_turn ? turn < in_turn : num_said < static_cast<std::uint64_t>(num_awaited);
  }
  /// Returns whether this beat was sent later or by another start of the rank, so that late or repeated ones do not
  /// count.
  bool IsNews(const Beat& than) const {
    if (nonce != than.nonce) return true;
    return turn != than.turn ? turn > than.turn : steps > than.steps;
  }
  /// Where a rank's beats are.
  static std::string NameOf(int rank);
  std::string Encode() const;
  /// Decodes a beat. Returns nothing for invalid bytes.
  static std::optional<Beat> Decode(const std::string& bytes);
};

/// Tells a rank that works, and is waited for, from one that is silent: by its beats and messages. It is kept for a
/// whole agreement, so that a rank is waited for once, and not once per message. A value, which does not read the
/// clock.
class RankWatch {
 public:
  using Clock = std::chrono::steady_clock;
  /// `last_word`: when its rank last said something.
  RankWatch(std::chrono::milliseconds silence, Clock::time_point last_word, Clock::time_point now)
      : silence_(silence), last_word_(last_word), last_look_(now) {}

  /// What is there in place of its beat. `may_speak`: whether it shows that its rank may still say what is waited for.
  template <typename MaySpeak>
  void Look(Clock::time_point now, const std::optional<Beat>& beat, const MaySpeak& may_speak) {
    // Who was blind for long lets the engine bring what is on its way.
    if (now - last_look_ >= silence_ / kShareToCatchUp) Grant(now - silence_ + silence_ / kShareToCatchUp);
    last_look_ = now;
    if (!beat) return;
    const bool is_news = !beat_ || beat->IsNews(*beat_);
    // The first one that is seen may be of long ago.
    if (beat_ && is_news && may_speak(*beat)) Grant(now);
    if (is_news) beat_ = beat;
  }
  /// It said something.
  void Heard(Clock::time_point now) { Grant(now); }
  /// It said nothing for the time after which a rank is given up.
  bool IsSilent(Clock::time_point now) const { return now - last_word_ >= silence_; }
  const std::optional<Beat>& beat() const { return beat_; }

 private:
  /// Two beats.
  static constexpr int kShareToCatchUp = 4;
  void Grant(Clock::time_point word) {
    if (word > last_word_) last_word_ = word;
  }

  std::chrono::milliseconds silence_;
  Clock::time_point last_word_, last_look_;
  std::optional<Beat> beat_;  // The last one.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RANKS_RANK_WATCH_H_
