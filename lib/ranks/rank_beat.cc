#include "ranks/rank_beat.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/message.h"
#include "ranks/group_call.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Of the time after which a silent rank is given up: how often one that works says so, at most.
constexpr int kBeatsPerSilence = 8;

constexpr std::chrono::milliseconds kListenPause(20);

}  // namespace

std::chrono::milliseconds RankBeat::PauseOf(int silence_ms) {
  return std::chrono::milliseconds(std::max(1, silence_ms / kBeatsPerSilence));
}

RankBeat::RankBeat(RankGroup& group, int silence_ms, const Agreement& agreement)
    : group_(group),
      agreement_(agreement),
      pause_(PauseOf(silence_ms)),
      beat_{agreement.options().round, agreement.options().nonce, 0, 0} {}

std::string RankBeat::NameOf(int rank) { return absl::StrCat("beat/", rank); }

std::optional<RankBeat::Beat> RankBeat::Read(const std::string& bytes) {
  MessageReader reader(bytes);
  Beat beat;
  beat.round = reader.U64();
  beat.nonce = reader.U64();
  beat.steps = reader.U64();
  beat.num_said = reader.U64();
  return reader.Done().ok() ? std::optional<Beat>(beat) : std::nullopt;
}

void RankBeat::Step() {
  const auto now = std::chrono::steady_clock::now();
  if (beat_.steps > 0 && now - last_ < pause_) return;
  last_ = now;
  ++beat_.steps;
  beat_.num_said = static_cast<std::uint64_t>(agreement_.num_said());
  const std::string bytes =
      MessageWriter().U64(beat_.round).U64(beat_.nonce).U64(beat_.steps).U64(beat_.num_said).Take();
  // That it does not get through, the others notice.
  (void)PutInto(group_, NameOf(group_.rank()), bytes);
}

void RankBeat::Listen() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_listened_ < kListenPause) return;
  last_listened_ = now;
  (void)GetFrom(group_, NameOf(group_.rank()), /*wait_ms=*/0);
}

}  // namespace v0
}  // namespace tuneonce
