#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/short_list.h"
#include "definition/axis_table.h"
#include "definition/scalar_value.h"
#include "definition/term_parts.h"
#include "tuneonce/config.h"

namespace tuneonce {
inline namespace v0 {
const std::vector<DeviceProperty>& DeviceProperty::All() {
  static const auto* const all = new std::vector<DeviceProperty>{
      {"num_sms", [](const Target& t) -> std::int64_t { return std::max(1, t.num_sms); }},
      {"capability", [](const Target& t) -> std::int64_t { return t.is_cpu_device ? 0 : t.capability(); }},
      {"shared_memory", [](const Target& t) -> std::int64_t { return t.max_shared_memory_bytes; }},
      {"shared_memory_per_sm", [](const Target& t) -> std::int64_t { return t.shared_memory_per_sm; }},
      {"max_threads_per_block", [](const Target& t) -> std::int64_t { return t.max_threads_per_block; }},
      {"max_threads_per_sm", [](const Target& t) -> std::int64_t { return t.max_threads_per_sm; }},
      {"registers_per_sm", [](const Target& t) -> std::int64_t { return t.registers_per_sm; }},
      {"warp_size", [](const Target& t) -> std::int64_t { return t.warp_size; }},
      {"max_cluster_size", [](const Target& t) -> std::int64_t { return t.max_cluster_size; }},
      {"l2_bytes", [](const Target& t) { return static_cast<std::int64_t>(t.l2_bytes); }},
  };
  return *all;
}

Term::Term(Kind kind, Term a, Term b) : kind_(kind) {
  Parts parts{std::move(a), std::move(b)};
  parts.depth = 1 + std::max(Parts::DepthOf(parts.a), Parts::DepthOf(parts.b));
  if (parts.depth > Parts::kMaxDepth) {  // An operator cannot return an error.
    kind_ = Kind::kNamed;
    is_explicit_ = true;
    name_ = "too deep";
    parts = Parts();
    parts.mistake = InvalidArgumentError(
        absl::StrCat("a term has more than ", Parts::kMaxDepth, " nested operations: use several terms or conditions"));
  }
  parts_ = std::make_shared<const Parts>(std::move(parts));
}

Status Term::Resolve(const TermNames& names, std::int64_t least) {
  if (IsOperation()) {
    Parts resolved = *parts_;  // The operands are shared with copies, which may be another definition's.
    TUNEONCE_RETURN_IF_ERROR(resolved.a.Resolve(names, kNoValue));
    TUNEONCE_RETURN_IF_ERROR(resolved.b.Resolve(names, kNoValue));
    parts_ = std::make_shared<const Parts>(std::move(resolved));
    return Status();
  }
  if (kind_ == Kind::kNamed && parts_ != nullptr) return parts_->mistake;
  if (kind_ == Kind::kConstant && constant_ < least) {
    return InvalidArgumentError(
        absl::StrCat("the constant ", constant_, " is too small; at least ", least, " is possible"));
  }
  if (kind_ == Kind::kDim && name_.empty()) {
    if (dim_.index < 0 || dim_.index >= static_cast<int>(names.dims.size())) {
      return InvalidArgumentError(
          absl::StrCat("no dim has the index ", dim_.index, ": the kernel has ", names.dims.size(), " dims"));
    }
    name_ = names.dims[static_cast<std::size_t>(dim_.index)];
  }
  if (!ReadsAxis()) return name_.empty() ? Status() : ResolveName(names);
  const bool is_dim = std::find(names.dims.begin(), names.dims.end(), name_) != names.dims.end();
  const bool is_scalar = std::any_of(names.scalars.begin(), names.scalars.end(),
                                     [&](const TermNames::Scalar& each) { return each.name == name_; });
  if (name_.empty() || is_qualified_ || (!is_dim && !is_scalar)) return Status();
  if (!is_explicit_) {
    return InvalidArgumentError(absl::StrCat("'", name_, "' is an axis and a ", is_dim ? "dim" : "scalar",
                                             ": rename one, or write axis(", name_, ") or dim(", name_, ")"));
  }
  is_qualified_ = true;
  return Status();
}

Status Term::BindAxes(const AxisTable& axes) {
  if (!IsOperation()) return BindLeaf(axes);
  Parts bound = *parts_;
  TUNEONCE_RETURN_IF_ERROR(bound.a.BindAxes(axes));
  TUNEONCE_RETURN_IF_ERROR(bound.b.BindAxes(axes));
  parts_ = std::make_shared<const Parts>(std::move(bound));
  return Status();
}

Status Term::BindLeaf(const AxisTable& axes) {
  const bool is_by_name = kind_ == Kind::kNamed || (kind_ == Kind::kAxisIs && axis_.space_id() == 0);
  if (!is_by_name && !ReadsAxis()) return Status();
  if (kind_ == Kind::kNamed && parts_ != nullptr) return parts_->mistake;
  auto axis = axes.axes.begin();
  if (is_by_name) {
    axis = std::find_if(axis, axes.axes.end(), [&](const AxisDefinition& each) { return each.name == name_; });
    if (kind_ == Kind::kNamed && is_explicit_) {
      is_qualified_ = axis != axes.axes.end();  // The name means a dim, although an axis has it too.
      return Status();
    }
    if (axis == axes.axes.end() && kind_ == Kind::kNamed) return Status();  // A dim or scalar.
    if (axis == axes.axes.end()) {
      return InvalidArgumentError(absl::StrCat(
          "unknown axis '", name_, "'; the space has: ", ShortListOf(axes.axes, &AxisDefinition::name, name_)));
    }
    axis_ = IntAxis(static_cast<int>(axis - axes.axes.begin()), axes.space_id);
  } else {
    if (axis_.space_id() != axes.space_id || axis_.index() >= static_cast<int>(axes.axes.size())) {
      return InvalidArgumentError("it reads an axis of another space");
    }
    axis += axis_.index();
    name_ = axis->name;
  }
  if (axis->values.empty()) return Status();  // A mistake that was noted.
  if (axis->set.count(AxisValue(kNoValue)) > 0) {
    return InvalidArgumentError(absl::StrCat("axis '", name_, "' lists the value ", kNoValue,
                                             ", which conditions take for undefined: use a larger number"));
  }
  const AxisValue& first = axis->values.front();
  if (kind_ == Kind::kNamed) {
    kind_ = std::holds_alternative<bool>(first) ? Kind::kBoolAxis : Kind::kAxis;
    if (kind_ == Kind::kBoolAxis || std::holds_alternative<std::int64_t>(first)) return Status();
  } else if (kind_ != Kind::kAxisIs || parts_->value.index() == first.index()) {
    return Status();
  }
  return InvalidArgumentError(absl::StrCat(
      "the values of axis '", name_, "' are ",
      std::holds_alternative<double>(first) ? "floating-point numbers: compare it by == or != with one, such as 1.0"
      : std::holds_alternative<std::string>(first) ? "strings: compare it by == or != with one, such as \"row\""
                                                   : "whole numbers or booleans: compare it with a whole number"));
}

Status Term::ResolveName(const TermNames& names) {
  auto dim = std::find(names.dims.begin(), names.dims.end(), name_);
  auto scalar = std::find_if(names.scalars.begin(), names.scalars.end(),
                             [&](const TermNames::Scalar& each) { return each.name == name_; });
  if (dim != names.dims.end()) {
    kind_ = Kind::kDim;
    dim_.index = static_cast<int>(dim - names.dims.begin());
    return Status();
  }
  if (scalar == names.scalars.end()) {
    return InvalidArgumentError(absl::StrCat(
        "unknown dim '", name_, "'; the kernel has: ", ShortList(names.dims, name_),
        names.scalars.empty()
            ? ""
            : absl::StrCat(", and the scalars ", ShortListOf(names.scalars, &TermNames::Scalar::name, name_))));
  }
  if (!IsWhole(scalar->dtype)) {
    return InvalidArgumentError(absl::StrCat("the scalar '", name_, "' is a ", std::string(DTypeName(scalar->dtype)),
                                             "; terms take only integers and booleans"));
  }
  kind_ = Kind::kScalar;
  parameter_ = scalar->parameter;
  dtype_ = scalar->dtype;
  return Status();
}

template <typename Predicate>
bool Term::AllParts(const Predicate& holds) const {
  if (!IsOperation()) return holds(*this);
  return (kind_ != Kind::kAssumption || holds(*this)) && parts_->a.AllParts(holds) && parts_->b.AllParts(holds);
}

bool Term::IsOfConfig() const {
  return AllParts([](const Term& term) { return term.kind_ == Kind::kConstant || term.ReadsAxis(); });
}

bool Term::ReadsScalar() const {
  return !AllParts([](const Term& term) { return term.kind_ != Kind::kScalar; });
}

Term Term::For(const Config& config) const {
  if (IsConstant()) return *this;
  if (IsOfConfig()) return Term(Value(config, Problem()));
  if (!IsOperation()) return *this;
  if (kind_ == Kind::kAssumption) {
    Parts folded = *parts_;
    folded.a = folded.a.For(config);
    Term term = *this;
    term.parts_ = std::make_shared<const Parts>(std::move(folded));
    return term;
  }
  Term a = parts_->a.For(config), b = parts_->b.For(config);
  if (kind_ == Kind::kAnd || kind_ == Kind::kOr) {
    const std::int64_t neutral = kind_ == Kind::kAnd ? 1 : 0;
    for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      if (one->IsConstant() && one->constant_ == neutral) return *other;
      if (one->IsConstant() && one->constant_ == 1 - neutral) return *one;
    }
  }
  return Term(kind_, std::move(a), std::move(b));
}

std::int64_t Term::KnownDivisor() const {
  if (kind_ == Kind::kConstant && constant_ != kNoValue) return std::max<std::int64_t>(1, std::abs(constant_));
  if (!IsOperation()) return 1;
  const std::int64_t a = parts_->a.KnownDivisor(), b = parts_->b.KnownDivisor();
  std::int64_t product = 0;
  switch (kind_) {
    case Kind::kProduct:
      return __builtin_mul_overflow(a, b, &product) ? std::max(a, b) : product;
    case Kind::kSum:
    case Kind::kDifference:
    case Kind::kMin:
    case Kind::kMax:
      return std::gcd(a, b);
    default:
      return 1;
  }
}

std::int64_t Term::KnownLeast() const {
  if (kind_ == Kind::kConstant) return constant_;
  if (kind_ == Kind::kDim || kind_ == Kind::kAxisIs || kind_ == Kind::kFunction || kind_ == Kind::kBoolAxis) return 0;
  if (kind_ == Kind::kDevice) return DeviceProperty::All()[static_cast<std::size_t>(constant_)].value(Target());
  if (!IsOperation()) return kNoValue;
  if (IsCondition()) return 0;
  const std::int64_t a = parts_->a.KnownLeast(), b = parts_->b.KnownLeast();
  std::int64_t least = 0;
  switch (kind_) {
    case Kind::kQuotient:
    case Kind::kCeilDiv:
      return a >= 0 && b >= 0 ? 0 : kNoValue;
    case Kind::kRemainder:
      return b >= 0 ? 0 : kNoValue;
    case Kind::kMax:
      return std::max(a, b);
    case Kind::kMin:
      return std::min(a, b);
    case Kind::kProduct:
      return a >= 0 && b >= 0 && !__builtin_mul_overflow(a, b, &least) ? least : kNoValue;
    case Kind::kSum:
      return a != kNoValue && b != kNoValue && !__builtin_add_overflow(a, b, &least) ? least : kNoValue;
    default:
      return kNoValue;
  }
}

bool Term::IsOfArguments() const {
  return AllParts([](const Term& term) {
    return !term.ReadsAxis() && term.kind_ != Kind::kDevice && term.kind_ != Kind::kFunction;
  });
}

std::int64_t Term::FloorDiv(std::int64_t a, std::int64_t b) {
  if (b == 0 || (b == -1 && a == kNoValue)) return kNoValue;
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

std::int64_t Term::ApplyCondition(Kind kind, std::int64_t a, std::int64_t b) {
  if (kind == Kind::kAnd) return a == 0 || b == 0 ? 0 : a == kNoValue || b == kNoValue ? kNoValue : 1;
  if (kind == Kind::kOr) return a == 1 || b == 1 ? 1 : a == kNoValue || b == kNoValue ? kNoValue : 0;
  if (a == kNoValue || b == kNoValue) return kNoValue;
  switch (kind) {
    case Kind::kEqual:
      return a == b ? 1 : 0;
    case Kind::kNotEqual:
      return a != b ? 1 : 0;
    case Kind::kLess:
      return a < b ? 1 : 0;
    case Kind::kAtMost:
      return a <= b ? 1 : 0;
    case Kind::kGreater:
      return a > b ? 1 : 0;
    case Kind::kAtLeast:
      return a >= b ? 1 : 0;
    case Kind::kAssumption:
      return kNoValue;  // Only RequirementCheck checks arguments.
    default:            // kNot.
      return a == 0 ? 1 : 0;
  }
}

std::int64_t Term::Apply(Kind kind, std::int64_t a, std::int64_t b, const char** why) {
  if (kind >= Kind::kEqual) return ApplyCondition(kind, a, b);
  std::int64_t result = kNoValue;
  bool overflows = false;
  if (a == kNoValue || b == kNoValue) {
    *why = "depends on a term that has no value";
    return kNoValue;
  }
  switch (kind) {
    case Kind::kSum:
      overflows = __builtin_add_overflow(a, b, &result);
      break;
    case Kind::kDifference:
      overflows = __builtin_sub_overflow(a, b, &result);
      break;
    case Kind::kProduct:
      overflows = __builtin_mul_overflow(a, b, &result);
      break;
    case Kind::kMin:
      return std::min(a, b);
    case Kind::kMax:
      return std::max(a, b);
    default:
      if (b == 0) {
        *why = "divides by 0";
        return kNoValue;
      }
      result = FloorDiv(a, b);
      if (kind == Kind::kRemainder) return b == -1 ? 0 : a - result * b;
      if (kind == Kind::kCeilDiv && b != -1 && a % b != 0) ++result;
  }
  if (!overflows && result != kNoValue) return result;
  *why = "does not fit 64 bits";
  return kNoValue;
}

std::int64_t Term::ScalarIn(const Problem& problem) const {
  const void* bytes = problem.values[static_cast<std::size_t>(parameter_)];
  return bytes == nullptr ? kNoValue : WholeScalar(dtype_, bytes);
}

std::int64_t Term::Compute(const Config& config, const Problem& problem) const {
  if (kind_ == Kind::kScalar) return ScalarIn(problem);
  if (IsOperation()) {
    const std::int64_t a = parts_->a.Value(config, problem), b = parts_->b.Value(config, problem);
    if (a >= 0 && b > 0) {  // Grids are computed at each launch. kNoValue is negative.
      std::int64_t product = 0;
      const std::int64_t quotient = kind_ == Kind::kCeilDiv || kind_ == Kind::kQuotient ? a / b : 0;
      if (kind_ == Kind::kCeilDiv) return quotient + (quotient * b != a ? 1 : 0);
      if (kind_ == Kind::kQuotient) return quotient;
      if (kind_ == Kind::kProduct && !__builtin_mul_overflow(a, b, &product)) return product;
      if (kind_ == Kind::kMin) return std::min(a, b);
      if (kind_ == Kind::kMax) return std::max(a, b);
    }
    const char* why = nullptr;
    return Apply(kind_, a, b, &why);
  }
  switch (kind_) {
    case Kind::kDevice:
      if (constant_ == 0) return std::max(1, problem.target->num_sms);  // Without a call, for persistent grids.
      return DeviceProperty::All()[static_cast<std::size_t>(constant_)].value(*problem.target);
    case Kind::kBoolAxis:
      return config[Axis<bool>(axis_.index(), axis_.space_id())] ? 1 : 0;
    case Kind::kAxisIs:
      return std::visit(
          [&](const auto& value) -> std::int64_t {
            const auto its = config[Axis<std::decay_t<decltype(value)>>(axis_.index(), axis_.space_id())];
            return AreEqualInConditions(AxisValue(its), AxisValue(value)) ? 1 : 0;
          },
          parts_->value);
    case Kind::kFunction:
      return parts_->function(config, problem) ? 1 : 0;
    default:
      return kNoValue;  // Not resolved.
  }
}

Result<std::int64_t> Term::Evaluate(const Config& config, const Problem& problem) const {
  if (!IsOperation()) {
    std::int64_t value = Value(config, problem);
    if (value != kNoValue) return value;
    return InvalidArgumentError(ToString(config, problem));
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::int64_t a, parts_->a.Evaluate(config, problem));
  TUNEONCE_ASSIGN_OR_RETURN(std::int64_t b, parts_->b.Evaluate(config, problem));
  const char* why = nullptr;
  std::int64_t value = Apply(kind_, a, b, &why);
  if (why == nullptr) return value;
  return InvalidArgumentError(absl::StrCat(ToString(config, problem), " ", why));
}

}  // namespace v0
}  // namespace tuneonce
