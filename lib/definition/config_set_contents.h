#ifndef TUNEONCE_LIB_DEFINITION_CONFIG_SET_CONTENTS_H_
#define TUNEONCE_LIB_DEFINITION_CONFIG_SET_CONTENTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "definition/axis_table.h"
#include "tuneonce/config.h"

namespace tuneonce {
inline namespace v0 {

/// How many configs SearchSpace::Enumerate samples from a space with more than kMostConfigs.
constexpr std::size_t kSampledConfigs = 100000;

/// The contents of a ConfigSet: the product of factors, or a list.
struct ConfigSet::Contents {
  /// The valid combinations of the values of some axes, which conditions connect.
  struct Factor {
    std::vector<std::size_t> axes;        ///< Ascending.
    std::vector<std::int64_t> strides;    ///< What one step of each axis adds to a position. The last one is 1.
    std::int64_t size = 0;                ///< Number of valid combinations.
    bool is_whole = false;                ///< Whether all combinations are valid. `positions` is then empty.
    std::vector<std::int64_t> positions;  ///< The valid combinations, ascending: the sum of index * stride.
  };

  std::shared_ptr<AxisTable> axes;
  std::vector<Factor> factors;               ///< Each axis is in exactly one of them.
  std::vector<std::size_t> factor_of;        ///< Index of the factor of each axis.
  std::vector<std::vector<AxisValue>> list;  ///< The configs, if the space lists them. `factors` is then unused.
  bool is_list = false;
  std::int64_t size = 0;

  /// Returns the values of the config with this index among the products of the factors.
  std::vector<AxisValue> ValuesAt(std::int64_t index) const;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_CONFIG_SET_CONTENTS_H_
