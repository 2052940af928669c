#ifndef TUNEONCE_LIB_SEARCH_CONFIG_FEATURES_H_
#define TUNEONCE_LIB_SEARCH_CONFIG_FEATURES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/regression_trees.h"
#include "tuneonce/plugin/search_strategy.h"

namespace tuneonce {
inline namespace v0 {

/// What a model knows of each config of a space, as small integers.
///
/// An ordinal axis is one feature, the index of its value. A categorical axis with more than two values is one feature
/// per value, which is 1 if the config has it. An ordinal axis of positive integers that are not all powers of two adds
/// the largest power of two that divides the value, because a block of 96 threads is whole warps and one of 100 is not,
/// and a tree would need a split for every such value. Each pair of ordinal axes that have at least three values, all
/// positive, adds the ranks of the values' product and of their quotient, because threads per block and work per thread
/// are such products and quotients, and a tree would need many splits to find them. Thread rule: immutable.
class ConfigFeatures {
 public:
  explicit ConfigFeatures(const StrategySpace& space);

  /// Config by config.
  const FeatureRows& rows() const { return rows_; }

 private:
  using Column = std::vector<std::uint16_t>;

  static std::vector<Column> AxisColumns(const StrategySpace& space);
  static void AddAlignments(const StrategySpace& space, std::vector<Column>* columns);
  static void AddPairs(const StrategySpace& space, std::vector<Column>* columns);

  FeatureRows rows_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_CONFIG_FEATURES_H_
