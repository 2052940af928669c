#ifndef TUNEONCE_LIB_DEFINITION_TERM_PARTS_H_
#define TUNEONCE_LIB_DEFINITION_TERM_PARTS_H_

#include "tuneonce/condition.h"

namespace tuneonce {
inline namespace v0 {

/// The contents of a term that is an operation, a comparison of an axis with a value, or a function.
struct Term::Parts {
  Term a = Term(0);  ///< Operands of an operation.
  Term b = Term(0);
  AxisValue value = {};               ///< kAxisIs.
  Condition::Function function = {};  ///< kFunction.
  ConditionReads reads = {};          ///< What the function reads.
};

/// A property of a target, for terms and their texts.
struct DeviceProperty {
  const char* name;  ///< Without "device.".
  std::int64_t (*value)(const Target& target);

  /// Returns the properties, in the order of Term::constant_.
  static const std::vector<DeviceProperty>& All();
  /// Makes the term of the property with this name. REQUIRES: there is one.
  static Term Named(std::string_view name);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_TERM_PARTS_H_
