#include "launch/assumption_check.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "definition/scalar_value.h"
#include "launch/parameter_block.h"
#include "launch/requirement_check.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// The bits that no int32 from 0 on has.
constexpr std::uint64_t kNoInt32 = ~std::uint64_t{0} << 31;
constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

/// Returns whether the check holds. Inline, since a call that a config does not suit asks the checks one by one.
[[gnu::always_inline]] inline bool HoldsFor(const AssumptionCheck& check, const BoundCall& call) {
  if (check.kind == Assumption::Kind::kScalarIs || check.kind == Assumption::Kind::kScalarDivisibleBy) {
    const void* bytes = call.problem.values[check.parameter];
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, DTypeBytes(check.dtype));
    if (check.kind == Assumption::Kind::kScalarIs) return word == static_cast<std::uint64_t>(check.value);
    if (check.dtype == DType::kUInt64) return word % static_cast<std::uint64_t>(check.value) == 0;
    return WholeScalar(check.dtype, bytes) % check.value == 0;
  }
  const TensorView& tensor = call.tensor(check.parameter);
  switch (check.kind) {
    case Assumption::Kind::kAligned:
      return check.AddressBits(call) % static_cast<std::uint64_t>(check.value) == 0;
    case Assumption::Kind::kStrideIs:
      // Along one element no step is ever taken.
      return tensor.strides[check.dimension] == check.value || tensor.shape[check.dimension] == 1;
    case Assumption::Kind::kStrideDivisibleBy:
      return tensor.strides[check.dimension] % check.value == 0;
    case Assumption::Kind::kExtentIs:
      return tensor.shape[check.dimension] == check.value;
    case Assumption::Kind::kExtentDivisibleBy:
      return tensor.shape[check.dimension] % check.value == 0;
    case Assumption::Kind::kExtentAtLeast:
      return tensor.shape[check.dimension] >= check.value;
    case Assumption::Kind::kStrideFitsInt32:
      // Along one element, where no step is taken, a stride may be any.
      return tensor.shape[check.dimension] == 1 ||
             (tensor.strides[check.dimension] >= 0 && ParameterLayout::Narrowed::Fits(tensor.strides[check.dimension]));
    case Assumption::Kind::kStrideNotNegative:
      return tensor.strides[check.dimension] >= 0 || tensor.shape[check.dimension] == 1;
    case Assumption::Kind::kExtentFitsInt32:
      return ParameterLayout::Narrowed::Fits(tensor.shape[check.dimension]);
    case Assumption::Kind::kContiguous:
      return check.is_table ? check.TableIn(call).num_gaps == 0 : !check.FindGap(tensor);
    case Assumption::Kind::kNoOverlap:
      return !Overlap(tensor, call.tensor(check.other));
    case Assumption::Kind::kDTypeIn:
      return (check.value >> static_cast<int>(tensor.dtype) & 1) != 0;
    case Assumption::Kind::kScalarAtLeast:
      return check.IsAtLeast(call.problem.values[check.parameter]);
    case Assumption::Kind::kCondition:
      return check.requirement->Holds(call);
    case Assumption::Kind::kScalarIs:
    case Assumption::Kind::kScalarDivisibleBy:
      break;
  }
  return false;
}

}  // namespace

void CheckList::Add(const AssumptionCheck& check) {
  all.push_back(check);
  if (check.kind == Assumption::Kind::kNoOverlap) {
    apart.emplace_back(check.parameter, check.other);
    has_more = true;
  } else if (check.kind == Assumption::Kind::kContiguous && !check.is_table) {
    AddContiguous(check);
  } else if (std::optional<MaskedCheck> quick = check.Quick()) {
    AddMasked(*quick);
    if (check.IsQuickExact()) exact.push_back(*quick);
  } else {
    has_slow = true;
  }
}

void CheckList::AddContiguous(const AssumptionCheck& check) {
  auto is_taken = [&](int d) { return (check.strides_taken >> d & 1) != 0; };
  auto offset = [](int d) {
    return static_cast<std::uint8_t>(offsetof(TensorView, strides) +
                                     static_cast<std::size_t>(d) * sizeof(std::int64_t));
  };
  int last = check.rank - 1;
  int d = last;  // The outermost one that `innermost` or `masked` covers.
  if (!is_taken(last)) {
    if (last > 0 && !is_taken(last - 1)) {
      innermost.push_back(DenseRows{check.parameter, offset(--d)});
    } else {
      AddMasked(MaskedCheck{check.parameter, offset(last), ~std::uint64_t{0}, 1});
    }
  }
  while (--d >= 0) {
    if (!is_taken(d)) rows.push_back(DenseRows{check.parameter, offset(d)});
  }
  has_more |= !innermost.empty() || !rows.empty();
}

std::optional<MaskedCheck> AssumptionCheck::Quick() const {
  auto masked = [this](std::size_t offset, std::uint64_t mask, std::uint64_t expected) {
    return MaskedCheck{parameter, static_cast<std::uint8_t>(offset), mask, expected};
  };
  // Multiples of a power of two are recognized by their low bits. Other divisors need a division.
  auto multiple = [&](std::size_t offset) -> std::optional<MaskedCheck> {
    if ((value & (value - 1)) != 0) return std::nullopt;
    return masked(offset, static_cast<std::uint64_t>(value - 1), 0);
  };
  const std::size_t extent = offsetof(TensorView, shape) + dimension * sizeof(std::int64_t);
  const std::size_t stride = offsetof(TensorView, strides) + dimension * sizeof(std::int64_t);
  switch (kind) {
    case Assumption::Kind::kAligned:
      return multiple(is_table ? offsetof(PointerTable, addresses) : offsetof(TensorView, data));
    case Assumption::Kind::kStrideIs:
      return masked(stride, ~std::uint64_t{0}, static_cast<std::uint64_t>(value));
    case Assumption::Kind::kStrideDivisibleBy:
      return multiple(stride);
    case Assumption::Kind::kExtentIs:
      return masked(extent, ~std::uint64_t{0}, static_cast<std::uint64_t>(value));
    case Assumption::Kind::kExtentDivisibleBy:
      return multiple(extent);
    case Assumption::Kind::kStrideFitsInt32:
      return masked(stride, kNoInt32, 0);
    case Assumption::Kind::kStrideNotNegative:
      return masked(stride, kSign, 0);
    case Assumption::Kind::kExtentFitsInt32:
      return masked(extent, kNoInt32, 0);
    case Assumption::Kind::kContiguous:
      // For a tensor the check compares two values at a time (AddContiguous).
      return is_table ? std::optional<MaskedCheck>(masked(offsetof(PointerTable, num_gaps), ~std::uint64_t{0}, 0))
                      : std::nullopt;
    case Assumption::Kind::kNoOverlap:
    case Assumption::Kind::kScalarIs:  // A scalar may have less bytes than a masked compare reads.
    case Assumption::Kind::kScalarDivisibleBy:
    case Assumption::Kind::kScalarAtLeast:
    case Assumption::Kind::kExtentAtLeast:  // No compare of some bits shows it.
    case Assumption::Kind::kCondition:
    case Assumption::Kind::kDTypeIn:  // Not part of a launch.
      break;
  }
  return std::nullopt;
}

bool AssumptionCheck::IsQuickExact() const {
  // For others, the stride of a dimension with one element may be any.
  return kind == Assumption::Kind::kAligned || kind == Assumption::Kind::kStrideDivisibleBy ||
         kind == Assumption::Kind::kExtentIs || kind == Assumption::Kind::kExtentDivisibleBy ||
         kind == Assumption::Kind::kExtentFitsInt32;
}

void CheckList::AddMasked(const MaskedCheck& check) {
  auto joins = [&](MaskedCheck& known) {
    if (known.parameter != check.parameter || known.offset != check.offset) return false;
    // They contradict each other.
    if (((known.expected ^ check.expected) & known.mask & check.mask) != 0) return false;
    known.mask |= check.mask;
    known.expected |= check.expected;
    return true;
  };
  if (std::any_of(first.begin(), first.begin() + num_first, joins)) return;
  if (std::any_of(masked.begin(), masked.end(), joins)) return;
  if (num_first < first.size()) {
    first[num_first++] = check;
  } else {
    masked.push_back(check);
    has_more = true;
  }
}

bool CheckList::HoldOneByOne(const BoundCall& call) const {
  for (const AssumptionCheck& check : all) {
    if (!HoldsFor(check, call)) return false;
  }
  return true;
}

bool AssumptionCheck::Holds(const BoundCall& call) const { return HoldsFor(*this, call); }

bool AssumptionCheck::IsAtLeast(const void* scalar) const {
  if (dtype != DType::kUInt64) return WholeScalar(dtype, scalar) >= value;
  std::uint64_t number;
  std::memcpy(&number, scalar, sizeof(number));
  return value <= 0 || number >= static_cast<std::uint64_t>(value);
}

std::optional<AssumptionCheck::Gap> AssumptionCheck::FindGap(const TensorView& tensor) const {
  std::uint64_t dense = 1;
  for (int d = rank; d-- > 0;) {
    auto stride = static_cast<std::uint64_t>(tensor.strides[static_cast<std::size_t>(d)]);
    auto extent = static_cast<std::uint64_t>(tensor.shape[static_cast<std::size_t>(d)]);
    if ((strides_taken >> d & 1) != 0) {
      dense = stride;
    } else if (stride != dense && extent != 1) {  // Along one element no step is ever taken.
      return Gap{d, static_cast<std::int64_t>(dense)};
    }
    dense *= extent;
  }
  return std::nullopt;
}

}  // namespace v0
}  // namespace tuneonce
