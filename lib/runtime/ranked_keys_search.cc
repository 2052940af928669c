// A rank's searches for its group: those that it leads, and those that it helps with.
#include <algorithm>
#include <utility>

#include "runtime/ranked_keys.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

SearchBoard& RankedKeys::BoardOf(int leader, RankBeat& beat) {
  SearchBoard::Context context{*policy_.group, std::max(1, policy_.silence_ms), turn_, beat,
                               [this] { return IsInterrupted(); }};
  return boards_.try_emplace(leader, std::move(context), leader).first->second;
}

void RankedKeys::ClaimTimer(const TunedKernel::Impl& impl) {
  if (burst_ || impl.policy.search.timer != nullptr) return;
  burst_.emplace(impl.policy.search.runtime->cupti(), impl.api);  // One acquisition of CUPTI serves all searches.
}

void RankedKeys::CompileAhead(const Agreement& agreement, RankBeat& beat) {
  std::vector<std::size_t> alone;
  for (std::size_t place : agreement.wanted()) {
    if (!agreement.HasRecord(place) && agreement.HelpersOf(place).empty()) alone.push_back(voted_[place]->added);
  }
  const AheadFn ahead = std::exchange(ahead_, nullptr);
  if (!alone.empty()) ahead(alone, [&beat] { beat.Step(); });
}

Status RankedKeys::Search(Entry& entry, std::vector<int> helpers, RankBeat& beat) {
  TunedKernel::Impl& impl = *entry.key.impl;
  const TuneLimits limits = LimitsOf(entry, beat);
  std::optional<SharedOut> shared;
  if (!helpers.empty()) shared.emplace(SharedOut{BoardOf(policy_.group->rank(), beat), entry.vote.key, helpers});
  ClaimTimer(impl);
  return impl.Guarded([&] {
    return entry.key.on_inputs([&](TuningCall& call) -> Status {
      TUNEONCE_RETURN_IF_ERROR(impl.misses.CheckTunable(stream_, call));
      const std::int64_t tunes = impl.counters.tunes;
      TUNEONCE_ASSIGN_OR_RETURN(
          entry.contribution.record,
          impl.chooser.FindForRanks({stream_, call, &limits, shared ? &*shared : nullptr}, entry.key.key));
      entry.contribution.selection =
          impl.counters.tunes > tunes
              ? SelectionOf(*entry.contribution.record, LaunchPlan::Origin::kSearch)
              : SelectionOf(*entry.contribution.record, RecordMatch::kExact, /*is_shipped=*/false);
      return Status();
    });
  });
}

Result<bool> RankedKeys::Help(int leader, int wait_ms, RankBeat& beat) {
  if (offered_all_.count(leader) > 0) return false;
  SearchBoard& board = BoardOf(leader, beat);
  TUNEONCE_ASSIGN_OR_RETURN(const std::optional<SearchOffer> offer, board.NextOffer(wait_ms));
  if (!offer) return true;
  if (offer->is_last) offered_all_.insert(leader);
  for (Entry* entry : voted_) {
    if (offer->is_last || entry->vote.key != offer->key) continue;
    TunedKernel::Impl& impl = *entry->key.impl;
    const Status helped = impl.Guarded([&] { return HelpWith(*entry, *offer, board, beat); });
    // The leader continues without this rank.
    if (!helped.ok())
      impl.announcer.Inform(entry->key.text,
                            [&] { return "this rank could not take part in a search: " + helped.message(); });
  }
  return true;
}

Status RankedKeys::HelpWith(Entry& entry, const SearchOffer& offer, SearchBoard& board, RankBeat& beat) {
  TunedKernel::Impl& impl = *entry.key.impl;
  const TuneLimits limits = LimitsOf(entry, beat);
  const SharedOut shared{board, offer.key, {}};
  ClaimTimer(impl);
  return entry.key.on_inputs([&](TuningCall& call) -> Status {
    TUNEONCE_RETURN_IF_ERROR(impl.misses.CheckTunable(stream_, call));
    return impl.chooser.HelpSearch({stream_, call, &limits, &shared}, entry.key.key, offer);
  });
}

}  // namespace v0
}  // namespace tuneonce
