#ifndef TUNEONCE_CONFIG_H_
#define TUNEONCE_CONFIG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// What the value of an axis changes. The values of a structural axis need different source code (a tile size). A hint
/// axis only changes compiler hints for the same source (`occupancy`, `num_ctas`, `num_worker_warps`). An option axis
/// only changes a compiler option (`maxrregcount`, `ftz`).
enum class AxisKind { kStructural, kHint, kOption };

/// A typed handle of one axis of one SearchSpace: `config[axis]` is an array index, not a string lookup. `T` is
/// std::int64_t, double, bool or std::string. Copyable. SearchSpace::AddAxis and the like make it. A
/// default-constructed handle belongs to no space and must not be used to read a config.
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

/// Prints a value for people and for macros in source code: "64", "0.5", "true", "row". A double has as many digits as
/// are needed to read it back exactly.
TUNEONCE_API std::string AxisValueString(const AxisValue& value);

/// Returns whether both values have the same type and the same value, doubles bit by bit. 1, 1.0, true and "1" differ,
/// and so do 0.0 and -0.0, because they print differently and therefore make different code.
TUNEONCE_API bool IsSameValue(const AxisValue& a, const AxisValue& b);

/// A total order of AxisValues and of lists of them, for std::set and std::map. Two values are equivalent if
/// IsSameValue holds.
struct TUNEONCE_API AxisValueOrder {
  bool operator()(const AxisValue& a, const AxisValue& b) const;
  bool operator()(const std::vector<AxisValue>& a, const std::vector<AxisValue>& b) const;
};

/// The names and kinds of a space's axes, shared by the space and its configs. Opaque to users of the library.
struct AxisTable;

/// One point of a SearchSpace: a value for every axis.
///
/// Reading an axis of another space returns T's default and leaves a note that the search reports as an error
/// (SearchSpace::TakeMisuse), so that callbacks need no error path of their own. It has value semantics.
class TUNEONCE_API Config {
 public:
  /// Makes the config without values, which is the only one of a space without axes.
  Config() = default;
  Config(std::shared_ptr<AxisTable> axes, std::vector<AxisValue> values);

  /// One axis of a config that belongs to no space, and its value.
  struct Setting {
    std::string axis;
    AxisKind kind = AxisKind::kStructural;
    AxisValue value;
  };
  /// Makes a config that belongs to no space, for example from a record. Find and the other accessors read it. Reading
  /// it with an Axis of a space returns T's default.
  static Config Of(std::vector<Setting> settings);

  template <typename T>
  T operator[](const Axis<T>& axis) const {
    if (axis.space_id() == space_id_ && static_cast<std::size_t>(axis.index()) < values_.size()) {
      if (const T* value = std::get_if<T>(&values_[static_cast<std::size_t>(axis.index())])) return *value;
    }
    NoteForeignAxis(axis.space_id());
    return T();
  }

  /// Returns the values in the order in which the axes were added.
  const std::vector<AxisValue>& values() const { return values_; }
  /// Returns the value of the axis `name`, or null if there is no such axis. It is for tools and reports. Definitions
  /// read a config with an Axis.
  const AxisValue* Find(std::string_view name) const;
  const std::string& AxisName(std::size_t index) const;
  AxisKind Kind(std::size_t index) const;
  std::uint64_t space_id() const { return space_id_; }

  /// Prints the config for people: "TILE_M=64, occupancy=2". Two different configs may have the same text.
  std::string ToString() const;

  /// Returns the config's identity as bytes: the names and kinds of its axes, and its values with their types, doubles
  /// bit by bit. The bytes are the same in every process and release. Keys, records and maps compare them.
  std::string Canonical() const;
  /// Makes a config that belongs to no space from the bytes that Canonical returned. If `like` belongs to no space and
  /// has the same axes, both configs share the axes' names in memory. Errors: InvalidArgument for other bytes.
  static Result<Config> FromCanonical(std::string_view bytes, const Config& like);
  static Result<Config> FromCanonical(std::string_view bytes) { return FromCanonical(bytes, Config()); }
  /// Returns whether both have the same axes and values, even if they belong to different spaces. This compares the
  /// Canonical forms.
  bool IsSame(const Config& other) const;

  friend bool operator==(const Config& a, const Config& b) { return a.space_id_ == b.space_id_ && a.IsSame(b); }

 private:
  void NoteForeignAxis(std::uint64_t foreign_space) const;
  /// Returns whether this config belongs to no space and has exactly these axes.
  TUNEONCE_LOCAL bool HasAxesOf(const std::vector<Setting>& settings) const;

  std::shared_ptr<AxisTable> axes_;
  std::uint64_t space_id_ = 0;
  std::vector<AxisValue> values_;
};

/// The valid configs of a search space on a target, in the space's order. It is stored as factors: axes that no
/// condition connects are independent, so a space of 100 million configs may need a few kilobytes. A config is made
/// when it is asked for. SearchSpace::Configs makes the set.
///
/// It has value semantics, and copies share their contents. Thread rule: any thread.
class TUNEONCE_API ConfigSet {
 public:
  ConfigSet();  ///< Makes a set without configs.
  ConfigSet(const ConfigSet& other);
  ConfigSet(ConfigSet&& other) noexcept;
  ConfigSet& operator=(ConfigSet other) noexcept;
  ~ConfigSet();

  std::int64_t size() const;
  bool empty() const { return size() == 0; }
  /// Returns the config with this index, which takes about a microsecond. REQUIRES: 0 <= index < size().
  Config At(std::int64_t index) const;

  struct Contents;  ///< Opaque.

 private:
  friend class SearchSpace;
  friend class SpaceWalk;

  TUNEONCE_LOCAL explicit ConfigSet(std::shared_ptr<const Contents> contents);

  std::shared_ptr<const Contents> contents_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_CONFIG_H_
