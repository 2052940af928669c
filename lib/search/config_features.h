#ifndef TUNEONCE_LIB_SEARCH_CONFIG_FEATURES_H_
#define TUNEONCE_LIB_SEARCH_CONFIG_FEATURES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tuneonce/plugin/search_strategy.h"

namespace tuneonce {
inline namespace v0 {

/// What a model knows of each config of a space, as small integers.
///
/// An ordinal axis is one feature, the index of its value. A categorical axis with more than two values is one feature
/// per value, which is 1 if the config has it. Each pair of ordinal axes that have at least three values, all positive,
/// adds the ranks of the values' product and of their quotient, because threads per block and work per thread are such
/// products and quotients, and a tree would need many splits to find them. Thread rule: immutable.
class ConfigFeatures {
 public:
  explicit ConfigFeatures(const StrategySpace& space);

  std::size_t num_features() const { return num_features_; }
  /// Returns the features of a config, num_features() of them.
  const std::uint16_t* of(std::size_t config) const { return values_.data() + config * num_features_; }

 private:
  using Column = std::vector<std::uint16_t>;

  static std::vector<Column> AxisColumns(const StrategySpace& space);
  static void AddPairs(const StrategySpace& space, std::vector<Column>* columns);

  std::size_t num_features_ = 0;
  std::vector<std::uint16_t> values_;  // Config by config, because a tree reads several features of one config.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_CONFIG_FEATURES_H_
