#include "launch/assumption.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "definition/constant_extent.h"
#include "definition/fill_bytes.h"
#include "definition/requirement_parts.h"
#include "definition/scalar_value.h"
#include "launch/requirement_check.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Returns the bytes of a scalar of `dtype` with the assumed value, followed by zeros, or nothing if the dtype cannot
/// hold the value.
std::optional<std::uint64_t> ScalarBytes(DType dtype, const Assumption& assumption) {
  std::uint64_t word = 0;
  if (assumption.real || !IsWhole(dtype)) {
    double value = assumption.real ? *assumption.real : static_cast<double>(assumption.value);
    bool fits = EncodeElement(dtype, value, &word);
    return fits ? std::optional<std::uint64_t>(word) : std::nullopt;
  }
  std::memcpy(&word, &assumption.value, DTypeBytes(dtype));
  return WholeScalar(dtype, &word) == assumption.value ? std::optional<std::uint64_t>(word) : std::nullopt;
}

}  // namespace

Result<std::uint8_t> AssumptionChecks::TensorIndex(const KernelDefinition& definition, const std::string& name) {
  std::optional<std::size_t> index = definition.FindParameter(name);
  // Raw memory has a pointer, but no dims.
  if (!index || definition.parameters()[*index].dims.empty()) {
    return InvalidArgumentError("an assumption names '" + name + "', which is not a tensor with dims");
  }
  return static_cast<std::uint8_t>(*index);
}

Result<AssumptionChecks> AssumptionChecks::Create(const KernelDefinition& definition, const Variant& variant) {
  TUNEONCE_ASSIGN_OR_RETURN(ParameterLayout layout,
                            ParameterLayout::Create(definition, variant.convention, variant.parameters));
  return Create(definition, variant, layout);
}

Result<AssumptionChecks> AssumptionChecks::Create(const KernelDefinition& definition, const Variant& variant,
                                                  const ParameterLayout& layout) {
  AssumptionChecks checks;
  checks.definition_ = &definition;
  checks.variant_ = &variant;
  for (const Assumption& assumption : variant.assumptions) {
    TUNEONCE_ASSIGN_OR_RETURN(AssumptionCheck check, AssumptionCheck::Of(definition, assumption));
    checks.Add(check);
  }
  for (const Condition& part : variant.requirement.Conjuncts()) {
    if (UseOf(part.reads()) != RequirementUse::kOfVariant) continue;
    TUNEONCE_RETURN_IF_ERROR(checks.AddPart(part.For(Config())));
  }
  checks.AddImplied(layout);
  return checks;
}

AssumptionChecks AssumptionChecks::For(const Config& config) const {
  AssumptionChecks checks = *this;
  if (variant_->requirement.IsAlways()) return checks;
  for (const Condition& part : variant_->requirement.Conjuncts()) {
    if (UseOf(part.reads()) != RequirementUse::kOfKey) continue;
    if (!checks.AddPart(part.For(config)).ok()) checks.AddRequirement(RequirementCheck::Never(part.ToString()));
  }
  return checks;
}

Result<AssumptionChecks> AssumptionChecks::OfPart(const KernelDefinition& definition, const Condition& part) {
  AssumptionChecks checks;
  checks.definition_ = &definition;
  TUNEONCE_RETURN_IF_ERROR(checks.AddPart(part));
  return checks;
}

Result<VariantSet> AssumptionChecks::FailedAtoms(const KernelDefinition& definition, const BoundCall& call) {
  VariantSet failed;
  for (std::size_t i = 0; i < definition.requirement_atoms().size(); ++i) {
    TUNEONCE_ASSIGN_OR_RETURN(AssumptionChecks atom, OfPart(definition, definition.requirement_atoms()[i]));
    if (!atom.Hold(call)) failed = failed.With(definition.variants().size() + i);
  }
  return failed;
}

void AssumptionChecks::AddRequirement(RequirementCheck requirement) {
  AssumptionCheck check{};
  check.kind = Assumption::Kind::kCondition;
  const bool is_of_dims = requirement.is_of_dims();
  check.requirement = std::make_shared<const RequirementCheck>(std::move(requirement));
  (is_of_dims ? extents_ : others_).Add(check);
}

Status AssumptionChecks::AddPart(const Condition& condition) {
  for (const Condition& part : condition.Conjuncts()) {
    if (part.IsAlways()) continue;
    if (std::optional<Assumption> assumption = part.AsAssumption()) {
      TUNEONCE_ASSIGN_OR_RETURN(AssumptionCheck check, AssumptionCheck::Of(*definition_, *assumption));
      Add(check);
      continue;
    }
    TUNEONCE_ASSIGN_OR_RETURN(RequirementCheck check, RequirementCheck::Create(*definition_, part));
    AddRequirement(std::move(check));
  }
  return Status();
}

Result<AssumptionCheck> AssumptionCheck::Of(const KernelDefinition& definition, const Assumption& assumption) {
  if (IsOfScalar(assumption.kind)) return AssumptionChecks::ScalarCheck(definition, assumption);
  AssumptionCheck check{};
  if (assumption.kind == Assumption::Kind::kDTypeIn) return AssumptionChecks::DTypeCheck(definition, assumption);
  check.kind = assumption.kind;
  TUNEONCE_ASSIGN_OR_RETURN(check.parameter, AssumptionChecks::TensorIndex(definition, assumption.tensor));
  const Parameter& parameter = definition.parameters()[check.parameter];
  const int rank = static_cast<int>(parameter.dims.size());
  if (assumption.dimension < 0 || assumption.dimension >= rank) {
    return InvalidArgumentError(absl::StrCat("an assumption names dimension ", assumption.dimension, " of '",
                                             assumption.tensor, "', which has rank ", rank));
  }
  check.dimension = static_cast<std::uint8_t>(assumption.dimension);
  TUNEONCE_RETURN_IF_ERROR(AssumptionChecks::CheckOfTable(parameter, assumption));
  if (assumption.kind == Assumption::Kind::kNoOverlap) {
    TUNEONCE_ASSIGN_OR_RETURN(check.other, AssumptionChecks::TensorIndex(definition, assumption.other));
    TUNEONCE_RETURN_IF_ERROR(AssumptionChecks::CheckOfTable(definition.parameters()[check.other], assumption));
  } else if (assumption.value < 1) {
    const bool is_defined = assumption.value != Term::kNoValue;
    return InvalidArgumentError(absl::StrCat(
        "an assumption about '", assumption.tensor, "' has ",
        is_defined ? absl::StrCat("the value ", assumption.value) : std::string("no value for some config"),
        "; at least 1 is possible"));
  }
  check.value = assumption.value;
  check.rank = static_cast<std::uint8_t>(rank);
  check.is_table = parameter.by_pointers;
  return check;
}

Status AssumptionChecks::CheckOfTable(const Parameter& parameter, const Assumption& assumption) {
  if (!parameter.by_pointers) return Status();
  const std::string what = "'" + parameter.name + "', which is a table of pointers";
  switch (assumption.kind) {
    case Assumption::Kind::kAligned:
      if ((assumption.value & (assumption.value - 1)) == 0) return Status();
      return InvalidArgumentError(absl::StrCat("an assumption aligns ", what, ", to ", assumption.value, " bytes",
                                               ": the alignment of such a table must be a power of two"));
    case Assumption::Kind::kContiguous:
    case Assumption::Kind::kDTypeIn:
      return Status();
    case Assumption::Kind::kExtentIs:
    case Assumption::Kind::kExtentDivisibleBy:
    case Assumption::Kind::kExtentAtLeast: {
      const std::string& dim = parameter.dims[static_cast<std::size_t>(assumption.dimension)];
      if (std::find(parameter.varying.begin(), parameter.varying.end(), dim) == parameter.varying.end())
        return Status();
      return InvalidArgumentError("an assumption fixes an extent of " + what + " whose tensors may differ in '" + dim +
                                  "': remove the assumption, or do not let '" + dim + "' vary");
    }
    case Assumption::Kind::kNoOverlap:
      return InvalidArgumentError("an assumption excludes overlaps with " + what +
                                  ": launches do not check the tensors of a table, so remove it");
    default:
      return InvalidArgumentError("an assumption fixes a stride of " + what +
                                  ": the tensors of a table are always dense, so remove it");
  }
}

void AssumptionChecks::AddTensorMap(const Parameter& map) {
  const std::size_t tensor = *definition_->FindParameter(map.tensor);
  const Parameter& parameter = definition_->parameters()[tensor];
  constexpr std::int64_t kAlignment = 16;  // Of addresses and strides, in bytes, for cuTensorMapEncodeTiled.
  auto add = [&](Assumption::Kind kind, std::size_t dimension, std::int64_t value) {
    AssumptionCheck check{};
    check.kind = kind;
    check.parameter = static_cast<std::uint8_t>(tensor);
    check.dimension = static_cast<std::uint8_t>(dimension);
    check.value = value;
    Add(check);
  };
  const std::size_t inner = parameter.dims.size() - 1;
  add(Assumption::Kind::kAligned, 0, kAlignment);
  add(Assumption::Kind::kStrideIs, inner, 1);
  // For a tensor of any dtype each launch checks it.
  if (parameter.dtype == DType::kAny) return;
  const auto divisor = std::max<std::int64_t>(1, kAlignment / static_cast<std::int64_t>(DTypeBytes(parameter.dtype)));
  for (std::size_t d = 0; d < inner; ++d) add(Assumption::Kind::kStrideDivisibleBy, d, divisor);
}

Result<AssumptionCheck> AssumptionChecks::ScalarCheck(const KernelDefinition& definition,
                                                      const Assumption& assumption) {
  std::optional<std::size_t> index = definition.FindParameter(assumption.tensor);
  if (!index || definition.parameters()[*index].kind != ParameterKind::kScalar) {
    return InvalidArgumentError("an assumption names '" + assumption.tensor + "', which is not a scalar");
  }
  const DType dtype = definition.parameters()[*index].dtype;
  AssumptionCheck check{};
  check.kind = assumption.kind;
  check.parameter = static_cast<std::uint8_t>(*index);
  check.dtype = dtype;
  check.value = assumption.value;
  std::string what = absl::StrCat("'", assumption.tensor, "', a ", std::string(DTypeName(dtype)));
  if (assumption.kind == Assumption::Kind::kScalarAtLeast) {
    if (IsWhole(dtype)) return check;
    return InvalidArgumentError("an assumption sets a least value for " + what + "; only integers can have one");
  }
  if (assumption.kind == Assumption::Kind::kScalarDivisibleBy) {
    if (!IsWhole(dtype))
      return InvalidArgumentError("an assumption sets a divisor for " + what + "; only integers can have one");
    if (assumption.value >= 1) return check;
    return InvalidArgumentError(absl::StrCat("an assumption has the divisor ", assumption.value, " for ", what,
                                             "; a divisor must be at least 1"));
  }
  std::optional<std::uint64_t> bytes = ScalarBytes(dtype, assumption);
  if (!bytes)
    return InvalidArgumentError(
        absl::StrCat("an assumption sets a value for ", what, " that this dtype cannot represent"));
  check.value = static_cast<std::int64_t>(*bytes);
  return check;
}

Result<AssumptionCheck> AssumptionChecks::DTypeCheck(const KernelDefinition& definition, const Assumption& assumption) {
  AssumptionCheck check{};
  check.kind = assumption.kind;
  TUNEONCE_ASSIGN_OR_RETURN(check.parameter, TensorIndex(definition, assumption.tensor));
  const DType declared = definition.parameters()[check.parameter].dtype;
  for (DType dtype : assumption.dtypes) {
    if (dtype == DType::kAny) {
      return InvalidArgumentError("an assumption lists the dtype any for '" + assumption.tensor +
                                  "': list the dtypes that the code is for");
    }
    if (declared != DType::kAny && declared != dtype) {
      return InvalidArgumentError(absl::StrCat("an assumption lists the dtype ", std::string(DTypeName(dtype)),
                                               " for '", assumption.tensor, "', which is declared as ",
                                               std::string(DTypeName(declared))));
    }
    check.value |= std::int64_t{1} << static_cast<int>(dtype);
  }
  if (check.value != 0) return check;
  return InvalidArgumentError("an assumption lists no dtype for '" + assumption.tensor + "'");
}

void AssumptionChecks::AddConstantExtents() {
  for (std::size_t i = 0; i < definition_->parameters().size(); ++i) {
    const Parameter& parameter = definition_->parameters()[i];
    if (parameter.kind != ParameterKind::kTensor) continue;
    for (std::size_t d = 0; d < parameter.dims.size(); ++d) {
      const std::optional<std::int64_t> constant = ConstantExtent(parameter.dims[d]);
      if (!constant) continue;
      AssumptionCheck check{};
      check.kind = Assumption::Kind::kExtentIs;
      check.parameter = static_cast<std::uint8_t>(i);
      check.dimension = static_cast<std::uint8_t>(d);
      check.value = *constant;
      Add(check);
    }
  }
}

Status AssumptionChecks::CheckConstantExtents(const KernelDefinition& definition, const BoundCall& call) {
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const Parameter& parameter = definition.parameters()[i];
    if (parameter.kind != ParameterKind::kTensor) continue;
    for (std::size_t d = 0; d < parameter.dims.size(); ++d) {
      const std::optional<std::int64_t> constant = ConstantExtent(parameter.dims[d]);
      const std::int64_t extent = constant ? call.tensor(i).shape[d] : 0;
      if (!constant || extent == *constant) continue;
      return OtherConstantExtent(definition.name(), parameter.name, d, extent, *constant);
    }
  }
  return Status();
}

void AssumptionChecks::AddImplied(const ParameterLayout& layout) {
  AddConstantExtents();
  for (const ParameterLayout::Narrowed& narrowed : layout.narrowed()) {
    AssumptionCheck check{};
    check.kind = narrowed.is_stride ? Assumption::Kind::kStrideFitsInt32 : Assumption::Kind::kExtentFitsInt32;
    check.parameter = narrowed.parameter;
    check.dimension = narrowed.dimension;
    Add(check);
  }
  for (const ParameterLayout::StrideArgument& stride : layout.stride_arguments()) {
    AssumptionCheck check{};
    check.kind = Assumption::Kind::kStrideNotNegative;
    check.parameter = stride.parameter;
    check.dimension = stride.dimension;
    Add(check);
  }
  for (std::uint8_t map : layout.map_parameters()) AddTensorMap(definition_->parameters()[map]);
  for (const ParameterLayout::Bare& bare : layout.bare_tensors()) {
    bool is_declared = std::any_of(others_.all.begin(), others_.all.end(), [&](const AssumptionCheck& known) {
      return known.kind == Assumption::Kind::kContiguous && known.parameter == bare.parameter;
    });
    if (is_declared) continue;
    AssumptionCheck check{};
    check.kind = Assumption::Kind::kContiguous;
    check.parameter = bare.parameter;
    check.strides_taken = bare.strides_taken;
    Add(check);
  }
}

void AssumptionChecks::Add(AssumptionCheck check) {
  check.rank = static_cast<std::uint8_t>(definition_->parameters()[check.parameter].dims.size());
  check.is_table = definition_->parameters()[check.parameter].by_pointers;
  bool is_of_extent = check.kind == Assumption::Kind::kExtentIs || check.kind == Assumption::Kind::kExtentDivisibleBy ||
                      check.kind == Assumption::Kind::kExtentAtLeast ||
                      check.kind == Assumption::Kind::kExtentFitsInt32;
  if (check.kind == Assumption::Kind::kDTypeIn) {
    dtypes_.Add(check);
    return;
  }
  // No key names a constant extent, so that each launch is checked for it.
  const std::vector<std::string>& dims = definition_->parameters()[check.parameter].dims;
  if (is_of_extent) is_of_extent = !ConstantExtent(dims[check.dimension]);
  const bool is_decided = IsOfScalar(check.kind) && PartOf(check) != nullptr;
  (is_of_extent || is_decided ? extents_ : others_).Add(check);
}

const KeyPart* AssumptionChecks::PartOf(const AssumptionCheck& check) const {
  const KeyPart::Kind kind = IsOfScalar(check.kind) ? KeyPart::Kind::kValue : KeyPart::Kind::kDim;
  const std::string& name = NameOf(*definition_, check);
  const std::vector<KeyPart>& key = definition_->key();
  auto part = std::find_if(key.begin(), key.end(), [&](const KeyPart& p) { return p.kind == kind && p.name == name; });
  return part == key.end() ? nullptr : &*part;
}

bool AssumptionChecks::MayHoldForKey(const BoundCall& call) const {
  if (!dtypes_.Hold(call)) return false;
  return std::all_of(extents_.all.begin(), extents_.all.end(), [&](const AssumptionCheck& check) {
    if (check.Holds(call)) return true;
    if (check.requirement != nullptr) return !definition_->DimsUndecidedByKey().empty();
    const KeyPart* part = PartOf(check);
    if (part == nullptr) return true;
    if (part->bucket == KeyPart::Bucket::kExact) return false;
    const std::int64_t bound = part->Round(call.tensor(check.parameter).shape[check.dimension]);
    auto is_in_bucket = [&](std::int64_t extent) { return extent >= 1 && part->Round(extent) == bound; };
    if (check.kind == Assumption::Kind::kExtentIs) return is_in_bucket(check.value);
    if (check.kind != Assumption::Kind::kExtentDivisibleBy) return true;
    const std::int64_t below = bound - bound % check.value;
    return is_in_bucket(below) || is_in_bucket(below + check.value);
  });
}

Status ValidateForLaunch(KernelDefinition& definition) {
  TUNEONCE_RETURN_IF_ERROR(definition.Validate());
  for (const Variant& variant : definition.variants()) {
    TUNEONCE_RETURN_IF_ERROR(AssumptionChecks::Create(definition, variant)
                                 .status()
                                 .WithPrefix("variant '" + variant.name + "'")
                                 .WithPrefix("kernel '" + definition.name() + "'"));
  }
  for (const Condition& atom : definition.requirement_atoms()) {
    TUNEONCE_RETURN_IF_ERROR(AssumptionChecks::OfPart(definition, atom)
                                 .status()
                                 .WithPrefix("the requirement '" + atom.ToString() + "'")
                                 .WithPrefix("kernel '" + definition.name() + "'"));
  }
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
