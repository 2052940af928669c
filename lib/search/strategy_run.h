#ifndef TUNEONCE_LIB_SEARCH_STRATEGY_RUN_H_
#define TUNEONCE_LIB_SEARCH_STRATEGY_RUN_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tuneonce/autotune_policy.h"
#include "tuneonce/config.h"
#include "tuneonce/plugin/search_strategy.h"

namespace tuneonce {
inline namespace v0 {

/// Returns the space of these configs as a strategy sees it. Numbers are ordinal axes and strings are categorical ones.
/// REQUIRES: all configs have the same axes.
StrategySpace StrategySpaceOf(const std::vector<Config>& configs);

/// Decides which of a search's configs are tried, batch by batch, by SearchOptions::strategy. An exception of a host's
/// strategy becomes a StatusException that names it. Thread rule: one thread.
class StrategyRun {
 public:
  /// `baseline`: its index. `max_configs`: up to how many configs without an outcome Strategy::kAutomatic tries all.
  /// `known`: the outcomes of an earlier search, each config once.
  StrategyRun(const std::vector<Config>& configs, std::optional<std::size_t> baseline, const SearchOptions& options,
              std::size_t max_configs, std::vector<StrategyTrial> known = {});

  /// Whether all configs are tried, unless a budget ends the search first.
  bool is_exhaustive() const { return is_exhaustive_; }
  /// Whether Next returns configs more than once, so that their number at first is not that of all.
  bool has_several_batches() const { return !is_exhaustive_ || (may_be_cut_short_ && num_configs_ > kMostInPart); }
  /// Configs that were fast elsewhere, the best one first.
  void SetPortfolio(std::vector<std::size_t> portfolio) { history_.portfolio = std::move(portfolio); }
  /// Returns the next configs to try, at most `batch_size` of them. Empty: the search ends. No config with a known
  /// outcome is returned. If is_exhaustive, all configs are returned at once without a budget, whatever
  /// `batch_size` is. Under a budget they are returned in parts, so that it ends the search before all are planned.
  std::vector<std::size_t> Next(std::size_t batch_size);
  /// Adds what became of a config that was tried. REQUIRES: each config once, and the configs of a batch before Next;
  /// not if is_exhaustive, whose order depends on the number of outcomes.
  void Add(const StrategyTrial& trial) { history_.trials.push_back(trial); }
  /// The gain that the last batch was expected to bring (Proposal::expected_gain).
  std::optional<double> expected_gain() const { return expected_gain_; }
  /// Returns how many configs a host's strategy proposed that do not exist or were proposed before.
  std::size_t num_refused() const { return num_refused_; }

 private:
  /// Most configs of a part. They are planned in a few dozen milliseconds.
  static constexpr std::size_t kMostInPart = 256;

  std::vector<std::size_t> NextPart(std::size_t batch_size);

  const std::size_t num_configs_;
  const bool is_exhaustive_;
  const bool may_be_cut_short_;
  std::unique_ptr<SearchStrategy> strategy_;
  SearchHistory history_;
  std::optional<double> expected_gain_;
  std::size_t num_refused_ = 0;
  std::vector<std::size_t> order_;  // The first of the configs, in the order in which an exhaustive search tries them.
  std::size_t num_returned_ = 0;    // Of `order_`.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_STRATEGY_RUN_H_
