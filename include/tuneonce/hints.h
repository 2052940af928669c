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

/// The value of a hint: a whole number, and made of nothing else, since the initializer of a map would make 0 of 0.5.
class HintValue {
 public:
  HintValue() = default;
  template <typename T, typename = std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>>
  HintValue(T value) : value_(static_cast<std::int64_t>(value)) {}  // NOLINT(google-explicit-constructor)
  operator std::int64_t() const { return value_; }                  // NOLINT(google-explicit-constructor)

 private:
  std::int64_t value_ = 0;
};

/// A hint axis's value for "not set": what the compiler does by itself. Below the range of every hint.
inline constexpr std::int64_t kHintNotSet = 0;

/// Values of compiler hints by name: {"occupancy", 2}.
using HintValues = std::map<std::string, HintValue>;

/// Compiler hints for Tile IR, by target ("sm_90") with those for all others under "default". A target's own value of
/// a hint beats the same hint under "default". A value.
///
/// - `occupancy`: 1 to 32 blocks per multiprocessor.
/// - `num_ctas` (in bytecode `num_cta_in_cga`): blocks per cluster, a power of two up to 8; more than 1 on sm_90 and
///   newer, not on sm_12x.
/// - `num_worker_warps` (in bytecode `num_worker_warps_per_cta`): a power of two, 1 to 32.
///
/// Either name is taken. The ranges are those that cuTile accepts (`cuda.tile.kernel`) and sm_90's portable cluster
/// size; tileiras itself ignores a bad value without a word, so that Check is the only place that tells.
class TUNEONCE_API Hints {
 public:
  /// How these hints meet those that the bytecode brings along. Replacing drops them all, for every target, as cuTile's
  /// `replace_hints` does; merging keeps those of another name or target.
  enum class Update { kReplace, kMerge };

  Hints() = default;
  /// For all targets.
  Hints(HintValues values) : Hints(ByTarget<HintValues>(std::move(values))) {}  // NOLINT(google-explicit-constructor)
  explicit Hints(ByTarget<HintValues> values) : values_(std::move(values)) {}
  /// The values of the config's hint axes but those that are kHintNotSet, for all targets: what is used where no hints
  /// function is given.
  static Hints OfConfig(const Config& config);

  /// Default: kReplace.
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
  /// No value for any target: the bytecode stays as it is.
  bool empty() const { return values_.values().empty(); }
  const std::map<std::string, HintValues>& by_target() const { return values_.values(); }
  /// The values that act on `target`; empty if there are none.
  HintValues For(const Target& target) const;
  /// "occupancy=2", or "" if there are none for `target`.
  std::string ToString(const Target& target) const;
  /// Of all values and of how they are applied.
  tuneonce::Fingerprint Fingerprint() const;

  /// Errors: InvalidArgument naming target, hint and range, for an unknown hint or target name, a hint given by both
  /// its names, or a value out of range.
  Status Check() const;
  /// The same, and that `target` can honour what acts on it.
  Status CheckFor(const Target& target) const;

 private:
  ByTarget<HintValues> values_;
  Update update_ = Update::kReplace;
  std::int64_t max_ctas_ = 8;
};

/// The bytecode's name of a hint ("num_ctas" -> "num_cta_in_cga"), or "" if there is no such hint.
TUNEONCE_API std::string_view BytecodeHintName(std::string_view name);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_HINTS_H_
