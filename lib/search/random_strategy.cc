#include "search/random_strategy.h"

#include <utility>
#include <vector>

#include "search/open_configs.h"
#include "search/random_numbers.h"

namespace tuneonce {
inline namespace v0 {

Proposal RandomStrategy::Propose(const SearchHistory& history) const {
  RandomNumbers random(history.seed, history.trials.size());
  OpenConfigs open(num_configs_, history);
  std::vector<std::size_t> untried;
  for (std::size_t config = 0; config < num_configs_; ++config) {
    if (open.is_open(config)) untried.push_back(config);
  }
  for (std::size_t i = 0; !open.is_complete(); ++i) {
    std::swap(untried[i], untried[i + random.Below(untried.size() - i)]);
    open.Take(untried[i]);
  }
  Proposal proposal;
  proposal.configs = open.taken();
  return proposal;
}

}  // namespace v0
}  // namespace tuneonce
