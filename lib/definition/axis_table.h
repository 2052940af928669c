#ifndef TUNEONCE_LIB_DEFINITION_AXIS_TABLE_H_
#define TUNEONCE_LIB_DEFINITION_AXIS_TABLE_H_

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tuneonce/config.h"

namespace tuneonce {
inline namespace v0 {

struct AxisDefinition {
  std::string name;
  AxisKind kind;
  std::vector<AxisValue> values;
  std::set<AxisValue, AxisValueOrder> set = {values.begin(), values.end()};  ///< The values as a set.
};

struct AxisTable {
  std::uint64_t space_id = 0;
  std::vector<AxisDefinition> axes;
  /// Id of a space whose axis was used on a config of this space, 0 if that did not happen, or ~0 for an axis that
  /// belongs to no space.
  std::atomic<std::uint64_t> misused_by{0};
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_AXIS_TABLE_H_
