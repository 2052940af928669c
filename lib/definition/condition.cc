#include <algorithm>

#include "absl/strings/str_cat.h"
#include "definition/condition_parser.h"
#include "definition/term_parts.h"
#include "tuneonce/config.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
inline namespace v0 {

Condition Condition::AxisIs(int axis, std::uint64_t space_id, std::string name, AxisValue value) {
  Term term(IntAxis(axis, space_id), std::move(name));
  term.kind_ = Term::Kind::kAxisIs;
  term.is_explicit_ = space_id != 0;
  Term::Parts parts;
  parts.value = std::move(value);
  term.parts_ = std::make_shared<const Term::Parts>(std::move(parts));
  return Condition(std::move(term));
}

Condition::Condition(Assumption assumption, Term value) : expression_(0) {
  Term::Parts parts;
  parts.depth = 1 + Term::Parts::DepthOf(value);
  parts.a = std::move(value);
  parts.assumption = std::move(assumption);
  expression_.kind_ = Term::Kind::kAssumption;
  expression_.parts_ = std::make_shared<const Term::Parts>(std::move(parts));
}

std::optional<Assumption> Condition::AsAssumption() const {
  if (expression_.kind_ != Term::Kind::kAssumption || !expression_.parts_->a.IsConstant()) return std::nullopt;
  Assumption assumption = *expression_.parts_->assumption;
  assumption.value = expression_.parts_->a.constant_;
  return assumption;
}

void Condition::SetFunction(Function function, const ConditionReads& reads) {
  Term::Parts parts;
  parts.function = std::move(function);
  parts.reads = reads;
  expression_.kind_ = Term::Kind::kFunction;
  expression_.parts_ = std::make_shared<const Term::Parts>(std::move(parts));
}

Result<Condition> Condition::Parse(std::string_view text) { return ConditionParser(text).Parse(); }

Status Condition::Resolve(const TermNames& names) { return expression_.Resolve(names, Term::kNoValue); }

void Condition::AddReads(const Term& term, ConditionReads* reads) {
  reads->assumptions |= term.kind_ == Term::Kind::kAssumption;
  reads->dims |= term.kind_ == Term::Kind::kAssumption;
  if (term.IsOperation()) {
    AddReads(term.parts_->a, reads);
    AddReads(term.parts_->b, reads);
    return;
  }
  if (term.ReadsAxis()) reads->axes.push_back(term.axis_.index());
  reads->target |= term.kind_ == Term::Kind::kDevice;
  reads->unresolved |= term.kind_ == Term::Kind::kNamed;
  reads->scalars |= term.kind_ == Term::Kind::kScalar;
  reads->dims |= term.kind_ == Term::Kind::kDim || term.kind_ == Term::Kind::kNamed;
  if (term.kind_ != Term::Kind::kFunction) return;
  reads->function = true;
  reads->any_axis |= term.parts_->reads.any_axis;
  reads->target |= term.parts_->reads.target;
  reads->dims |= term.parts_->reads.dims;
  reads->scalars |= term.parts_->reads.scalars;
}

ConditionReads Condition::reads() const {
  ConditionReads reads;
  AddReads(expression_, &reads);
  std::sort(reads.axes.begin(), reads.axes.end());
  reads.axes.erase(std::unique(reads.axes.begin(), reads.axes.end()), reads.axes.end());
  return reads;
}

std::optional<bool> Condition::Value(const Config& config, const Problem& problem) const {
  const std::int64_t value = expression_.Value(config, problem);
  return value == Term::kNoValue ? std::nullopt : std::optional<bool>(value == 1);
}

bool Condition::HoldsOn(const Target& target) const {
  if (IsAlways()) return true;
  Problem problem;
  problem.target = &target;
  return Holds(Config(), problem);
}

std::vector<Condition> Condition::Conjuncts() const {
  if (expression_.kind_ != Term::Kind::kAnd) return {*this};
  std::vector<Condition> all = Condition(expression_.parts_->a).Conjuncts();
  for (Condition& each : Condition(expression_.parts_->b).Conjuncts()) all.push_back(std::move(each));
  return all;
}

std::string Condition::ToString() const {
  if (expression_.kind_ != Term::Kind::kConstant || expression_.constant_ == Term::kNoValue) {
    return expression_.ToString();
  }
  return expression_.constant_ == 1 ? "true" : "false";
}

std::uint64_t Condition::Hash() const { return Fingerprinter().Add(ToString()).Finish().low; }

bool Condition::HasSameFunctions(const Term& a, const Term& b) {
  if (a.kind_ != b.kind_) return true;  // Their texts are compared.
  if (a.IsOperation()) {
    return HasSameFunctions(a.parts_->a, b.parts_->a) && HasSameFunctions(a.parts_->b, b.parts_->b);
  }
  return a.kind_ != Term::Kind::kFunction || a.parts_ == b.parts_;
}

bool Condition::IsSame(const Condition& other) const {
  return ToString() == other.ToString() && HasSameFunctions(expression_, other.expression_);
}

std::string NamedCondition::ToString() const {
  const std::string text = condition.ToString();
  const bool is_plain = text == name || condition.reads().function;
  return absl::StrCat("condition '", name, "'", is_plain ? "" : absl::StrCat(" (", text, ")"));
}

}  // namespace v0
}  // namespace tuneonce
