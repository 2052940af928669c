#ifndef TUNEONCE_LIB_DEFINITION_TERM_PARTS_H_
#define TUNEONCE_LIB_DEFINITION_TERM_PARTS_H_

#include <optional>
#include <vector>

#include "tuneonce/arguments.h"
#include "tuneonce/config.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The contents of a term that is an operation, a comparison of an axis with a value, a function or an assumption.
struct Term::Parts {
  Term a = Term(0);  ///< Operands of an operation.
  Term b = Term(0);
  AxisValue value = {};                                 ///< kAxisIs.
  Condition::Function function = {};                    ///< kFunction.
  ConditionReads reads = {};                            ///< What the function reads.
  std::optional<Assumption> assumption = std::nullopt;  ///< kAssumption. Its member `value` is unused.
  int depth = 0;                                        ///< Operations that are nested in an operation, with itself.
  Status mistake = {};  ///< A kNamed may stand for an operation that could not be made: Resolve returns it.

  /// Operations that are nested at most: all functions of a term call themselves for its operands.
  static constexpr int kMaxDepth = 1000;
  static int DepthOf(const Term& term) { return term.IsOperation() ? term.parts_->depth : 0; }
};

/// Returns whether a condition counts these values of an axis as equal: the same value, or zeros of both signs.
bool AreEqualInConditions(const AxisValue& a, const AxisValue& b);

/// How an assumption is written in the text of a condition: NAME(tensor, dimension, value).
struct AssumptionForm {
  Assumption::Kind kind;
  const char* name;
  bool has_dimension;
  bool has_value;  ///< A term. For kScalarIs it may be a floating-point number.

  /// Returns the forms of all assumptions that can be declared.
  static const std::vector<AssumptionForm>& All();
  /// Returns the form of a kind. REQUIRES: it can be declared.
  static const AssumptionForm& Of(Assumption::Kind kind);
};

/// A property of a target, for terms and their texts.
struct DeviceProperty {
  const char* name;  ///< Without "device.".
  std::int64_t (*value)(const Target& target);

  /// Returns the properties, in the order of Term::Property.
  static const std::vector<DeviceProperty>& All();
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_TERM_PARTS_H_
