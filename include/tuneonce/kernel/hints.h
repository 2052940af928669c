#ifndef TUNEONCE_KERNEL_HINTS_H_
#define TUNEONCE_KERNEL_HINTS_H_

#include <cstdint>
#include <map>
#include <string>

#include "tuneonce/base/api.h"
#include "tuneonce/base/fingerprint.h"
#include "tuneonce/space/config.h"
#include "tuneonce/space/target.h"

namespace tuneonce {

/// Values of compiler hints by name: {"occupancy", 2}.
using HintValues = std::map<std::string, std::int64_t>;

/// Compiler hints by target. A target's own values beat those under "default". A value.
class TUNEONCE_API Hints {
 public:
  Hints() = default;
  /// For all targets.
  Hints(HintValues values) : values_(std::move(values)) {}  // NOLINT(google-explicit-constructor)
  explicit Hints(ByTarget<HintValues> values) : values_(std::move(values)) {}
  /// The values of the config's hint axes, for all targets: what is used where no hints function is given.
  static Hints OfConfig(const Config& config);

  /// The values for `target`; empty if there are none.
  HintValues For(const Target& target) const;
  /// "occupancy=2", or "" if there are none for `target`.
  std::string ToString(const Target& target) const;

 private:
  ByTarget<HintValues> values_;
};

}  // namespace tuneonce

#endif  // TUNEONCE_KERNEL_HINTS_H_
