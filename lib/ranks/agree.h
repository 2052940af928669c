#ifndef TUNEONCE_LIB_RANKS_AGREE_H_
#define TUNEONCE_LIB_RANKS_AGREE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
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
  /// REQUIRES: `group` outlives it.
  RankBeat(RankGroup& group, int silence_ms);
  /// Something was done: sent at most a few times in the time after which a silent rank is given up.
  void Step();
  /// Where a rank's beats are.
  static std::string NameOf(int rank);

 private:
  RankGroup& group_;
  const std::chrono::milliseconds pause_;
  std::chrono::steady_clock::time_point last_;
  std::uint64_t steps_ = 0;
};

/// What an agreement has a rank do. Both say by `beat` that they come along.
struct AgreementWork {
  /// The record of a key: the one that is here, or a search's. As bytes.
  std::function<Result<std::string>(std::size_t key, bool is_here, RankBeat& beat)> find;
  /// Makes a decision ready to run (empty: the one that is here); a digest of what would run.
  std::function<Result<Fingerprint>(std::size_t key, const std::string& decision, RankBeat& beat)> make_ready;
};

/// Runs an agreement to its end over a group: outcomes are in it then. Returns after `silence_ms` without a word of a
/// rank that is waited for, and what its own work and the engine's calls take. No exception crosses it.
TUNEONCE_API void Agree(RankGroup& group, int silence_ms, const AgreementWork& work, Agreement* agreement);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RANKS_AGREE_H_
