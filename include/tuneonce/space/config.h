#ifndef TUNEONCE_SPACE_CONFIG_H_
#define TUNEONCE_SPACE_CONFIG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tuneonce/base/api.h"
#include "tuneonce/base/status.h"
#include "tuneonce/space/axis.h"

namespace tuneonce {

/// One value of an axis.
using AxisValue = std::variant<std::int64_t, double, bool, std::string>;

/// "64", "0.5", "true", "row".
TUNEONCE_API std::string AxisValueString(const AxisValue& value);

/// The names and kinds of a space's axes, shared by the space and its configs.
struct AxisTable;

/// One point of a SearchSpace: a value for every axis.
///
/// Reading an axis of another space gives T's default and leaves a note that the search reports as an error
/// (SearchSpace::TakeMisuse): user callbacks need no error path of their own. Copyable. Thread rule: a value.
class TUNEONCE_API Config {
 public:
  /// An empty config: the one point of a space without axes.
  Config() = default;
  Config(std::shared_ptr<AxisTable> axes, std::vector<AxisValue> values);

  template <typename T>
  T operator[](const Axis<T>& axis) const {
    if (axis.space_id() == space_id_ && static_cast<std::size_t>(axis.index()) < values_.size()) {
      if (const T* value = std::get_if<T>(&values_[static_cast<std::size_t>(axis.index())])) return *value;
    }
    NoteForeignAxis(axis.space_id());
    return T();
  }

  /// Values in the order in which the axes were added.
  const std::vector<AxisValue>& values() const { return values_; }
  /// The value of the axis `name`, or null. For tools and reports; kernels use a typed Axis.
  const AxisValue* Find(std::string_view name) const;
  const std::string& AxisName(std::size_t index) const;
  AxisKind Kind(std::size_t index) const;
  std::uint64_t space_id() const { return space_id_; }

  /// "TILE_M=64, occupancy=2".
  std::string ToString() const;

  friend bool operator==(const Config& a, const Config& b) {
    return a.space_id_ == b.space_id_ && a.values_ == b.values_;
  }

 private:
  void NoteForeignAxis(std::uint64_t foreign_space) const;

  std::shared_ptr<AxisTable> axes_;
  std::uint64_t space_id_ = 0;
  std::vector<AxisValue> values_;
};

}  // namespace tuneonce

#endif  // TUNEONCE_SPACE_CONFIG_H_
