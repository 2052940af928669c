// How terms and conditions print.
#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "definition/condition_parser.h"
#include "definition/term_parts.h"
#include "tuneonce/config.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr int kUnary = 6, kPrimary = 7;

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string ValueText(const AxisValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return Quoted(*text);
  std::string text = AxisValueString(value);
  const bool looks_whole = std::holds_alternative<double>(value) && text.find_first_not_of("-0123456789") == text.npos;
  return looks_whole ? text + ".0" : text;
}

}  // namespace

int Term::Precedence() const {
  switch (kind_) {
    case Kind::kOr:
      return 1;
    case Kind::kAnd:
      return 2;
    case Kind::kEqual:
    case Kind::kNotEqual:
    case Kind::kLess:
    case Kind::kAtMost:
    case Kind::kGreater:
    case Kind::kAtLeast:
    case Kind::kAxisIs:
      return 3;
    case Kind::kSum:
    case Kind::kDifference:
      return 4;
    case Kind::kProduct:
    case Kind::kQuotient:
    case Kind::kRemainder:
      return 5;
    case Kind::kNot:
      return kUnary;
    default:
      return kPrimary;
  }
}

template <typename Leaf>
std::string Term::Text(const Leaf& leaf) const {
  if (!IsOperation()) return leaf(*this);
  if (kind_ == Kind::kAssumption) return AssumptionText(parts_->a.Text(leaf));
  // Operators group to the left, so the right operand needs brackets where it has the same precedence.
  auto part = [&](const Term& term, bool is_right) {
    const bool is_truth = term.kind_ == Kind::kConstant && (kind_ >= Kind::kAnd) && term.constant_ != kNoValue;
    std::string text = is_truth ? (term.constant_ != 0 ? "true" : "false") : term.Text(leaf);
    const bool needs_brackets = term.Precedence() < Precedence() + (is_right || kind_ == Kind::kNot ? 1 : 0);
    return needs_brackets ? absl::StrCat("(", text, ")") : text;
  };
  static constexpr const char* kOperators[] = {"+",  "-",  "*", "/",  "%", "ceil_div", "min", "max",
                                               "==", "!=", "<", "<=", ">", ">=",       "&&",  "||"};
  if (kind_ == Kind::kNot && parts_->a.kind_ == Kind::kAxisIs) {
    return absl::StrCat(parts_->a.QualifiedName(), " != ", ValueText(parts_->a.parts_->value));
  }
  if (kind_ == Kind::kNot) return absl::StrCat("!", part(parts_->a, false));
  const char* name = kOperators[static_cast<int>(kind_) - static_cast<int>(Kind::kSum)];
  if (kind_ == Kind::kCeilDiv || kind_ == Kind::kMin || kind_ == Kind::kMax) {
    return absl::StrCat(name, "(", parts_->a.Text(leaf), ", ", parts_->b.Text(leaf), ")");
  }
  return absl::StrCat(part(parts_->a, false), " ", name, " ", part(parts_->b, true));
}

const std::vector<AssumptionForm>& AssumptionForm::All() {
  using Kind = Assumption::Kind;
  static const auto* const all = new std::vector<AssumptionForm>{
      {Kind::kAligned, "aligned", false, true},
      {Kind::kStrideIs, "stride_is", true, true},
      {Kind::kStrideDivisibleBy, "stride_divisible_by", true, true},
      {Kind::kExtentIs, "extent_is", true, true},
      {Kind::kExtentDivisibleBy, "extent_divisible_by", true, true},
      {Kind::kExtentAtLeast, "extent_at_least", true, true},
      {Kind::kContiguous, "contiguous", false, false},
      {Kind::kNoOverlap, "no_overlap", false, false},
      {Kind::kScalarIs, "scalar_is", false, true},
      {Kind::kScalarDivisibleBy, "scalar_divisible_by", false, true},
      {Kind::kScalarAtLeast, "scalar_at_least", false, true},
      {Kind::kDTypeIn, "dtype_in", false, false},
  };
  return *all;
}

const AssumptionForm& AssumptionForm::Of(Assumption::Kind kind) {
  const std::vector<AssumptionForm>& all = All();
  return *std::find_if(all.begin(), all.end(), [&](const AssumptionForm& each) { return each.kind == kind; });
}

std::string Term::AssumptionText(const std::string& value) const {
  const Assumption& assumption = *parts_->assumption;
  const AssumptionForm& form = AssumptionForm::Of(assumption.kind);
  std::string text = absl::StrCat(form.name, "(", ConditionParser::NameText(assumption.tensor));
  if (form.has_dimension) absl::StrAppend(&text, ", ", assumption.dimension);
  if (form.has_value) absl::StrAppend(&text, ", ", assumption.real ? ValueText(*assumption.real) : value);
  if (assumption.kind == Assumption::Kind::kNoOverlap) {
    absl::StrAppend(&text, ", ", ConditionParser::NameText(assumption.other));
  }
  for (DType dtype : assumption.dtypes) absl::StrAppend(&text, ", ", std::string(DTypeName(dtype)));
  return text + ")";
}

std::string Term::QualifiedName() const {
  if (ReadsAxis() && name_.empty()) return "axis";
  const std::string name = ConditionParser::NameText(name_);
  // A qualified name that is not explicit is axis(NAME), not yet bound.
  const bool is_axis = ReadsAxis() || (kind_ == Kind::kNamed && !is_explicit_);
  return is_qualified_ ? absl::StrCat(is_axis ? "axis(" : "dim(", name, ")") : name;
}

std::string Term::LeafText() const {
  const std::string name = QualifiedName();
  switch (kind_) {
    case Kind::kConstant:
      return constant_ == kNoValue ? "undefined" : absl::StrCat(constant_);
    case Kind::kDevice:
      return absl::StrCat("device.", DeviceProperty::All()[static_cast<std::size_t>(constant_)].name);
    case Kind::kAxisIs:
      return absl::StrCat(name, " == ", ValueText(parts_->value));
    case Kind::kFunction:
      return "function";
    case Kind::kDim:
      return name_.empty() ? absl::StrCat("dim ", dim_.index) : name;
    default:
      return name;
  }
}

std::string Term::ToString() const {
  return Text([](const Term& term) { return term.LeafText(); });
}

std::string Term::ToString(const Config& config, const Problem& problem) const {
  return Text([&](const Term& term) {
    if (term.kind_ == Kind::kConstant) return term.LeafText();
    std::int64_t value = term.Value(config, problem);
    std::string name = term.LeafText();
    auto axis = static_cast<std::size_t>(term.axis_.index());
    if (term.kind_ == Kind::kAxis) name = axis < config.values().size() ? config.AxisName(axis) : "axis";
    if (value == kNoValue) return absl::StrCat(name, ", which has no value that fits 64 bits");
    return absl::StrCat(name, "=", value);
  });
}

}  // namespace v0
}  // namespace tuneonce
