#ifndef TUNEONCE_LIB_LAUNCH_ASSUMPTION_H_
#define TUNEONCE_LIB_LAUNCH_ASSUMPTION_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/call_binder.h"
#include "launch/parameter_block.h"
#include "tuneonce/code_assumption.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Returns whether the assumption is about a scalar's value, not about a tensor.
inline bool IsOfScalar(Assumption::Kind kind) {
  return kind == Assumption::Kind::kScalarIs || kind == Assumption::Kind::kScalarDivisibleBy ||
         kind == Assumption::Kind::kScalarAtLeast;
}

/// Evaluates the assumptions of one variant. Thread rule: immutable; any thread.
class TUNEONCE_API AssumptionChecks {
 public:
  AssumptionChecks() = default;
  /// Makes the checks of the variant's declared assumptions, and of those that are implied by how its kernel takes
  /// tensors, extents and strides. Errors: InvalidArgument for an assumption about an unknown tensor or dimension, or a
  /// value below 1; those of ParameterLayout::Create.
  static Result<AssumptionChecks> Create(const KernelDefinition& definition, const Variant& variant);
  /// Makes the checks of a variant whose layout is known.
  static Result<AssumptionChecks> Create(const KernelDefinition& definition, const Variant& variant,
                                         const ParameterLayout& layout);

  /// True if all hold but those about dtypes, which calls of one key have in common (HoldForKey). A few compares: part
  /// of every launch.
  bool Hold(const BoundCall& call) const { return HoldApartFromExtents(call) && extents_.Hold(call); }
  /// True if all hold but those about extents, and scalars that the key names: what may differ between launches of one
  /// key.
  [[gnu::always_inline]] bool HoldApartFromExtents(const BoundCall& call) const { return others_.Hold(call); }
  /// True if all hold, at less than Hold where an address, an extent or a stride's divisor shows that not all do.
  bool HoldOrFailFast(const BoundCall& call) const {
    return dtypes_.Hold(call) && !others_.SurelyFail(call) && !extents_.SurelyFail(call) && Hold(call);
  }
  /// Returns false if they hold for no call with this call's key, because of a dtype, an extent of an exact dim, or a
  /// bucket without a multiple of the assumed divisor.
  bool MayHoldForKey(const BoundCall& call) const;
  /// OK if the tensors have the constant extents that their parameters declare, {"N", 4}. Each variant assumes them.
  /// Errors: InvalidArgument that names the parameter, the dimension and both numbers.
  static Status CheckConstantExtents(const KernelDefinition& definition, const BoundCall& call);
  /// OK if all hold. Errors: InvalidArgument, naming tensor and dimension, and what the code was compiled for.
  Status Verify(const BoundCall& call) const;
  /// OK if what the code of `config` assumes of a kernel's parameter follows from these assumptions, or from the term
  /// of a derived parameter. Errors: InvalidArgument that names what the variant has to declare. REQUIRES: `layout` is
  /// the variant's and has such a parameter.
  Status Cover(const ParameterLayout& layout, const Config& config, const CodeAssumption& of_code) const;
  /// Adds what the code of `config` assumes and does not follow from these assumptions, so that a launch that does not
  /// fulfil it is refused. `*has_more` is set to whether there is any. Errors: InvalidArgument for what the definition
  /// contradicts, so that no launch fulfils it, and for what no launch can be checked for. REQUIRES: as Cover.
  Status AddOfCode(const ParameterLayout& layout, const Config& config, const std::vector<CodeAssumption>& of_code,
                   bool* has_more);
  /// Verifies a call of a kernel whose code exists in several forms, each with its own checks. Returns OK if the call
  /// fulfils the checks of one form. Errors: InvalidArgument, which names what the nearest form was compiled for. If no
  /// form has the call's dtypes, the error names the tensor and all dtypes that exist. If no form has the call's
  /// constants, the error names the dim or scalar and all values that exist.
  static Status VerifyAny(const std::vector<const AssumptionChecks*>& of_any_dtype, const BoundCall& call);

 private:
  static bool Overlap(const TensorView& a, const TensorView& b) {
    auto begin_a = reinterpret_cast<std::uintptr_t>(a.data), begin_b = reinterpret_cast<std::uintptr_t>(b.data);
    // A tensor of unknown size (0 bytes) has at least its first byte. The comparison has no branches, because the order
    // of two tensors is unpredictable.
    std::uintptr_t end_a = begin_a + a.bytes + static_cast<std::size_t>(a.bytes == 0);
    std::uintptr_t end_b = begin_b + b.bytes + static_cast<std::size_t>(b.bytes == 0);
    return (static_cast<int>(begin_a < end_b) & static_cast<int>(begin_b < end_a)) != 0;
  }

  /// A check that is one compare of 8 bytes of a TensorView: `value & mask == expected`.
  struct Masked {
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
  struct Check {
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
    std::optional<Masked> Quick() const;
    /// True if the check fails wherever its quick form does.
    bool IsQuickExact() const;
  };
  /// One dimension of a tensor that must be contiguous, and the next inner one, by the offsets of their strides in the
  /// TensorView.
  struct Rows {
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
  struct Checks {
    // The quick form of `all`: one masked check for each extent, stride or address. A failed quick check is not final,
    // because the stride of a dimension with one element may be any. The first checks are stored here and not behind a
    // pointer, because a hit waits for each load between the key and the assumptions.
    std::array<Masked, 4> first{};
    std::uint8_t num_first = 0;
    bool has_slow = false;                                     // Some have no quick form.
    bool has_more = false;                                     // Any of the following.
    std::vector<Masked> masked;                                // The checks that do not fit into `first`.
    std::vector<std::pair<std::uint8_t, std::uint8_t>> apart;  // Parameters that must not overlap.
    std::vector<Rows> innermost;  // The two innermost dimensions lie dense: the most common ones, hence apart from
    std::vector<Rows> rows;       // those that lie dense around the dimension inside them.

    std::vector<Check> all;
    std::vector<Masked> exact;  // The masked checks whose failure is final.

    void Add(const Check& check);
    void AddMasked(const Masked& check);
    void AddContiguous(const Check& check);
    [[gnu::always_inline]] bool Hold(const BoundCall& call) const {
      std::uint64_t wrong = static_cast<std::uint64_t>(has_slow);
      for (std::size_t i = 0; i < num_first; ++i) wrong |= first[i].WrongBits(call);
      if (has_more) {
        for (const Masked& check : masked) wrong |= check.WrongBits(call);
        for (const auto& [a, b] : apart) wrong |= static_cast<std::uint64_t>(Overlap(call.tensor(a), call.tensor(b)));
        for (const Rows& of : innermost) wrong |= of.GapAndInnerGap(call);
        for (const Rows& of : rows) wrong |= of.Gap(call);
      }
      return wrong == 0 || HoldOneByOne(call);
    }
    bool HoldOneByOne(const BoundCall& call) const;
    bool SurelyFail(const BoundCall& call) const {
      return std::any_of(exact.begin(), exact.end(), [&](const Masked& check) { return check.WrongBits(call) != 0; });
    }
  };

  void Add(Check check);
  /// The numbers that divide an extent, or a stride, of each call for which all assumptions hold: their least common
  /// multiple, as far as it is known.
  std::int64_t DivisorOfExtent(const std::string& dim) const;
  std::int64_t DivisorOfStride(std::size_t parameter, std::size_t dimension) const;
  /// Returns the stride of a contiguous tensor whose inner extents are constants, or nothing for other tensors.
  std::optional<std::int64_t> DenseStride(std::size_t parameter, std::size_t dimension) const;
  /// The check that a launch makes for an assumption of code; empty if there is no such check.
  std::optional<Check> CheckOfCode(const ParameterLayout& layout, const CodeAssumption& of_code) const;
  std::optional<Check> CheckOfExtent(const std::string& dim, const CodeAssumption& of_code) const;
  /// The value that a constant of the definition, or a declared assumption, gives what `check` is of.
  std::optional<std::int64_t> DeclaredValue(const Check& check) const;
  bool CoversAddress(std::size_t parameter, std::int64_t divisor) const;
  bool CoversExtent(const std::string& dim, const CodeAssumption& of_code) const;
  bool CoversStride(std::size_t parameter, std::size_t dimension, const CodeAssumption& of_code) const;
  bool CoversScalar(std::size_t parameter, const CodeAssumption& of_code) const;
  /// Returns the part of the key that contains an extent or a scalar, or null.
  const KeyPart* PartOf(const Check& check) const;
  /// The first that does not hold of those about an extent, or a scalar of whole numbers, that is a constant of the
  /// code.
  const Check* WrongConstant(const BoundCall& call) const;
  /// Returns the name of the dim or scalar of such a check.
  const std::string& NameOf(const Check& constant) const;
  /// Adds the assumptions of a tensor that a tensor map describes.
  void AddTensorMap(const Parameter& map);
  /// Returns the index of a tensor parameter. Errors: InvalidArgument for a name that is not a tensor.
  static Result<std::uint8_t> TensorIndex(const KernelDefinition& definition, const std::string& name);
  static Result<Check> ScalarCheck(const KernelDefinition& definition, const Assumption& assumption);
  /// Errors: InvalidArgument for a dtype that the parameter does not let the tensor have.
  static Result<Check> DTypeCheck(const KernelDefinition& definition, const Assumption& assumption);
  /// The first that does not hold of those about dtypes.
  const Check* WrongDType(const BoundCall& call) const;
  /// VerifyAny where each of `any` has a wrong dtype.
  static Status NoneOfDType(const std::vector<const AssumptionChecks*>& any, const BoundCall& call);
  /// Errors: InvalidArgument for what cannot be known of tensors by pointers, which need not be alike.
  static Status CheckOfTable(const Parameter& parameter, const Assumption& assumption);
  void AddConstantExtents();
  /// Adds the assumptions that are implied by the parameters' declarations and by how the kernel takes them.
  void AddImplied(const ParameterLayout& layout);
  Status Broken(const Check& check, const BoundCall& call) const;
  std::string OtherScalar(const Check& check, const BoundCall& call) const;
  std::string NotContiguous(const Check& check, const BoundCall& call) const;

  const KernelDefinition* definition_ = nullptr;
  const Variant* variant_ = nullptr;
  Checks dtypes_;  // Checks of dtypes. No launch evaluates them, because its key has the dtypes.
  Checks others_;
  Checks extents_;  // Checks of extents, and of scalars that are part of the key.
};

/// Checks everything that can be checked without a device: KernelDefinition::Validate, and what each variant assumes.
/// Errors: InvalidArgument, starting with the kernel's name.
TUNEONCE_API Status ValidateForLaunch(KernelDefinition& definition);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_LAUNCH_ASSUMPTION_H_
