#include <algorithm>

#include "measure/outcomes.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

std::string_view OutcomeName(OutcomeKind kind) {
  for (const NamedOutcome& each : kOutcomes) {
    if (each.value == kind) return each.name;
  }
  return "unknown";
}

bool Verification::Covers(const Verification& demanded) const {
  if (level < demanded.level) return false;
  if (demanded.level != Level::kReference) return true;
  return std::equal(outputs.begin(), outputs.end(), demanded.outputs.begin(), demanded.outputs.end(),
                    [](const Output& offered, const Output& wanted) {
                      return offered.absolute <= wanted.absolute && offered.relative <= wanted.relative &&
                             offered.ulps <= wanted.ulps && (!offered.may_be_partial || wanted.may_be_partial);
                    });
}

}  // namespace v0
}  // namespace tuneonce
