#include "search/random_strategy.h"

#include "search/open_configs.h"
#include "search/random_numbers.h"

namespace tuneonce {
inline namespace v0 {

Proposal RandomStrategy::Propose(const SearchHistory& history) const {
  RandomNumbers random(history.seed, history.trials.size());
  OpenConfigs open(num_configs_, history);
  while (!open.is_complete()) open.Take(open.Draw(&random));
  Proposal proposal;
  proposal.configs = open.taken();
  return proposal;
}

}  // namespace v0
}  // namespace tuneonce
