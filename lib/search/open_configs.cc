#include "search/open_configs.h"

namespace tuneonce {
inline namespace v0 {

OpenConfigs::OpenConfigs(std::size_t num_configs, const SearchHistory& history)
    : is_open_(num_configs, true), num_open_(num_configs), batch_size_(history.batch_size) {
  for (const StrategyTrial& trial : history.trials) {
    num_open_ -= is_open_[trial.config] ? 1 : 0;
    is_open_[trial.config] = false;
  }
  if (history.baseline) Take(*history.baseline);
}

bool OpenConfigs::Take(std::size_t config) {
  if (is_complete() || !is_open_[config]) return false;
  is_open_[config] = false;
  --num_open_;
  taken_.push_back(config);
  return true;
}

std::size_t OpenConfigs::Draw(RandomNumbers* random) const {
  // While a fair share is open, a few draws find one. Later the open ones are counted.
  constexpr int kDraws = 16;
  for (int i = 0; i < kDraws; ++i) {
    std::size_t config = random->Below(is_open_.size());
    if (is_open_[config]) return config;
  }
  std::size_t skip = random->Below(num_open_);
  std::size_t config = 0;
  while (!is_open_[config] || skip-- > 0) ++config;
  return config;
}

}  // namespace v0
}  // namespace tuneonce
