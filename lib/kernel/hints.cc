#include "tuneonce/kernel/hints.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tuneonce {

Hints Hints::OfConfig(const Config& config) {
  HintValues values;
  for (std::size_t i = 0; i < config.values().size(); ++i) {
    if (config.Kind(i) != AxisKind::kHint) continue;
    values[config.AxisName(i)] = std::get<std::int64_t>(config.values()[i]);
  }
  return values.empty() ? Hints() : Hints(std::move(values));
}

HintValues Hints::For(const Target& target) const {
  const HintValues* values = values_.Find(target);
  return values == nullptr ? HintValues() : *values;
}

std::string Hints::ToString(const Target& target) const {
  return absl::StrJoin(For(target), ", ", absl::PairFormatter("="));
}

}  // namespace tuneonce
