#include "definition/term_program.h"

#include <algorithm>
#include <initializer_list>
#include <limits>

namespace tuneonce {
inline namespace v0 {
namespace {

using Bounds = TermProgram::Bounds;
using Wide = __int128;  // Sums and products of 64-bit integers do not overflow it.

constexpr Bounds kEmpty = {1, 0};

bool IsEmpty(const Bounds& bounds) { return bounds.low > bounds.high; }
bool IsOne(const Bounds& bounds) { return bounds.low == bounds.high; }

/// Values beyond 64 bits are undefined, so bounds need not contain them.
std::int64_t Clamped(Wide value) {
  constexpr Wide kLow = Term::kNoValue + 1, kHigh = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::clamp(value, kLow, kHigh));
}

Bounds Between(std::initializer_list<Wide> corners) { return {Clamped(std::min(corners)), Clamped(std::max(corners))}; }

std::int64_t BoundedProduct(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

Bounds Hull(const Bounds& a, const Bounds& b) {
  if (IsEmpty(a)) return b;
  if (IsEmpty(b)) return a;
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

Wide FloorOf(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }
Wide CeilOf(Wide a, Wide b) { return a / b + (a % b != 0 && (a < 0) == (b < 0) ? 1 : 0); }

/// Bounds of a division or remainder by divisors of one sign.
Bounds Divided(bool is_remainder, bool is_ceil, const Bounds& a, const Bounds& b) {
  if (IsEmpty(b)) return kEmpty;
  if (!is_remainder) {
    auto divide = [&](std::int64_t x, std::int64_t y) { return is_ceil ? CeilOf(x, y) : FloorOf(x, y); };
    return Between({divide(a.low, b.low), divide(a.low, b.high), divide(a.high, b.low), divide(a.high, b.high)});
  }
  if (b.high < 0) return {Clamped(Wide{b.low} + 1), 0};
  if (a.low >= 0 && a.high < b.low) return a;
  return {0, a.low >= 0 ? std::min(a.high, b.high - 1) : b.high - 1};
}

Bounds Truth(bool may_hold, bool may_fail) {
  if (!may_hold && !may_fail) return kEmpty;
  return {may_fail ? 0 : 1, may_hold ? 1 : 0};
}

}  // namespace

TermProgram::TermProgram(const Condition& condition, const AxisTable& axes, const Problem& problem) {
  Compile(condition.expression_, axes, problem);
  stack_.resize(operations_.size());
  bounds_stack_.resize(operations_.size());
}

TermProgram::Comparison* TermProgram::ComparisonOf(Kind kind) {
  switch (kind) {
    case Kind::kEqual:
      return [](std::int64_t a, std::int64_t b) { return a == b; };
    case Kind::kNotEqual:
      return [](std::int64_t a, std::int64_t b) { return a != b; };
    case Kind::kLess:
      return [](std::int64_t a, std::int64_t b) { return a < b; };
    case Kind::kAtMost:
      return [](std::int64_t a, std::int64_t b) { return a <= b; };
    case Kind::kGreater:
      return [](std::int64_t a, std::int64_t b) { return a > b; };
    case Kind::kAtLeast:
      return [](std::int64_t a, std::int64_t b) { return a >= b; };
    default:
      return nullptr;
  }
}

Condition::Function TermProgram::FunctionOf(const Condition& condition) {
  const Term& expression = condition.expression_;
  if (expression.kind_ == Kind::kFunction) return expression.parts_->function;
  if (auto* compare = ComparisonOf(expression.kind_)) {
    return [a = expression.parts_->a, b = expression.parts_->b, compare](const Config& config, const Problem& problem) {
      const std::int64_t left = a.Value(config, problem), right = b.Value(config, problem);
      return left != Term::kNoValue && right != Term::kNoValue && compare(left, right);
    };
  }
  return [condition](const Config& config, const Problem& problem) { return condition.Holds(config, problem); };
}

void TermProgram::Compile(const Term& term, const AxisTable& axes, const Problem& problem) {
  Operation operation{term.kind_};
  if (term.IsOperation()) {
    Compile(term.parts_->a, axes, problem);
    Compile(term.parts_->b, axes, problem);
  } else if (!term.ReadsAxis()) {
    operation.kind = Kind::kConstant;
    operation.constant = term.Value(Config(), problem);
  } else {
    operation.axis = static_cast<std::size_t>(term.axis_.index());
    if (term.kind_ == Kind::kAxisIs) {
      const std::vector<AxisValue>& values = axes.axes[operation.axis].values;
      const AxisValue& wanted = term.parts_->value;
      auto is_it = [&](const AxisValue& each) { return AreEqualInConditions(each, wanted); };
      auto value = std::find_if(values.begin(), values.end(), is_it);
      operation.constant = value == values.end() ? -1 : value - values.begin();
      if (value != values.end()) value = std::find_if(std::next(value), values.end(), is_it);
      if (value != values.end()) {  // The axis has 0.0 and -0.0, which are equal.
        operations_.push_back(operation);
        operation.constant = value - values.begin();
        operations_.push_back(operation);
        operation = Operation{Kind::kOr};
      }
    }
  }
  operations_.push_back(operation);
}

bool TermProgram::Holds(const Point& point) {
  std::int64_t* top = stack_.data();  // Where the next value goes.
  for (const Operation& operation : operations_) {
    switch (operation.kind) {
      case Kind::kConstant:
        *top++ = operation.constant;
        break;
      case Kind::kAxis:
      case Kind::kBoolAxis:
        *top++ = point.values[operation.axis];
        break;
      case Kind::kAxisIs:
        *top++ = point.indices[operation.axis] == operation.constant ? 1 : 0;
        break;
      default: {
        const char* why = nullptr;
        --top;
        top[-1] = Term::Apply(operation.kind, top[-1], *top, &why);
      }
    }
  }
  return stack_.front() == 1;
}

bool TermProgram::MayHold(const Point& point) {
  Bounds* top = bounds_stack_.data();
  for (const Operation& operation : operations_) {
    switch (operation.kind) {
      case Kind::kConstant:
        *top++ = operation.constant == Term::kNoValue ? kEmpty : Bounds{operation.constant, operation.constant};
        break;
      case Kind::kAxis:
      case Kind::kBoolAxis:
        *top++ = point.bounds[operation.axis];
        break;
      case Kind::kAxisIs: {
        const Bounds& index = point.index_bounds[operation.axis];
        const bool may_be = index.low <= operation.constant && operation.constant <= index.high;
        *top++ = Truth(may_be, !may_be || !IsOne(index));
        break;
      }
      default:
        --top;
        top[-1] = BoundsOf(operation.kind, top[-1], *top);
    }
  }
  return bounds_stack_.front().high >= 1 && !IsEmpty(bounds_stack_.front());
}

TermProgram::Bounds TermProgram::BoundsOf(Kind kind, const Bounds& a, const Bounds& b) {
  auto may_be = [](const Bounds& x, std::int64_t value) { return x.low <= value && value <= x.high; };
  // One defined operand can decide these two.
  if (kind == Kind::kAnd) return Truth(may_be(a, 1) && may_be(b, 1), may_be(a, 0) || may_be(b, 0));
  if (kind == Kind::kOr) return Truth(may_be(a, 1) || may_be(b, 1), may_be(a, 0) && may_be(b, 0));
  if (IsEmpty(a) || IsEmpty(b)) return kEmpty;
  const bool are_same = IsOne(a) && IsOne(b) && a.low == b.low;
  const bool overlap = a.low <= b.high && b.low <= a.high;
  switch (kind) {
    case Kind::kSum:
      return Between({Wide{a.low} + b.low, Wide{a.high} + b.high});
    case Kind::kDifference:
      return Between({Wide{a.low} - b.high, Wide{a.high} - b.low});
    case Kind::kProduct:
      if (a.low >= 0 && b.low >= 0) return {BoundedProduct(a.low, b.low), BoundedProduct(a.high, b.high)};
      return Between({Wide{a.low} * b.low, Wide{a.low} * b.high, Wide{a.high} * b.low, Wide{a.high} * b.high});
    case Kind::kMin:
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case Kind::kMax:
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case Kind::kEqual:
      return Truth(overlap, !are_same);
    case Kind::kNotEqual:
      return Truth(!are_same, overlap);
    case Kind::kLess:
      return Truth(a.low < b.high, a.high >= b.low);
    case Kind::kAtMost:
      return Truth(a.low <= b.high, a.high > b.low);
    case Kind::kGreater:
      return Truth(a.high > b.low, a.low <= b.high);
    case Kind::kAtLeast:
      return Truth(a.high >= b.low, a.low < b.high);
    case Kind::kNot:
      return Truth(may_be(a, 0), may_be(a, 1));
    default:
      break;
  }
  if (IsOne(a) && IsOne(b)) {
    const char* why = nullptr;
    const std::int64_t value = Term::Apply(kind, a.low, b.low, &why);
    return value == Term::kNoValue ? kEmpty : Bounds{value, value};
  }
  const bool is_remainder = kind == Kind::kRemainder, is_ceil = kind == Kind::kCeilDiv;
  const Bounds negative = {b.low, std::min<std::int64_t>(b.high, -1)};
  const Bounds positive = {std::max<std::int64_t>(b.low, 1), b.high};
  return Hull(Divided(is_remainder, is_ceil, a, negative), Divided(is_remainder, is_ceil, a, positive));
}

}  // namespace v0
}  // namespace tuneonce
