#include "ranks/agree.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/message.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr char kGroup[] = "the rank group";
/// Of the time after which a silent rank is given up: how often one that works says so, at most.
constexpr int kBeatsPerSilence = 8;
/// Longest time that a rank is blind for the others' beats.
constexpr int kLongestWaitMs = 50;

milliseconds PauseOf(int silence_ms) { return milliseconds(std::max(1, silence_ms / kBeatsPerSilence)); }

Result<std::optional<std::string>> Get(RankGroup& group, const std::string& name, int wait_ms) {
  return CallForeign(kGroup, StatusCode::kUnavailable, [&] { return group.Get(name, wait_ms); });
}

/// What is known of a rank that is waited for.
struct Awaited {
  Clock::time_point last_word;
  Clock::time_point next_look;  // For a beat.
  std::optional<RankBeat::Beat> beat;
  std::string damage;  // What it sent that is no message; empty: nothing.
};

/// Waits for the ranks of one stage.
class Listener {
 public:
  Listener(RankGroup& group, int silence_ms, Agreement& agreement)
      : group_(group), silence_ms_(silence_ms), agreement_(agreement), begin_(Clock::now()) {}

  /// Looks once at everyone who is awaited. Errors: the engine's.
  Status Look(RankBeat& beat) {
    const int wait_ms = std::clamp(static_cast<int>(PauseOf(silence_ms_).count()), 1, kLongestWaitMs);
    bool is_first = true;
    for (int rank : agreement_.awaited()) {
      TUNEONCE_RETURN_IF_ERROR(LookAt(rank, is_first ? wait_ms : 0));
      is_first = false;
    }
    beat.Step();
    return Status();
  }

 private:
  Status LookAt(int rank, int wait_ms) {
    Awaited& about = awaited_.try_emplace(rank, Awaited{begin_, begin_, {}, ""}).first->second;
    const bool is_over = Clock::now() - about.last_word >= milliseconds(silence_ms_);
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<std::string> message,
                              Get(group_, agreement_.CellOf(rank), is_over ? 0 : wait_ms));
    if (message) {
      const Status taken = agreement_.Heard(rank, *message);
      if (taken.ok()) return Status();
      about.damage = taken.message();  // It may be only half there.
    }
    TUNEONCE_RETURN_IF_ERROR(LookForBeat(rank, &about));
    if (Clock::now() - about.last_word < milliseconds(silence_ms_)) return Status();
    agreement_.Silent(rank, about.damage.empty()
                                ? absl::StrCat("said nothing for ", silence_ms_, " ms (RankPolicy::silence_ms)")
                                : "sent something else than a message: " + about.damage);
    return Status();
  }

  Status LookForBeat(int rank, Awaited* about) {
    const Clock::time_point now = Clock::now();
    if (now < about->next_look) return Status();
    about->next_look = now + PauseOf(silence_ms_) / 2;
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<std::string> bytes, Get(group_, RankBeat::NameOf(rank), 0));
    std::optional<RankBeat::Beat> beat = bytes ? RankBeat::Read(*bytes) : std::nullopt;
    if (!beat || !beat->MaySpeak(agreement_)) return Status();
    // The first one that is seen may be of long ago.
    if (about->beat && beat->IsNews(*about->beat)) about->last_word = now;
    if (!about->beat || beat->IsNews(*about->beat)) about->beat = beat;
    return Status();
  }

  RankGroup& group_;
  const int silence_ms_;
  Agreement& agreement_;
  const Clock::time_point begin_;
  std::map<int, Awaited> awaited_;
};

void Work(const AgreementWork& work, RankBeat& beat, Agreement* agreement) {
  const bool finds = agreement->want() == Agreement::Want::kFind;
  for (std::size_t key : agreement->wanted()) {
    beat.Step();
    if (finds) {
      agreement->Found(key, work.find(key, agreement->HasRecord(key), beat));
    } else {
      agreement->Ready(key, work.make_ready(key, *agreement, beat));
    }
  }
}

}  // namespace

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
  const Clock::time_point now = Clock::now();
  if (beat_.steps > 0 && now - last_ < pause_) return;
  last_ = now;
  ++beat_.steps;
  beat_.num_said = static_cast<std::uint64_t>(agreement_.num_said());
  const std::string bytes =
      MessageWriter().U64(beat_.round).U64(beat_.nonce).U64(beat_.steps).U64(beat_.num_said).Take();
  // That it does not get through, the others notice.
  (void)CallForeign(kGroup, StatusCode::kUnavailable, [&] { return group_.Put(NameOf(group_.rank()), bytes); });
}

void Agree(RankGroup& group, int silence_ms, const AgreementWork& work, Agreement* agreement) {
  RankBeat beat(group, silence_ms, *agreement);
  using Want = Agreement::Want;
  while (agreement->want() != Want::kNothing) {
    Status engine;
    if (agreement->want() == Want::kPost) {
      Result<std::string> held = CallForeign(kGroup, StatusCode::kUnavailable, [&] {
        return group.PutOnce(agreement->cell(), agreement->bytes(), silence_ms);
      });
      engine = held.status();
      if (held.ok()) agreement->Posted(*held);
    } else if (agreement->want() == Want::kHear) {
      Listener listener(group, silence_ms, *agreement);
      const std::string stage = agreement->cell();
      while (engine.ok() && agreement->want() == Want::kHear && agreement->cell() == stage) {
        engine = listener.Look(beat);
        if (IsInterrupted(work.interrupted)) agreement->GiveUp(CancelledError("interrupted"));
      }
    } else {
      Work(work, beat, agreement);
    }
    if (!engine.ok()) agreement->Broken(engine.WithPrefix("the ranks cannot agree"));
  }
}

}  // namespace v0
}  // namespace tuneonce
