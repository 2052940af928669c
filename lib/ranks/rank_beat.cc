#include "ranks/rank_beat.h"

#include <algorithm>
#include <vector>

#include "ranks/group_call.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// How often a working rank reports in the time after which a silent rank is given up.
constexpr int kBeatsPerSilence = 8;
/// The time between two calls of the engine by a rank that works: so many times as long as the last call took, within
/// these limits. Some engines (MPI) answer the claims of other ranks only inside such a call, which there takes
/// microseconds; others send and wait in it.
constexpr int kAbsencePerCall = 50;
constexpr std::chrono::milliseconds kLeastAbsence(1), kLongestAbsence(20);

}  // namespace

std::chrono::milliseconds RankBeat::PauseOf(int silence_ms) {
  return std::chrono::milliseconds(std::max(1, silence_ms / kBeatsPerSilence));
}

RankBeat::RankBeat(RankGroup& group, int silence_ms, const Agreement& agreement, const std::set<int>& silent)
    : group_(group),
      agreement_(agreement),
      pause_(PauseOf(silence_ms)),
      beat_{agreement.options().turn, agreement.options().nonce, 0, 0} {
  const std::chrono::milliseconds silence(silence_ms);
  const auto now = RankWatch::Clock::now();
  for (int rank = 0; rank < agreement.options().size; ++rank) {
    const RankWatch watch(silence, silent.count(rank) > 0 ? now - silence : now, now);
    if (rank != agreement.options().rank) watches_.emplace(rank, watch);
  }
}

void RankBeat::Step() {
  (void)Look();  // Who waits for them learns of an engine that is gone.
  const auto now = RankWatch::Clock::now();
  const bool is_beat = beat_.steps == 0 || now - last_ >= pause_;
  if (!is_beat && now < next_call_) return;
  if (is_beat) {
    last_ = now;
    ++beat_.steps;
    beat_.num_said = static_cast<std::uint64_t>(agreement_.num_said());
    // That it does not get through, the others notice.
    (void)PutInto(group_, Beat::NameOf(group_.rank()), beat_.Encode());
  } else {
    (void)GetFrom(group_, Beat::NameOf(group_.rank()), 0);
  }
  const auto end = RankWatch::Clock::now();
  next_call_ =
      end + std::clamp<RankWatch::Clock::duration>(kAbsencePerCall * (end - now), kLeastAbsence, kLongestAbsence);
}

Status RankBeat::Look() {
  const auto now = RankWatch::Clock::now();
  if (now < next_look_) return Status();
  next_look_ = now + pause_ / 2;
  const std::vector<int> awaited =
      agreement_.want() == Agreement::Want::kHear ? agreement_.awaited() : std::vector<int>();
  for (auto& [rank, watch] : watches_) {
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<std::string> bytes, GetFrom(group_, Beat::NameOf(rank), 0));
    // For a rank that is not awaited, any later message counts.
    const bool is_awaited = std::find(awaited.begin(), awaited.end(), rank) != awaited.end();
    const int num_awaited = is_awaited ? agreement_.num_awaited() : Agreement::kNumMessages;
    watch.Look(now, bytes ? Beat::Decode(*bytes) : std::nullopt,
               [&](const Beat& beat) { return beat.MaySpeak(beat_.turn, num_awaited); });
  }
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
