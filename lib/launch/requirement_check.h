#ifndef TUNEONCE_LIB_LAUNCH_REQUIREMENT_CHECK_H_
#define TUNEONCE_LIB_LAUNCH_REQUIREMENT_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "launch/assumption_check.h"
#include "launch/call_binder.h"
#include "tuneonce/condition.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Checks a part of a requirement that is not a single assumption, such as aligned(x, 16) || N % 8 == 0. It allocates
/// nothing when it is asked. Thread rule: immutable; any thread.
class RequirementCheck {
 public:
  /// Makes the check of a condition without axes, functions and properties of the device. Errors: those of
  /// AssumptionCheck::Of.
  static Result<RequirementCheck> Create(const KernelDefinition& definition, const Condition& condition);

  /// Makes a check that never holds.
  static RequirementCheck Never(std::string text);

  /// Not inline, so that the checks of plain assumptions need no stack frame.
  [[gnu::cold, gnu::noinline]] bool Holds(const BoundCall& call) const;
  /// Returns whether only dims decide it.
  bool is_of_dims() const { return is_of_dims_; }
  /// Returns the condition's text.
  const std::string& text() const { return text_; }

 private:
  /// A node of the condition's tree. Operands come before their operation.
  struct Node {
    Term::Kind kind = Term::Kind::kConstant;  // kAssumption, kAnd, kOr or kNot. Another kind stands for `leaf`.
    std::size_t a = 0;                        // Indices of operands.
    std::size_t b = 0;
    AssumptionCheck check{};
    Condition leaf;
  };

  Status Add(const KernelDefinition& definition, const Term& term);
  /// Returns 1, 0, or Term::kNoValue if the node is undefined.
  std::int64_t Value(std::size_t node, const BoundCall& call) const;

  std::vector<Node> nodes_;  // The last one is the whole condition.
  std::string text_;
  bool is_of_dims_ = false;
};

/// Returns the parts of the variant's requirement that are asked like guards, for one config. Parts that always hold
/// for the config are not among them.
std::vector<Condition> RequirementGuards(const Variant& variant, const Config& config);
/// Returns OK if all RequirementGuards hold. Errors: FailedPrecondition, naming the part; an exception from a function.
Status CheckRequirementGuards(const Variant& variant, const Config& config, const Problem& problem);
/// Returns the index in KernelDefinition::requirement_atoms of each part of the requirement that decides keys, for one
/// config. A part of a config with unlisted values may have no index.
std::vector<std::size_t> RequirementAtomsOf(const KernelDefinition& definition, const Variant& variant,
                                            const Config& config);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_LAUNCH_REQUIREMENT_CHECK_H_
