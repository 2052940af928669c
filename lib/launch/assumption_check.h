#ifndef TUNEONCE_LIB_LAUNCH_ASSUMPTION_CHECK_H_
#define TUNEONCE_LIB_LAUNCH_ASSUMPTION_CHECK_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/call_binder.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Returns whether the assumption is about a scalar's value, not about a tensor.
inline bool IsOfScalar(Assumption::Kind kind) {
  return kind == Assumption::Kind::kScalarIs || kind == Assumption::Kind::kScalarDivisibleBy ||
         kind == Assumption::Kind::kScalarAtLeast;
}

/// Returns whether two tensors share memory, by the first and the last byte of each.
inline bool Overlap(const TensorView& a, const TensorView& b) {
  auto begin_a = reinterpret_cast<std::uintptr_t>(a.data), begin_b = reinterpret_cast<std::uintptr_t>(b.data);
  // A tensor of unknown size (0 bytes) has at least its first byte. The comparison has no branches, because the order
  // of two tensors is unpredictable.
  std::uintptr_t end_a = begin_a + a.bytes + static_cast<std::size_t>(a.bytes == 0);
  std::uintptr_t end_b = begin_b + b.bytes + static_cast<std::size_t>(b.bytes == 0);
  return (static_cast<int>(begin_a < end_b) & static_cast<int>(begin_b < end_a)) != 0;
}

class RequirementCheck;

/// A check that is one compare of 8 bytes of a TensorView: `value & mask == expected`.
struct MaskedCheck {
  std::uint8_t parameter;
  std::uint8_t offset;  // In the TensorView.
  std::uint64_t mask;
  std::uint64_t expected;

  /// 0 if it holds.
  std::uint64_t WrongBits(const BoundCall& call) const {
    std::uint64_t value;
    std::memcpy(&value, static_cast<const char*>(call.problem.values[parameter]) + offset, sizeof(value));
    return (value & mask) ^ expected;
  }
};
/// The check of one assumption.
struct AssumptionCheck {
  Assumption::Kind kind;
  std::uint8_t parameter;
  std::uint8_t dimension;
  std::uint8_t rank;           // The rank of the parameter.
  std::uint8_t other;          // kNoOverlap: the other parameter.
  std::uint8_t strides_taken;  // kContiguous: bit d: the stride of dimension d may be any.
  // For kScalarIs the scalar's bytes, followed by zeros. For kDTypeIn, bit d stands for the DType d.
  std::int64_t value;
  DType dtype;    // The dtype of a scalar.
  bool is_table;  // The parameter is by pointers, and the assumption is about each tensor.
  std::shared_ptr<const RequirementCheck> requirement;  // kCondition.

  /// Makes the check of an assumption. Errors: InvalidArgument for an assumption about an unknown tensor or dimension,
  /// or a value below 1.
  static Result<AssumptionCheck> Of(const KernelDefinition& definition, const Assumption& assumption);

  bool Holds(const BoundCall& call) const;
  /// kScalarAtLeast.
  [[gnu::cold]] bool IsAtLeast(const void* scalar) const;
  /// REQUIRES: is_table.
  const PointerTable& TableIn(const BoundCall& call) const {
    return *static_cast<const PointerTable*>(call.problem.values[parameter]);
  }
  /// Returns the address of the tensor, or for a table the bitwise OR of the addresses of its tensors.
  std::uint64_t AddressBits(const BoundCall& call) const {
    return is_table ? TableIn(call).addresses : reinterpret_cast<std::uintptr_t>(call.tensor(parameter).data);
  }
  /// For kContiguous, the innermost dimension that is not dense, and the stride that it should have. Empty if all are
  /// dense.
  struct Gap {
    int dimension;
    std::int64_t needed;
  };
  std::optional<Gap> FindGap(const TensorView& tensor) const;
  /// Returns a simpler check that holds only if this one does, or nothing.
  std::optional<MaskedCheck> Quick() const;
  /// True if the check fails wherever its quick form does.
  bool IsQuickExact() const;
};
/// One dimension of a tensor that must be contiguous, and the next inner one, by the offsets of their strides in the
/// TensorView.
struct DenseRows {
  std::uint8_t parameter;
  std::uint8_t offset;

  /// Returns 0 if the dimension is dense.
  std::uint64_t Gap(const BoundCall& call) const { return stride(call) ^ (inner_stride(call) * inner_extent(call)); }
  /// Returns 0 if both dimensions are dense.
  std::uint64_t GapAndInnerGap(const BoundCall& call) const {
    return (inner_stride(call) ^ 1) | (stride(call) ^ inner_extent(call));
  }

 private:
  std::uint64_t stride(const BoundCall& call) const { return WordAt(call, offset); }
  std::uint64_t inner_stride(const BoundCall& call) const { return WordAt(call, offset + sizeof(std::int64_t)); }
  std::uint64_t inner_extent(const BoundCall& call) const {
    return WordAt(call, offset + sizeof(std::int64_t) - offsetof(TensorView, strides) + offsetof(TensorView, shape));
  }
  std::uint64_t WordAt(const BoundCall& call, std::size_t at) const {
    std::uint64_t word;
    std::memcpy(&word, static_cast<const char*>(call.problem.values[parameter]) + at, sizeof(word));
    return word;
  }
};
/// Checks, in the forms in which a launch makes them. Thread rule: once filled, immutable; any thread.
struct CheckList {
  // The quick form of `all`: one masked check for each extent, stride or address. A failed quick check is not final,
  // because the stride of a dimension with one element may be any. The first checks are stored here and not behind a
  // pointer, because a hit waits for each load between the key and the assumptions.
  std::array<MaskedCheck, 4> first{};
  std::uint8_t num_first = 0;
  bool has_slow = false;                                     // Some have no quick form.
  bool has_more = false;                                     // Any of the following.
  std::vector<MaskedCheck> masked;                           // The checks that do not fit into `first`.
  std::vector<std::pair<std::uint8_t, std::uint8_t>> apart;  // Parameters that must not overlap.
  std::vector<DenseRows> innermost;  // The two innermost dimensions lie dense: the most common ones, hence apart from
  std::vector<DenseRows> rows;       // those that lie dense around the dimension inside them.

  std::vector<AssumptionCheck> all;
  std::vector<MaskedCheck> exact;  // The masked checks whose failure is final.

  void Add(const AssumptionCheck& check);
  void AddMasked(const MaskedCheck& check);
  void AddContiguous(const AssumptionCheck& check);
  [[gnu::always_inline]] bool Hold(const BoundCall& call) const {
    std::uint64_t wrong = static_cast<std::uint64_t>(has_slow);
    for (std::size_t i = 0; i < num_first; ++i) wrong |= first[i].WrongBits(call);
    if (has_more) {
      for (const MaskedCheck& check : masked) wrong |= check.WrongBits(call);
      for (const auto& [a, b] : apart) wrong |= static_cast<std::uint64_t>(Overlap(call.tensor(a), call.tensor(b)));
      for (const DenseRows& of : innermost) wrong |= of.GapAndInnerGap(call);
      for (const DenseRows& of : rows) wrong |= of.Gap(call);
    }
    return wrong == 0 || HoldOneByOne(call);
  }
  bool HoldOneByOne(const BoundCall& call) const;
  bool SurelyFail(const BoundCall& call) const {
    return std::any_of(exact.begin(), exact.end(),
                       [&](const MaskedCheck& check) { return check.WrongBits(call) != 0; });
  }
};

/// Returns the name of the dim or scalar that a check is about. REQUIRES: it is about an extent or a scalar.
const std::string& NameOf(const KernelDefinition& definition, const AssumptionCheck& check);

/// Returns the error of a call that `check` does not hold for. Errors: InvalidArgument, naming tensor and dimension,
/// and what the code was compiled for.
Status BrokenAssumption(const KernelDefinition& definition, const Variant& variant, const AssumptionCheck& check,
                        const BoundCall& call);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_LAUNCH_ASSUMPTION_CHECK_H_
