#ifndef TUNEONCE_LIB_DEFINITION_REQUIREMENT_PARTS_H_
#define TUNEONCE_LIB_DEFINITION_REQUIREMENT_PARTS_H_

#include "tuneonce/condition.h"

namespace tuneonce {
inline namespace v0 {

/// What a part of a variant's requirement (Variant::Requires) decides, by what it reads.
enum class RequirementUse {
  kOfVariant,  ///< Whether the variant accepts a call: it has no axis.
  kOfKey,      ///< Which configs a call's key is tuned over: an assumption whose value depends on the config.
  kGuard,      ///< Whether a config may run for a problem: asked when tuning and at each launch.
};

inline RequirementUse UseOf(const ConditionReads& reads) {
  if (reads.function || reads.target) return RequirementUse::kGuard;
  if (reads.axes.empty()) return RequirementUse::kOfVariant;
  return reads.assumptions ? RequirementUse::kOfKey : RequirementUse::kGuard;
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_REQUIREMENT_PARTS_H_
