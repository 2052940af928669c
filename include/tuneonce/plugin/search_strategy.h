#ifndef TUNEONCE_PLUGIN_SEARCH_STRATEGY_H_
#define TUNEONCE_PLUGIN_SEARCH_STRATEGY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tuneonce/result.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// One axis of a space, as a strategy sees it. A strategy does not know names.
struct StrategyAxis {
  enum class Kind {
    kOrdinal,      ///< Neighbouring values are expected to perform alike.
    kCategorical,  ///< The order of the values means nothing.
  };
  Kind kind = Kind::kOrdinal;
  /// The value of each index, ascending. Of a categorical axis only their number counts.
  std::vector<double> values;
};

/// The valid configs of one problem: what a search may try.
struct StrategySpace {
  std::vector<StrategyAxis> axes;
  /// Config by config, the index of the config's value on each axis.
  std::vector<std::uint16_t> indices;

  std::size_t num_configs() const { return axes.empty() ? 0 : indices.size() / axes.size(); }
  /// Returns the indices of a config, one per axis. REQUIRES: `config` is below num_configs().
  const std::uint16_t* config(std::size_t config) const { return indices.data() + config * axes.size(); }
};

/// What became of a config that was tried.
struct StrategyTrial {
  std::size_t config = 0;  ///< Index of the config in the space.
  OutcomeKind kind = OutcomeKind::kMeasured;
  double time_us = 0;     ///< Mean time of the kernel. Valid if `kind` is kMeasured.
  double compile_ms = 0;  ///< Host time that the compilation took. 0: it was compiled before.
};

/// All that a proposal depends on.
struct SearchHistory {
  /// In the order in which they were tried. No config occurs twice.
  std::vector<StrategyTrial> trials;
  /// Configs that were fast elsewhere, the best one first. They may have been tried.
  std::vector<std::size_t> portfolio;
  /// The config to be beaten, which is proposed first.
  std::optional<std::size_t> baseline;
  /// How many configs to propose: as many as are compiled in parallel. At least 1.
  std::size_t batch_size = 8;
  /// Searches with the same seed propose the same configs.
  std::uint64_t seed = 1;
};

/// The next step of a search.
struct Proposal {
  /// The configs to try next: at most SearchHistory::batch_size, none of them tried before, none of them twice. Empty
  /// if every config of the space was tried.
  std::vector<std::size_t> configs;
  /// The fraction of the best time so far by which the best of `configs` is expected to be faster. Empty if the
  /// strategy cannot tell, as before its model has enough trials.
  std::optional<double> expected_gain;
  /// How many configs a model scored, which is what the proposal cost.
  std::size_t num_scored = 0;

  /// Returns whether the search should end without trying `configs`.
  bool should_stop() const { return configs.empty() || (expected_gain && *expected_gain < kWorthwhileGain); }
  /// A gain of 1 % is what a race can tell from noise.
  static constexpr double kWorthwhileGain = 0.01;
};

/// Decides which configs of a space a search tries next. A host's own strategy is set by SearchOptions::make_strategy.
///
/// A strategy is a pure function of the space, which it takes when it is made, and of the history: it has no state and
/// reads no clock, so that a search can be continued by another process, and replayed on recorded times. Equal inputs
/// give equal proposals on every machine. Thread rule: any number of threads may call Propose at the same time.
class TUNEONCE_API SearchStrategy {
 public:
  virtual ~SearchStrategy() = default;

  /// REQUIRES: the configs of `history` are below StrategySpace::num_configs(), and the times are positive.
  virtual Proposal Propose(const SearchHistory& history) const = 0;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_PLUGIN_SEARCH_STRATEGY_H_
