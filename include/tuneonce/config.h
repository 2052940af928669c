#ifndef TUNEONCE_CONFIG_H_
#define TUNEONCE_CONFIG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tuneonce/api.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// What an axis changes. A structural axis needs other source for each value (a tile size); a hint axis only changes
/// compiler hints of the same source (`occupancy`, `num_ctas`, `num_worker_warps`), an option axis only an option of
/// the compiler (`maxrregcount`, `ftz`).
enum class AxisKind { kStructural, kHint, kOption };

/// A typed handle of one axis of one SearchSpace: `config[axis]` is an array index, not a string lookup.
/// T is std::int64_t, double, bool or std::string. Copyable; made by SearchSpace::AddAxis. A default-made handle
/// belongs to no space.
template <typename T>
class Axis {
 public:
  Axis() = default;
  Axis(int index, std::uint64_t space_id) : index_(index), space_id_(space_id) {}

  int index() const { return index_; }
  std::uint64_t space_id() const { return space_id_; }

 private:
  int index_ = 0;
  std::uint64_t space_id_ = 0;
};

using IntAxis = Axis<std::int64_t>;

/// One value of an axis.
using AxisValue = std::variant<std::int64_t, double, bool, std::string>;

/// "64", "0.5", "true", "row": for people, and for text in sources. A double has as many digits as bring it back
/// exactly.
TUNEONCE_API std::string AxisValueString(const AxisValue& value);

/// Whether both are the same value of the same type, doubles to the bit: 1, 1.0, true and "1" differ, and so do 0.0 and
/// -0.0, which print differently and therefore make different code.
TUNEONCE_API bool IsSameValue(const AxisValue& a, const AxisValue& b);

/// An order for sets and maps, in which what IsSameValue is the same key.
struct TUNEONCE_API AxisValueOrder {
  bool operator()(const AxisValue& a, const AxisValue& b) const;
  bool operator()(const std::vector<AxisValue>& a, const std::vector<AxisValue>& b) const;
};

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

  /// One axis of a config that belongs to no space, with its value.
  struct Setting {
    std::string axis;
    AxisKind kind = AxisKind::kStructural;
    AxisValue value;
  };
  /// A config that belongs to no space: one that was read from a record, say. Find and the accessors below work; a
  /// typed Axis reads nothing.
  static Config Of(std::vector<Setting> settings);

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

  /// "TILE_M=64, occupancy=2". For people: two configs may print the same.
  std::string ToString() const;

  /// The config's identity as bytes: its axes' names and kinds, and its values with their types, doubles to the bit.
  /// The same in every process and release; keys, records and maps go by it.
  std::string Canonical() const;
  /// A config of no space from what Canonical gave. `like`: another of no space, whose names and kinds of axes it then
  /// shares in memory if they are the same. Errors: InvalidArgument.
  static Result<Config> FromCanonical(std::string_view bytes, const Config& like);
  static Result<Config> FromCanonical(std::string_view bytes) { return FromCanonical(bytes, Config()); }
  /// Whether the axes and values are the same, of whatever spaces: the Canonical forms are equal.
  bool IsSame(const Config& other) const;

  friend bool operator==(const Config& a, const Config& b) { return a.space_id_ == b.space_id_ && a.IsSame(b); }

 private:
  void NoteForeignAxis(std::uint64_t foreign_space) const;
  /// Of no space, and with the same axes.
  bool HasAxesOf(const std::vector<Setting>& settings) const;

  std::shared_ptr<AxisTable> axes_;
  std::uint64_t space_id_ = 0;
  std::vector<AxisValue> values_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_CONFIG_H_
