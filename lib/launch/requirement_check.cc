#include "launch/requirement_check.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "definition/requirement_parts.h"
#include "definition/term_parts.h"

namespace tuneonce {
inline namespace v0 {

Result<RequirementCheck> RequirementCheck::Create(const KernelDefinition& definition, const Condition& condition) {
  RequirementCheck check;
  TUNEONCE_RETURN_IF_ERROR(check.Add(definition, condition.expression_));
  const ConditionReads reads = condition.reads();
  check.is_of_dims_ = !reads.assumptions && !reads.scalars;
  check.text_ = condition.ToString();
  return check;
}

RequirementCheck RequirementCheck::Never(std::string text) {
  RequirementCheck check;
  check.nodes_.emplace_back();
  check.nodes_.back().leaf = !Condition();
  check.text_ = std::move(text);
  return check;
}

Status RequirementCheck::Add(const KernelDefinition& definition, const Term& term) {
  Node node;
  node.kind = term.kind_;
  if (!Condition(term).reads().assumptions) {
    node.kind = Term::Kind::kConstant;
    node.leaf = Condition(term);
  } else if (term.kind_ == Term::Kind::kAssumption) {
    std::optional<Assumption> assumption = Condition(term).AsAssumption();
    if (!assumption) {
      return InvalidArgumentError("the requirement '" + Condition(term).ToString() +
                                  "' has a value that does not depend on the config alone: use dims and scalars in "
                                  "comparisons");
    }
    TUNEONCE_ASSIGN_OR_RETURN(node.check, AssumptionCheck::Of(definition, *assumption));
  } else {
    TUNEONCE_RETURN_IF_ERROR(Add(definition, term.parts_->a));
    node.a = nodes_.size() - 1;
    if (term.kind_ != Term::Kind::kNot) TUNEONCE_RETURN_IF_ERROR(Add(definition, term.parts_->b));
    node.b = nodes_.size() - 1;
  }
  nodes_.push_back(std::move(node));
  return Status();
}

bool RequirementCheck::Holds(const BoundCall& call) const { return Value(nodes_.size() - 1, call) == 1; }

std::int64_t RequirementCheck::Value(std::size_t index, const BoundCall& call) const {
  static const Config no_axes;
  const Node& node = nodes_[index];
  switch (node.kind) {
    case Term::Kind::kAssumption:
      return node.check.Holds(call) ? 1 : 0;
    case Term::Kind::kAnd:
    case Term::Kind::kOr:
    case Term::Kind::kNot:
      return Term::ApplyCondition(node.kind, Value(node.a, call), Value(node.b, call));
    default:
      return node.leaf.expression_.Value(no_axes, call.problem);
  }
}

std::vector<Condition> RequirementGuards(const Variant& variant, const Config& config) {
  std::vector<Condition> guards;
  if (variant.requirement.IsAlways()) return guards;
  for (const Condition& part : variant.requirement.Conjuncts()) {
    if (UseOf(part.reads()) != RequirementUse::kGuard) continue;
    Condition folded = part.For(config);
    if (!folded.IsAlways()) guards.push_back(std::move(folded));
  }
  return guards;
}

Status CheckRequirementGuards(const Variant& variant, const Config& config, const Problem& problem) {
  for (const Condition& guard : RequirementGuards(variant, config)) {
    TUNEONCE_ASSIGN_OR_RETURN(bool holds, CallUser("the requirement of variant '" + variant.name + "'",
                                                   [&] { return guard.Holds(config, problem); }));
    if (holds) continue;
    return FailedPreconditionError(absl::StrCat("variant '", variant.name, "' requires '",
                                                variant.requirement.ToString(), "', which does not hold for {",
                                                config.ToString(), "}"));
  }
  return Status();
}

std::vector<std::size_t> RequirementAtomsOf(const KernelDefinition& definition, const Variant& variant,
                                            const Config& config) {
  std::vector<std::size_t> indices;
  const std::vector<Condition>& atoms = definition.requirement_atoms();
  if (atoms.empty()) return indices;
  for (const Condition& part : variant.requirement.Conjuncts()) {
    if (UseOf(part.reads()) != RequirementUse::kOfKey) continue;
    for (const Condition& each : part.For(config).Conjuncts()) {
      auto atom = std::find(atoms.begin(), atoms.end(), each);
      if (atom != atoms.end()) indices.push_back(static_cast<std::size_t>(atom - atoms.begin()));
    }
  }
  return indices;
}

}  // namespace v0
}  // namespace tuneonce
