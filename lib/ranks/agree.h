#ifndef TUNEONCE_LIB_RANKS_AGREE_H_
#define TUNEONCE_LIB_RANKS_AGREE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "ranks/agreement.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/rank_group.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Says to the other ranks that this one works. Thread rule: one thread.
class TUNEONCE_API RankBeat {
 public:
  /// REQUIRES: `group` and `agreement` outlive it.
  RankBeat(RankGroup& group, int silence_ms, const Agreement& agreement);
  /// Something was done: sent at most a few times in the time after which a silent rank is given up.
  void Step();

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

 private:
  RankGroup& group_;
  const Agreement& agreement_;
  const std::chrono::milliseconds pause_;
  Beat beat_;
  std::chrono::steady_clock::time_point last_;
};

/// What an agreement has a rank do. What takes long says by `beat` that it comes along; nothing throws.
struct AgreementWork {
  /// The record of a key: the one that is here, or a search's. As bytes.
  std::function<Result<std::string>(std::size_t key, bool is_here, RankBeat& beat)> find;
  /// Makes a key ready to run: what was decided, or this rank's own (Agreement::DecisionOf), or the stand-in
  /// (RunsStandIn). A digest of what would run.
  std::function<Result<Fingerprint>(std::size_t key, const Agreement& agreement, RankBeat& beat)> make_ready;
  /// Asked while this rank waits: true ends it. May be null.
  std::function<bool()> interrupted = nullptr;
};

/// Runs an agreement to its end over a group: outcomes are in it then. Returns after `silence_ms` without a word of a
/// rank that is waited for, and what its own work and the engine's calls take. What the engine throws is an error.
TUNEONCE_API void Agree(RankGroup& group, int silence_ms, const AgreementWork& work, Agreement* agreement);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RANKS_AGREE_H_
