#ifndef TUNEONCE_KERNEL_ASSUMPTION_H_
#define TUNEONCE_KERNEL_ASSUMPTION_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tuneonce/base/result.h"
#include "tuneonce/kernel/call_binder.h"

namespace tuneonce {

/// Evaluates the assumptions of one variant. Thread rule: immutable; any thread.
class TUNEONCE_API AssumptionChecks {
 public:
  AssumptionChecks() = default;
  /// Errors: InvalidArgument for an assumption about a tensor or dimension that there is not, or a value below 1.
  static Result<AssumptionChecks> Create(const KernelDefinition& definition, const Variant& variant);

  /// True if all hold. A few compares: part of every launch.
  bool Hold(const BoundCall& call) const {
    for (const Check& check : checks_) {
      if (!Holds(check, call)) return false;
    }
    return true;
  }
  /// True if all hold but those about extents, which the dims decide: what may differ between launches of one key.
  bool HoldApartFromExtents(const BoundCall& call) const {
    for (const Check& check : checks_) {
      if (check.kind != Assumption::Kind::kExtentDivisibleBy && !Holds(check, call)) return false;
    }
    return true;
  }
  /// The same as Hold. Errors: InvalidArgument, naming tensor and dimension, and what the code was compiled for.
  Status Verify(const BoundCall& call) const;

 private:
  struct Check {
    Assumption::Kind kind;
    std::uint8_t parameter;
    std::uint8_t dimension;
    std::uint8_t other;    // kNoOverlap: the other parameter.
    bool is_power_of_two;  // `value`, so that a mask does instead of a division.
    std::int64_t value;
  };

  static bool Divides(const Check& check, std::int64_t value) {
    return check.is_power_of_two ? (value & (check.value - 1)) == 0 : value % check.value == 0;
  }
  static bool Overlap(const TensorView& a, const TensorView& b) {
    auto begin_a = reinterpret_cast<std::uintptr_t>(a.data), begin_b = reinterpret_cast<std::uintptr_t>(b.data);
    // Of unknown size: at least its first byte.
    return begin_a < begin_b + (b.bytes == 0 ? 1 : b.bytes) && begin_b < begin_a + (a.bytes == 0 ? 1 : a.bytes);
  }
  static bool Holds(const Check& check, const BoundCall& call) {
    const TensorView& tensor = *call.tensors[check.parameter];
    switch (check.kind) {
      case Assumption::Kind::kAligned:
        return Divides(check, static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(tensor.data)));
      case Assumption::Kind::kStrideIs:
        // Along one element no step is ever taken.
        return tensor.strides[check.dimension] == check.value || tensor.shape[check.dimension] == 1;
      case Assumption::Kind::kStrideDivisibleBy:
        return Divides(check, tensor.strides[check.dimension]);
      case Assumption::Kind::kExtentDivisibleBy:
        return Divides(check, tensor.shape[check.dimension]);
      case Assumption::Kind::kNoOverlap:
        return !Overlap(tensor, *call.tensors[check.other]);
    }
    return false;
  }
  Status Broken(const Check& check, const BoundCall& call) const;

  const KernelDefinition* definition_ = nullptr;
  const Variant* variant_ = nullptr;
  std::vector<Check> checks_;
};

}  // namespace tuneonce

#endif  // TUNEONCE_KERNEL_ASSUMPTION_H_
