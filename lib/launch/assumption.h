#ifndef TUNEONCE_LIB_LAUNCH_ASSUMPTION_H_
#define TUNEONCE_LIB_LAUNCH_ASSUMPTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "launch/assumption_check.h"
#include "launch/call_binder.h"
#include "launch/parameter_block.h"
#include "launch/variant_set.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Evaluates the assumptions of one variant. Thread rule: immutable; any thread.
class AssumptionChecks {
 public:
  AssumptionChecks() = default;
  /// Makes the checks of the variant's declared assumptions, and of those that are implied by how its kernel takes
  /// tensors, extents and strides. Errors: InvalidArgument for an assumption about an unknown tensor or dimension, or a
  /// value below 1; those of ParameterLayout::Create.
  static Result<AssumptionChecks> Create(const KernelDefinition& definition, const Variant& variant);
  /// Makes the checks of a variant whose layout is known.
  static Result<AssumptionChecks> Create(const KernelDefinition& definition, const Variant& variant,
                                         const ParameterLayout& layout);

  /// Returns these checks with those of the variant's requirement that depend on the config. Where one cannot be made,
  /// for a config with unlisted values, no call fulfils the result.
  AssumptionChecks For(const Config& config) const;
  /// Returns the parts of the variants' requirements that fail for the call.
  static Result<VariantSet> FailedAtoms(const KernelDefinition& definition, const BoundCall& call);
  /// Makes the checks of one part of a requirement (KernelDefinition::requirement_atoms). They have no variant, so that
  /// Verify must not be called.
  static Result<AssumptionChecks> OfPart(const KernelDefinition& definition, const Condition& part);

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
  /// Verifies a call of a kernel whose code exists in several forms, each with its own checks. Returns OK if the call
  /// fulfils the checks of one form. Errors: InvalidArgument, which names what the nearest form was compiled for. If no
  /// form has the call's dtypes, the error names the tensor and all dtypes that exist. If no form has the call's
  /// constants, the error names the dim or scalar and all values that exist.
  static Status VerifyAny(const std::vector<const AssumptionChecks*>& of_any_dtype, const BoundCall& call);

  /// The parts, which code_assumptions.h compares with what code assumes.
  const KernelDefinition& definition() const { return *definition_; }
  const CheckList& others() const { return others_; }
  const CheckList& extents() const { return extents_; }
  void Add(AssumptionCheck check);

 private:
  friend struct AssumptionCheck;

  /// Adds the parts of a requirement without axes.
  Status AddPart(const Condition& condition);
  void AddRequirement(RequirementCheck requirement);
  /// Returns the part of the key that contains an extent or a scalar, or null.
  const KeyPart* PartOf(const AssumptionCheck& check) const;
  /// The first that does not hold of those about an extent, or a scalar of whole numbers, that is a constant of the
  /// code.
  const AssumptionCheck* WrongConstant(const BoundCall& call) const;
  /// Adds the assumptions of a tensor that a tensor map describes.
  void AddTensorMap(const Parameter& map);
  /// Returns the index of a tensor parameter. Errors: InvalidArgument for a name that is not a tensor.
  static Result<std::uint8_t> TensorIndex(const KernelDefinition& definition, const std::string& name);
  static Result<AssumptionCheck> ScalarCheck(const KernelDefinition& definition, const Assumption& assumption);
  /// Errors: InvalidArgument for a dtype that the parameter does not let the tensor have.
  static Result<AssumptionCheck> DTypeCheck(const KernelDefinition& definition, const Assumption& assumption);
  /// The first that does not hold of those about dtypes.
  const AssumptionCheck* WrongDType(const BoundCall& call) const;
  /// VerifyAny where each of `any` has a wrong dtype.
  static Status NoneOfDType(const std::vector<const AssumptionChecks*>& any, const BoundCall& call);
  /// Errors: InvalidArgument for what cannot be known of tensors by pointers, which need not be alike.
  static Status CheckOfTable(const Parameter& parameter, const Assumption& assumption);
  void AddConstantExtents();
  /// Adds the assumptions that are implied by the parameters' declarations and by how the kernel takes them.
  void AddImplied(const ParameterLayout& layout);

  const KernelDefinition* definition_ = nullptr;
  const Variant* variant_ = nullptr;
  CheckList dtypes_;  // Checks of dtypes. No launch evaluates them, because its key has the dtypes.
  CheckList others_;
  CheckList extents_;  // Checks of extents, and of scalars that are part of the key.
};

/// Checks everything that can be checked without a device: KernelDefinition::Validate, and what each variant assumes.
/// Errors: InvalidArgument, starting with the kernel's name.
Status ValidateForLaunch(KernelDefinition& definition);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_LAUNCH_ASSUMPTION_H_
