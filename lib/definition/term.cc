#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/short_list.h"
#include "definition/scalar_value.h"
#include "tuneonce/grid.h"

namespace tuneonce {
inline namespace v0 {
struct Term::Operands {
  Term a;
  Term b;
};

Term::Term(Kind kind, Term a, Term b)
    : kind_(kind), operands_(std::make_shared<const Operands>(Operands{std::move(a), std::move(b)})) {}

Term operator+(Term a, Term b) { return Term(Term::Kind::kSum, std::move(a), std::move(b)); }
Term operator*(Term a, Term b) { return Term(Term::Kind::kProduct, std::move(a), std::move(b)); }
Term operator/(Term a, Term b) { return Term(Term::Kind::kQuotient, std::move(a), std::move(b)); }
Term CeilDiv(Term a, Term b) { return Term(Term::Kind::kCeilDiv, std::move(a), std::move(b)); }
Term Min(Term a, Term b) { return Term(Term::Kind::kMin, std::move(a), std::move(b)); }
Term Max(Term a, Term b) { return Term(Term::Kind::kMax, std::move(a), std::move(b)); }
Term NumSms() {
  Term term(0);
  term.kind_ = Term::Kind::kNumSms;
  return term;
}

Status Term::Resolve(const TermNames& names, std::int64_t least) {
  if (IsOperation()) {
    Operands resolved = *operands_;  // The operands are shared with copies, which may be another definition's.
    TUNEONCE_RETURN_IF_ERROR(resolved.a.Resolve(names, std::numeric_limits<std::int64_t>::min()));
    TUNEONCE_RETURN_IF_ERROR(resolved.b.Resolve(names, std::numeric_limits<std::int64_t>::min()));
    operands_ = std::make_shared<const Operands>(std::move(resolved));
    return Status();
  }
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
  return name_.empty() || kind_ == Kind::kAxis ? Status() : ResolveName(names);
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
  if (IsOperation()) return operands_->a.AllParts(holds) && operands_->b.AllParts(holds);
  return holds(*this);
}

bool Term::IsOfConfig() const {
  return AllParts([](const Term& term) { return term.kind_ == Kind::kConstant || term.kind_ == Kind::kAxis; });
}

bool Term::ReadsScalar() const {
  return !AllParts([](const Term& term) { return term.kind_ != Kind::kScalar; });
}

Term Term::For(const Config& config) const {
  if (IsConstant()) return *this;
  if (IsOfConfig()) return Term(Value(config, Problem()));
  if (!IsOperation()) return *this;
  return Term(kind_, operands_->a.For(config), operands_->b.For(config));
}

std::int64_t Term::KnownDivisor() const {
  if (kind_ == Kind::kConstant && constant_ != kNoValue) return std::max<std::int64_t>(1, std::abs(constant_));
  if (!IsOperation()) return 1;
  const std::int64_t a = operands_->a.KnownDivisor(), b = operands_->b.KnownDivisor();
  std::int64_t product = 0;
  switch (kind_) {
    case Kind::kProduct:
      return __builtin_mul_overflow(a, b, &product) ? std::max(a, b) : product;
    case Kind::kSum:
    case Kind::kMin:
    case Kind::kMax:
      return std::gcd(a, b);
    default:
      return 1;
  }
}

std::int64_t Term::KnownLeast() const {
  if (kind_ == Kind::kConstant) return constant_;
  if (kind_ == Kind::kDim) return 0;
  if (kind_ == Kind::kNumSms) return 1;
  if (!IsOperation()) return kNoValue;
  const std::int64_t a = operands_->a.KnownLeast(), b = operands_->b.KnownLeast();
  std::int64_t least = 0;
  switch (kind_) {
    case Kind::kQuotient:
    case Kind::kCeilDiv:
      return 0;  // The quotient of a negative number has no value.
    case Kind::kMax:
      return std::max(a, b);
    case Kind::kMin:
      return std::min(a, b);
    case Kind::kProduct:
      return a >= 0 && b >= 0 && !__builtin_mul_overflow(a, b, &least) ? least : kNoValue;
    default:
      return a != kNoValue && b != kNoValue && !__builtin_add_overflow(a, b, &least) ? least : kNoValue;
  }
}

bool Term::IsOfArguments() const {
  return AllParts([](const Term& term) { return term.kind_ != Kind::kAxis && term.kind_ != Kind::kNumSms; });
}

std::int64_t Term::Apply(Kind kind, std::int64_t a, std::int64_t b, const char** why) {
  std::int64_t result = kNoValue;
  bool is_division = kind == Kind::kQuotient || kind == Kind::kCeilDiv;
  if (a == kNoValue || b == kNoValue) {
    *why = "depends on a term that has no value";
  } else if (is_division && b < 1) {
    *why = "divides by less than 1";
  } else if (is_division && a < 0) {
    *why = "divides a negative number";
  } else if (kind == Kind::kQuotient) {
    result = a / b;
  } else if (kind == Kind::kCeilDiv) {
    result = a / b + (a % b != 0 ? 1 : 0);
  } else if (kind == Kind::kMin) {
    result = std::min(a, b);
  } else if (kind == Kind::kMax) {
    result = std::max(a, b);
  } else if (kind == Kind::kSum ? __builtin_add_overflow(a, b, &result) : __builtin_mul_overflow(a, b, &result)) {
    result = kNoValue;
  }
  if (result == kNoValue && *why == nullptr) *why = "does not fit 64 bits";
  return result;
}

std::int64_t Term::ScalarIn(const Problem& problem) const {
  const void* bytes = problem.values[static_cast<std::size_t>(parameter_)];
  return bytes == nullptr ? kNoValue : WholeScalar(dtype_, bytes);
}

std::int64_t Term::Compute(const Config& config, const Problem& problem) const {
  if (kind_ == Kind::kScalar) return ScalarIn(problem);
  if (kind_ == Kind::kNumSms) return std::max(1, problem.target.num_sms);
  if (!IsOperation()) return kNoValue;  // Not resolved.
  const char* why = nullptr;
  return Apply(kind_, operands_->a.Value(config, problem), operands_->b.Value(config, problem), &why);
}

Result<std::int64_t> Term::Evaluate(const Config& config, const Problem& problem) const {
  if (!IsOperation()) {
    std::int64_t value = Value(config, problem);
    if (value != kNoValue) return value;
    return InvalidArgumentError(ToString(config, problem));
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::int64_t a, operands_->a.Evaluate(config, problem));
  TUNEONCE_ASSIGN_OR_RETURN(std::int64_t b, operands_->b.Evaluate(config, problem));
  const char* why = nullptr;
  std::int64_t value = Apply(kind_, a, b, &why);
  if (why == nullptr) return value;
  return InvalidArgumentError(absl::StrCat(ToString(config, problem), " ", why));
}

template <typename Leaf>
std::string Term::Text(const Leaf& leaf) const {
  if (!IsOperation()) return leaf(*this);
  auto part = [&](const Term& term) {
    std::string text = term.Text(leaf);
    bool needs_brackets = kind_ == Kind::kProduct && term.kind_ == Kind::kSum;
    return needs_brackets ? absl::StrCat("(", text, ")") : text;
  };
  std::string a = part(operands_->a), b = part(operands_->b);
  switch (kind_) {
    case Kind::kSum:
      return absl::StrCat(a, " + ", b);
    case Kind::kProduct:
      return absl::StrCat(a, " * ", b);
    case Kind::kQuotient:
      return absl::StrCat("floor_div(", a, ", ", b, ")");
    case Kind::kCeilDiv:
      return absl::StrCat("ceil_div(", a, ", ", b, ")");
    default:
      return absl::StrCat(kind_ == Kind::kMin ? "min(" : "max(", a, ", ", b, ")");
  }
}

std::string Term::ToString() const {
  return Text([](const Term& term) {
    if (term.kind_ == Kind::kConstant) return absl::StrCat(term.constant_);
    if (term.kind_ == Kind::kNumSms) return std::string("num_sms");
    return term.name_.empty() ? std::string("axis") : term.name_;
  });
}

std::string Term::ToString(const Config& config, const Problem& problem) const {
  return Text([&](const Term& term) {
    std::int64_t value = term.Value(config, problem);
    if (term.kind_ == Kind::kConstant) return absl::StrCat(value);
    std::string name = term.name_;
    if (term.kind_ == Kind::kNumSms) name = "num_sms";
    auto axis = static_cast<std::size_t>(term.axis_.index());
    if (term.kind_ == Kind::kAxis) name = axis < config.values().size() ? config.AxisName(axis) : "axis";
    if (value == kNoValue) return absl::StrCat(name, ", which has no value that fits 64 bits");
    return absl::StrCat(name, "=", value);
  });
}

}  // namespace v0
}  // namespace tuneonce
