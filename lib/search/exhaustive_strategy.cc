#include "search/exhaustive_strategy.h"

#include "search/open_configs.h"

namespace tuneonce {
inline namespace v0 {

Proposal ExhaustiveStrategy::Propose(const SearchHistory& history) const {
  OpenConfigs open(num_configs_, history);
  for (std::size_t config = 0; !open.is_complete(); ++config) open.Take(config);
  Proposal proposal;
  proposal.configs = open.taken();
  return proposal;
}

}  // namespace v0
}  // namespace tuneonce
