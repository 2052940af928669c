#ifndef TUNEONCE_HINTS_H_
#define TUNEONCE_HINTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tuneonce/api.h"
#include "tuneonce/config.h"
#include "tuneonce/status.h"
#include "tuneonce/target.h"

namespace tuneonce {
inline namespace v0 {

struct Fingerprint;

/// The value of a compiler hint. It can only be made from an integer: a plain std::int64_t in a map's initializer would
/// turn 0.5 into 0.
class HintValue {
 public:
  HintValue() = default;
  template <typename T, typename = std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>>
  HintValue(T value) : value_(static_cast<std::int64_t>(value)) {}  // NOLINT(google-explicit-constructor)
  operator std::int64_t() const { return value_; }                  // NOLINT(google-explicit-constructor)

 private:
  std::int64_t value_ = 0;
};

/// A value for hint axes that means "do not set this hint". The compiler then chooses its value. It is below the range
/// of every hint.
inline constexpr std::int64_t kHintNotSet = 0;

/// Values of compiler hints by name: {"occupancy", 2}.
using HintValues = std::map<std::string, HintValue>;

/// Compiler hints for Tile IR, by target name ("sm_90"). Hints under "default" apply to all targets, and a target's own
/// value overrides them. The class has value semantics.
///
/// - `occupancy`: 1 to 32 blocks per multiprocessor.
/// - `num_ctas` (in bytecode `num_cta_in_cga`): blocks per cluster, a power of two up to 8; more than 1 on sm_90 and
///   newer, not on sm_12x.
/// - `num_worker_warps` (in bytecode `num_worker_warps_per_cta`): a power of two, 1 to 32.
///
/// Both names of a hint are accepted. The ranges are those of cuTile (`cuda.tile.kernel`) and of sm_90's portable
/// cluster size. tileiras ignores an invalid value silently. Only Check and CheckFor report it.
class TUNEONCE_API Hints {
 public:
  /// How these hints combine with those in the bytecode. kReplace removes all of the bytecode's hints for every target,
  /// like cuTile's `replace_hints`. kMerge keeps the bytecode's hints that have another name or target.
  enum class Update { kReplace, kMerge };

  Hints() = default;
  /// Makes hints for all targets.
  Hints(HintValues values) : Hints(ByTarget<HintValues>(std::move(values))) {}  // NOLINT(google-explicit-constructor)
  explicit Hints(ByTarget<HintValues> values) : values_(std::move(values)) {}
  /// Returns hints for all targets with the values of the config's hint axes, without those that are kHintNotSet. A
  /// search uses them for variants without a hints function (Variant::HintsBy).
  static Hints OfConfig(const Config& config);

  /// Sets how these hints combine with the bytecode's. Default: kReplace.
  Hints& Set(Update update) {
    update_ = update;
    return *this;
  }
  /// Allows clusters of 16 blocks, which not every GPU of an architecture can run.
  Hints& AllowNonPortableClusters() {
    max_ctas_ = 16;
    return *this;
  }

  Update update() const { return update_; }
  /// Returns whether all targets are without values. The bytecode then stays unchanged.
  bool empty() const { return values_.values().empty(); }
  const std::map<std::string, HintValues>& by_target() const { return values_.values(); }
  /// Returns the values that apply to `target`, by the names that were given. The map may be empty.
  HintValues For(const Target& target) const;
  /// Prints the values that apply to `target`: "occupancy=2", or "" without any.
  std::string ToString(const Target& target) const;
  /// Returns the fingerprint of all values and of the update mode.
  tuneonce::Fingerprint Fingerprint() const;

  /// Checks all values. Errors: InvalidArgument, naming target, hint and range, for an unknown hint or target name, a
  /// hint that is given by both of its names, or a value out of range.
  Status Check() const;
  /// Checks all values, and that `target` supports those that apply to it. Errors: as for Check, and InvalidArgument
  /// for more than one block per cluster on a target without clusters.
  Status CheckFor(const Target& target) const;

 private:
  ByTarget<HintValues> values_;
  Update update_ = Update::kReplace;
  std::int64_t max_ctas_ = 8;
};

/// Returns the name that Tile IR bytecode uses for a compiler hint: "num_cta_in_cga" for "num_ctas". `name` may be
/// either of the hint's names (see Hints). Returns "" for an unknown hint.
TUNEONCE_API std::string_view BytecodeHintName(std::string_view name);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_HINTS_H_
