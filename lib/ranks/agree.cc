#include "ranks/agree.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ranks/group_call.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Longest time that a rank is blind for the others' beats.
constexpr int kLongestWaitMs = 50;

/// Waits for the ranks of one stage.
class Listener {
 public:
  Listener(RankGroup& group, int silence_ms, Agreement& agreement, std::set<int>& silent)
      : group_(group), silence_ms_(silence_ms), agreement_(agreement), silent_(silent) {}

  /// Looks once at everyone who is awaited. Errors: the engine's.
  Status Look(RankBeat& beat) {
    int wait_ms = std::clamp(static_cast<int>(RankBeat::PauseOf(silence_ms_).count()), 1, kLongestWaitMs);
    for (int rank : agreement_.awaited()) {
      // All that a rank has sent is read before another one is looked at.
      for (bool is_heard = true; is_heard && IsAwaited(rank); wait_ms = 0) {
        TUNEONCE_ASSIGN_OR_RETURN(is_heard, LookAt(rank, wait_ms, beat));
      }
    }
    beat.Step();
    return Status();
  }

 private:
  bool IsAwaited(int rank) const {
    if (agreement_.want() != Agreement::Want::kHear) return false;
    const std::vector<int> awaited = agreement_.awaited();
    return std::find(awaited.begin(), awaited.end(), rank) != awaited.end();
  }

  /// Returns whether a message was heard.
  Result<bool> LookAt(int rank, int wait_ms, RankBeat& beat) {
    const bool is_over = beat.IsSilent(rank);
    const std::string cell = agreement_.CellOf(rank);
    // It may learn only now that it has to take over the work of a lost rank.
    if (agreement_.IsTakeoverOf(rank) && takeovers_.insert(cell).second && !is_over) beat.Heard(rank);
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<std::string> message, GetFrom(group_, cell, is_over ? 0 : wait_ms));
    if (message) {
      const Status taken = agreement_.Heard(rank, *message);
      if (taken.ok()) beat.Heard(rank);
      if (taken.ok()) return true;
      damage_[rank] = taken.message();  // It may be only half there.
    }
    TUNEONCE_RETURN_IF_ERROR(beat.Look());
    if (!beat.IsSilent(rank)) return false;
    silent_.insert(rank);
    const std::string& damage = damage_[rank];
    agreement_.Silent(rank, damage.empty() ? absl::StrCat("sent nothing for ", silence_ms_, " ms (RankPolicy::silence)")
                                           : "sent an invalid message: " + damage);
    return false;
  }

  RankGroup& group_;
  const int silence_ms_;
  Agreement& agreement_;
  std::set<int>& silent_;
  std::map<int, std::string> damage_;  // By rank: the error of an invalid message.
  std::set<std::string> takeovers_;    // The cells of takeovers that were looked at.
};

void Work(const AgreementWork& work, RankBeat& beat, Agreement* agreement) {
  const bool finds = agreement->want() == Agreement::Want::kFind;
  const std::size_t key = agreement->wanted().front();
  beat.Step();
  if (finds) {
    agreement->Found(key, work.find(key, *agreement, beat));
  } else {
    agreement->Ready(key, work.make_ready(key, *agreement, beat));
  }
}

/// Asks whether to take the search that this rank would take next. Returns whether it is left to others.
bool LeavesNext(const AgreementWork& work, RankBeat& beat, Agreement* agreement) {
  using Taking = AgreementWork::Taking;
  const std::optional<std::size_t> key = agreement->ToTake();
  const Taking taking = key && work.taking ? work.taking(*key, beat) : Taking::kTakes;
  if (taking == Taking::kLeavesThis) agreement->Leave(*key);
  if (taking == Taking::kTakesNoMore) agreement->TakeNoMore();
  return taking != Taking::kTakes;
}

}  // namespace

void Agree(RankGroup& group, int silence_ms, const AgreementWork& work, Agreement* agreement, std::set<int>* silent) {
  RankBeat beat(group, silence_ms, *agreement, std::exchange(*silent, {}));
  using Want = Agreement::Want;
  while (agreement->want() != Want::kNothing) {
    Status engine;
    if (work.waits && agreement->want() == Want::kPost) agreement->NoteWaits(work.waits);
    if (LeavesNext(work, beat, agreement)) continue;
    if (agreement->want() == Want::kPost) {
      const bool may_postpone = agreement->MayPostpone();
      Result<std::string> held =
          PutOnceInto(group, agreement->cell(), agreement->bytes(), may_postpone ? 0 : silence_ms);
      if (held.ok()) {
        agreement->Posted(*held);
      } else if (may_postpone && held.status().code() == StatusCode::kDeadlineExceeded) {
        agreement->Postponed();
      } else {
        engine = held.status();
      }
    } else if (agreement->want() == Want::kHear) {
      Listener listener(group, silence_ms, *agreement, *silent);
      const int stage = agreement->num_awaited();
      while (engine.ok() && agreement->want() == Want::kHear && agreement->num_awaited() == stage) {
        engine = listener.Look(beat);
        if (work.stop.stop_requested()) agreement->Interrupt();
      }
    } else {
      Work(work, beat, agreement);
    }
    if (!engine.ok()) agreement->Broken(engine.WithPrefix("the ranks cannot agree"));
  }
  for (const auto& [rank, why] : agreement->lost()) silent->insert(rank);
}

}  // namespace v0
}  // namespace tuneonce
