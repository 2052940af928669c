#ifndef TUNEONCE_LIB_SEARCH_GUIDED_STRATEGY_H_
#define TUNEONCE_LIB_SEARCH_GUIDED_STRATEGY_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "search/config_features.h"
#include "search/open_configs.h"
#include "search/random_numbers.h"
#include "search/regression_trees.h"
#include "tuneonce/plugin/search_strategy.h"

namespace tuneonce {
inline namespace v0 {

/// Searches a large space with a model of the trials so far.
///
/// It proposes the baseline, then the portfolio, never as a whole batch, and configs that are spread over the space.
/// From the second batch on, bagged regression trees (RegressionTrees) are fit to the logarithm of each trial's rank,
/// so that the best trials count the most and the scale of times does not matter. A failed config ranks last, so that
/// the model avoids its like. Configs are then picked in three ways:
///
/// - by the lowest mean of some trees, drawn anew for each pick (Thompson sampling);
/// - the same within a niche: among the configs that have one value on one axis, drawn anew for each pick, so that the
///   search does not stay where it was fast first. Values that were tried seldom are drawn more often. The trees are
///   grown on the ranks of the niche's own trials: those of all trials mostly tell that a niche is slow, not which of
///   its configs are the fastest;
/// - among the configs that differ on one axis from one of the fastest trials, or from the fastest trial of a niche.
/// The
///   model alone would not try them where it has learnt that a value is slow in general.
///
/// The next trials are expected to gain what the latest half of the search gained, from 96 trials on.
///
/// Scored are all open configs of a small space. Of a large one, a random sample and the neighbours of the best trials
/// are, so that a batch takes a few milliseconds.
class GuidedStrategy : public SearchStrategy {
 public:
  explicit GuidedStrategy(StrategySpace space);

  Proposal Propose(const SearchHistory& history) const override;

  /// The most configs that a proposal scores (Proposal::num_scored), whatever the size of the space.
  static constexpr std::size_t kMostScored = 6000;

 private:
  /// The trials as the model sees them, and the state of one proposal.
  struct Round;
  struct Niche;

  static void TakePortfolio(const SearchHistory& history, OpenConfigs* open);
  /// Takes `count` configs, each of which is the one of some random configs that is the farthest from all that were
  /// tried or taken.
  void TakeSpread(const SearchHistory& history, std::size_t count, RandomNumbers* random, OpenConfigs* open) const;
  double Distance(std::size_t a, std::size_t b) const;
  bool AreNeighbours(std::size_t a, std::size_t b, int most_axes) const;

  /// Ranks the trials, grows the trees, and scores the configs to pick from.
  Round Model(const SearchHistory& history, const OpenConfigs& open, RandomNumbers* random) const;
  std::vector<std::size_t> Pool(const std::vector<std::size_t>& best, const OpenConfigs& open,
                                RandomNumbers* random) const;
  /// Draws an axis, and one of its values: values that were tried seldom are more probable.
  Niche DrawNiche(const Round& round, RandomNumbers* random) const;
  /// Returns what some trees, drawn anew, predict for the pool. With a niche they are grown on its trials, if these
  /// suffice, and only the scores of its configs are valid.
  std::vector<float> DrawScores(const Round& round, const std::optional<Niche>& niche, RandomNumbers* random) const;
  /// Draws a fast trial, whose neighbours are to be tried.
  std::size_t DrawIncumbent(const Round& round, RandomNumbers* random) const;
  void TakeByModel(const Round& round, std::size_t num_local, RandomNumbers* random, OpenConfigs* open) const;

  const StrategySpace space_;
  const ConfigFeatures features_;
  std::vector<std::size_t> varying_axes_;  // Those on which configs differ.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_GUIDED_STRATEGY_H_
