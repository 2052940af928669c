#include "search/claimed_candidates.h"

#include "base/span.h"

namespace tuneonce {
inline namespace v0 {

std::vector<std::size_t> ClaimedCandidates::Next() {
  if (has_begun_) return Claim();
  has_begun_ = true;
  if (options_.baseline && has_any()) first_.insert(first_.begin(), static_cast<std::size_t>(*options_.baseline));
  return first_;
}

std::vector<std::size_t> ClaimedCandidates::Claim() {
  Span span(options_.trace, "claim", "claim");
  std::vector<std::size_t> mine;
  while (walked_ < places_.size() && status_.ok() && mine.size() < options_.compiles_at_a_time) {
    const std::uint64_t place = places_[walked_++];
    const Result<int> holder = board_.Claim(options_.word, place);
    status_ = holder.status();
    if (!holder.ok()) break;
    if (*holder != board_.rank()) {
      other_holders_.insert(*holder);
      continue;
    }
    mine.push_back(static_cast<std::size_t>(place));
    if (options_.is_there(place)) break;
  }
  return mine;
}

}  // namespace v0
}  // namespace tuneonce
