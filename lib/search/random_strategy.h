#ifndef TUNEONCE_LIB_SEARCH_RANDOM_STRATEGY_H_
#define TUNEONCE_LIB_SEARCH_RANDOM_STRATEGY_H_

#include <cstddef>

#include "tuneonce/plugin/search_strategy.h"

namespace tuneonce {
inline namespace v0 {

/// Proposes the baseline, then configs at random, each with the same probability: a fair sample of the space, and what
/// other strategies are compared with.
class RandomStrategy : public SearchStrategy {
 public:
  explicit RandomStrategy(std::size_t num_configs) : num_configs_(num_configs) {}

  Proposal Propose(const SearchHistory& history) const override;

 private:
  const std::size_t num_configs_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_RANDOM_STRATEGY_H_
