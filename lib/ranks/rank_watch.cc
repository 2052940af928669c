#include "ranks/rank_watch.h"

#include <utility>

#include "ranks/group_call.h"

namespace tuneonce {
inline namespace v0 {

RankWatch::RankWatch(RankGroup& group, int silence_ms, int rank, std::function<bool(const RankBeat::Beat&)> may_speak)
    : group_(group), silence_(silence_ms), rank_(rank), may_speak_(std::move(may_speak)) {}

Status RankWatch::Look() {
  const Clock::time_point now = Clock::now();
  if (now < next_look_) return Status();
  next_look_ = now + RankBeat::PauseOf(static_cast<int>(silence_.count())) / 2;
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<std::string> bytes, GetFrom(group_, RankBeat::NameOf(rank_), 0));
  const std::optional<RankBeat::Beat> beat = bytes ? RankBeat::Read(*bytes) : std::nullopt;
  if (!beat) return Status();
  const bool is_news = !beat_ || beat->IsNews(*beat_);
  // The first one that is seen may be of long ago.
  if (beat_ && is_news && may_speak_(*beat)) last_word_ = now;
  if (is_news) beat_ = beat;
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
