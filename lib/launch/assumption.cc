#include "launch/assumption.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "definition/fill_bytes.h"
#include "definition/scalar_value.h"

namespace tuneonce {
inline namespace v0 {
namespace {

bool IsOfScalar(Assumption::Kind kind) {
  return kind == Assumption::Kind::kScalarIs || kind == Assumption::Kind::kScalarDivisibleBy;
}

/// The bytes of a scalar of `dtype`, zero behind them, that has the assumed value; empty if none has.
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

/// The bits that no int32 from 0 on has.
constexpr std::uint64_t kNoInt32 = ~std::uint64_t{0} << 31;
constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

}  // namespace

Result<std::uint8_t> AssumptionChecks::TensorIndex(const KernelDefinition& definition, const std::string& name) {
  std::optional<std::size_t> index = definition.FindParameter(name);
  // Raw memory has a pointer, but no dims.
  if (!index || definition.parameters()[*index].dims.empty()) {
    return InvalidArgumentError("it assumes something of '" + name + "', which is no tensor");
  }
  return static_cast<std::uint8_t>(*index);
}

Result<AssumptionChecks> AssumptionChecks::Create(const KernelDefinition& definition, const Variant& variant) {
  AssumptionChecks checks;
  checks.definition_ = &definition;
  checks.variant_ = &variant;
  for (const Assumption& assumption : variant.assumptions) {
    if (IsOfScalar(assumption.kind)) {
      TUNEONCE_ASSIGN_OR_RETURN(Check of_scalar, ScalarCheck(definition, assumption));
      checks.Add(of_scalar);
      continue;
    }
    if (assumption.kind == Assumption::Kind::kDTypeIn) {
      TUNEONCE_ASSIGN_OR_RETURN(Check of_dtype, DTypeCheck(definition, assumption));
      checks.Add(of_dtype);
      continue;
    }
    Check check{};
    check.kind = assumption.kind;
    TUNEONCE_ASSIGN_OR_RETURN(check.parameter, TensorIndex(definition, assumption.tensor));
    int rank = static_cast<int>(definition.parameters()[check.parameter].dims.size());
    if (assumption.dimension < 0 || assumption.dimension >= rank) {
      return InvalidArgumentError(absl::StrCat("it assumes something of dimension ", assumption.dimension, " of '",
                                               assumption.tensor, "', which has rank ", rank));
    }
    check.dimension = static_cast<std::uint8_t>(assumption.dimension);
    TUNEONCE_RETURN_IF_ERROR(CheckOfTable(definition.parameters()[check.parameter], assumption));
    if (assumption.kind == Assumption::Kind::kNoOverlap) {
      TUNEONCE_ASSIGN_OR_RETURN(check.other, TensorIndex(definition, assumption.other));
      TUNEONCE_RETURN_IF_ERROR(CheckOfTable(definition.parameters()[check.other], assumption));
    } else if (assumption.value < 1) {
      return InvalidArgumentError(
          absl::StrCat("it assumes ", assumption.value, " of '", assumption.tensor, "'; at least 1 is possible"));
    }
    check.value = assumption.value;
    checks.Add(check);
  }
  TUNEONCE_ASSIGN_OR_RETURN(ParameterLayout layout,
                            ParameterLayout::Create(definition, variant.convention, variant.parameters));
  checks.AddImplied(layout);
  return checks;
}

Status AssumptionChecks::CheckOfTable(const Parameter& parameter, const Assumption& assumption) {
  if (!parameter.by_pointers) return Status();
  const std::string what = "'" + parameter.name + "', which is a table of pointers";
  switch (assumption.kind) {
    case Assumption::Kind::kAligned:
      if ((assumption.value & (assumption.value - 1)) == 0) return Status();
      return InvalidArgumentError(absl::StrCat("it assumes an alignment to ", assumption.value, " bytes of ", what,
                                               ": of such, powers of two are known"));
    case Assumption::Kind::kContiguous:
    case Assumption::Kind::kDTypeIn:
      return Status();
    case Assumption::Kind::kExtentIs:
    case Assumption::Kind::kExtentDivisibleBy: {
      const std::string& dim = parameter.dims[static_cast<std::size_t>(assumption.dimension)];
      if (std::find(parameter.varying.begin(), parameter.varying.end(), dim) == parameter.varying.end())
        return Status();
      return InvalidArgumentError("it assumes an extent of " + what + ": its tensors may differ in '" + dim + "'");
    }
    case Assumption::Kind::kNoOverlap:
      return InvalidArgumentError("it assumes that nothing overlaps with " + what + ": no launch looks at each tensor");
    default:
      return InvalidArgumentError("it assumes a stride of " + what + ": its tensors have no gaps in any case");
  }
}

void AssumptionChecks::AddTensorMap(const Parameter& map) {
  const std::size_t tensor = *definition_->FindParameter(map.tensor);
  const Parameter& parameter = definition_->parameters()[tensor];
  constexpr std::int64_t kAlignment = 16;  // Of addresses and strides, in bytes: cuTensorMapEncodeTiled.
  auto add = [&](Assumption::Kind kind, std::size_t dimension, std::int64_t value) {
    Check check{};
    check.kind = kind;
    check.parameter = static_cast<std::uint8_t>(tensor);
    check.dimension = static_cast<std::uint8_t>(dimension);
    check.value = value;
    Add(check);
  };
  const std::size_t inner = parameter.dims.size() - 1;
  add(Assumption::Kind::kAligned, 0, kAlignment);
  add(Assumption::Kind::kStrideIs, inner, 1);
  // Of a tensor of any dtype the launch finds out.
  if (parameter.dtype == DType::kAny) return;
  const auto divisor = std::max<std::int64_t>(1, kAlignment / static_cast<std::int64_t>(DTypeBytes(parameter.dtype)));
  for (std::size_t d = 0; d < inner; ++d) add(Assumption::Kind::kStrideDivisibleBy, d, divisor);
}

Result<AssumptionChecks::Check> AssumptionChecks::ScalarCheck(const KernelDefinition& definition,
                                                              const Assumption& assumption) {
  std::optional<std::size_t> index = definition.FindParameter(assumption.tensor);
  if (!index || definition.parameters()[*index].kind != ParameterKind::kScalar) {
    return InvalidArgumentError("it assumes something of '" + assumption.tensor + "', which is no scalar");
  }
  const DType dtype = definition.parameters()[*index].dtype;
  Check check{};
  check.kind = assumption.kind;
  check.parameter = static_cast<std::uint8_t>(*index);
  check.dtype = dtype;
  check.value = assumption.value;
  std::string what = absl::StrCat("'", assumption.tensor, "', a ", std::string(DTypeName(dtype)));
  if (assumption.kind == Assumption::Kind::kScalarDivisibleBy) {
    if (!IsWhole(dtype)) return InvalidArgumentError("it assumes a divisor of " + what);
    if (assumption.value >= 1) return check;
    return InvalidArgumentError(
        absl::StrCat("it assumes that ", assumption.value, " divides ", what, "; at least 1 is possible"));
  }
  std::optional<std::uint64_t> bytes = ScalarBytes(dtype, assumption);
  if (!bytes) return InvalidArgumentError(absl::StrCat("it assumes a value of ", what, ", that it cannot have"));
  check.value = static_cast<std::int64_t>(*bytes);
  return check;
}

void AssumptionChecks::AddImplied(const ParameterLayout& layout) {
  for (const ParameterLayout::Narrowed& narrowed : layout.narrowed()) {
    Check check{};
    check.kind = narrowed.is_stride ? Assumption::Kind::kStrideFitsInt32 : Assumption::Kind::kExtentFitsInt32;
    check.parameter = narrowed.parameter;
    check.dimension = narrowed.dimension;
    Add(check);
  }
  for (const ParameterLayout::StrideArgument& stride : layout.stride_arguments()) {
    Check check{};
    check.kind = Assumption::Kind::kStrideNotNegative;
    check.parameter = stride.parameter;
    check.dimension = stride.dimension;
    Add(check);
  }
  for (std::uint8_t map : layout.map_parameters()) AddTensorMap(definition_->parameters()[map]);
  for (const ParameterLayout::Bare& bare : layout.bare_tensors()) {
    bool is_declared = std::any_of(others_.all.begin(), others_.all.end(), [&](const Check& known) {
      return known.kind == Assumption::Kind::kContiguous && known.parameter == bare.parameter;
    });
    if (is_declared) continue;
    Check check{};
    check.kind = Assumption::Kind::kContiguous;
    check.parameter = bare.parameter;
    check.strides_taken = bare.strides_taken;
    Add(check);
  }
}

void AssumptionChecks::Add(Check check) {
  check.rank = static_cast<std::uint8_t>(definition_->parameters()[check.parameter].dims.size());
  check.is_table = definition_->parameters()[check.parameter].by_pointers;
  bool is_of_extent = check.kind == Assumption::Kind::kExtentIs || check.kind == Assumption::Kind::kExtentDivisibleBy ||
                      check.kind == Assumption::Kind::kExtentFitsInt32;
  if (check.kind == Assumption::Kind::kDTypeIn) {
    dtypes_.Add(check);
    return;
  }
  const bool is_decided = IsOfScalar(check.kind) && PartOf(check) != nullptr;
  (is_of_extent || is_decided ? extents_ : others_).Add(check);
}

const KeyPart* AssumptionChecks::PartOf(const Check& check) const {
  const Parameter& parameter = definition_->parameters()[check.parameter];
  const bool is_scalar = IsOfScalar(check.kind);
  const std::string& name = is_scalar ? parameter.name : parameter.dims[check.dimension];
  const KeyPart::Kind kind = is_scalar ? KeyPart::Kind::kValue : KeyPart::Kind::kDim;
  const std::vector<KeyPart>& key = definition_->key();
  auto part = std::find_if(key.begin(), key.end(), [&](const KeyPart& p) { return p.kind == kind && p.name == name; });
  return part == key.end() ? nullptr : &*part;
}

bool AssumptionChecks::MayHoldForKey(const BoundCall& call) const {
  if (!dtypes_.Hold(call)) return false;
  return std::all_of(extents_.all.begin(), extents_.all.end(), [&](const Check& check) {
    const KeyPart* part = PartOf(check);
    if (part == nullptr || check.Holds(call)) return true;
    if (part->bucket == KeyPart::Bucket::kExact) return false;
    const std::int64_t bound = part->Round(call.tensor(check.parameter).shape[check.dimension]);
    auto is_in_bucket = [&](std::int64_t extent) { return extent >= 1 && part->Round(extent) == bound; };
    if (check.kind == Assumption::Kind::kExtentIs) return is_in_bucket(check.value);
    if (check.kind != Assumption::Kind::kExtentDivisibleBy) return true;
    const std::int64_t below = bound - bound % check.value;
    return is_in_bucket(below) || is_in_bucket(below + check.value);
  });
}

void AssumptionChecks::Checks::Add(const Check& check) {
  all.push_back(check);
  if (check.kind == Assumption::Kind::kNoOverlap) {
    apart.emplace_back(check.parameter, check.other);
    has_pairs = true;
  } else if (check.kind == Assumption::Kind::kContiguous && !check.is_table) {
    AddContiguous(check);
  } else if (std::optional<Masked> quick = check.Quick()) {
    AddMasked(*quick);
    if (check.IsQuickExact()) exact.push_back(*quick);
  } else {
    has_slow = true;
  }
}

void AssumptionChecks::Checks::AddContiguous(const Check& check) {
  auto is_taken = [&](int d) { return (check.strides_taken >> d & 1) != 0; };
  auto offset = [](int d) {
    return static_cast<std::uint8_t>(offsetof(TensorView, strides) +
                                     static_cast<std::size_t>(d) * sizeof(std::int64_t));
  };
  int last = check.rank - 1;
  int d = last;  // The outermost one that `innermost` or `masked` covers.
  if (!is_taken(last)) {
    if (last > 0 && !is_taken(last - 1)) {
      innermost.push_back(Rows{check.parameter, offset(--d)});
    } else {
      AddMasked(Masked{check.parameter, offset(last), ~std::uint64_t{0}, 1});
    }
  }
  while (--d >= 0) {
    if (!is_taken(d)) rows.push_back(Rows{check.parameter, offset(d)});
  }
  has_rows = !innermost.empty() || !rows.empty();
  has_pairs |= has_rows;
}

std::optional<AssumptionChecks::Masked> AssumptionChecks::Check::Quick() const {
  auto masked = [this](std::size_t offset, std::uint64_t mask, std::uint64_t expected) {
    return Masked{parameter, static_cast<std::uint8_t>(offset), mask, expected};
  };
  // A power of two's multiples are known by their low bits; of another number, only a division tells.
  auto multiple = [&](std::size_t offset) -> std::optional<Masked> {
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
      // Of one tensor it is said of two values at a time (AddContiguous).
      return is_table ? std::optional<Masked>(masked(offsetof(PointerTable, num_gaps), ~std::uint64_t{0}, 0))
                      : std::nullopt;
    case Assumption::Kind::kNoOverlap:
    case Assumption::Kind::kScalarIs:  // A scalar may have less bytes than a masked compare reads.
    case Assumption::Kind::kScalarDivisibleBy:
    case Assumption::Kind::kDTypeIn:  // Not part of a launch.
      break;
  }
  return std::nullopt;
}

bool AssumptionChecks::Check::IsQuickExact() const {
  // Of others, one element's stride may be any.
  return kind == Assumption::Kind::kAligned || kind == Assumption::Kind::kStrideDivisibleBy ||
         kind == Assumption::Kind::kExtentIs || kind == Assumption::Kind::kExtentDivisibleBy ||
         kind == Assumption::Kind::kExtentFitsInt32;
}

void AssumptionChecks::Checks::AddMasked(const Masked& check) {
  for (Masked& known : masked) {
    if (known.parameter != check.parameter || known.offset != check.offset) continue;
    if (((known.expected ^ check.expected) & known.mask & check.mask) != 0) continue;  // They contradict each other.
    known.mask |= check.mask;
    known.expected |= check.expected;
    return;
  }
  masked.push_back(check);
}

bool AssumptionChecks::Checks::HoldOneByOne(const BoundCall& call) const {
  return std::all_of(all.begin(), all.end(), [&](const Check& check) { return check.Holds(call); });
}

bool AssumptionChecks::Check::Holds(const BoundCall& call) const {
  if (IsOfScalar(kind)) {
    const void* bytes = call.problem.values[parameter];
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, DTypeBytes(dtype));
    if (kind == Assumption::Kind::kScalarIs) return word == static_cast<std::uint64_t>(value);
    if (dtype == DType::kUInt64) return word % static_cast<std::uint64_t>(value) == 0;
    return WholeScalar(dtype, bytes) % value == 0;
  }
  const TensorView& tensor = call.tensor(parameter);
  switch (kind) {
    case Assumption::Kind::kAligned:
      return AddressBits(call) % static_cast<std::uint64_t>(value) == 0;
    case Assumption::Kind::kStrideIs:
      // Along one element no step is ever taken.
      return tensor.strides[dimension] == value || tensor.shape[dimension] == 1;
    case Assumption::Kind::kStrideDivisibleBy:
      return tensor.strides[dimension] % value == 0;
    case Assumption::Kind::kExtentIs:
      return tensor.shape[dimension] == value;
    case Assumption::Kind::kExtentDivisibleBy:
      return tensor.shape[dimension] % value == 0;
    case Assumption::Kind::kStrideFitsInt32:
      // Negative along one element, where no step is taken, does no harm.
      return ParameterLayout::Narrowed::Fits(tensor.strides[dimension]) &&
             (tensor.strides[dimension] >= 0 || tensor.shape[dimension] == 1);
    case Assumption::Kind::kStrideNotNegative:
      return tensor.strides[dimension] >= 0 || tensor.shape[dimension] == 1;
    case Assumption::Kind::kExtentFitsInt32:
      return ParameterLayout::Narrowed::Fits(tensor.shape[dimension]);
    case Assumption::Kind::kContiguous:
      return is_table ? TableIn(call).num_gaps == 0 : !FindGap(tensor);
    case Assumption::Kind::kNoOverlap:
      return !Overlap(tensor, call.tensor(other));
    case Assumption::Kind::kDTypeIn:
      return (value >> static_cast<int>(tensor.dtype) & 1) != 0;
    case Assumption::Kind::kScalarIs:
    case Assumption::Kind::kScalarDivisibleBy:
      break;
  }
  return false;
}

std::optional<AssumptionChecks::Check::Gap> AssumptionChecks::Check::FindGap(const TensorView& tensor) const {
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

Status AssumptionChecks::Verify(const BoundCall& call) const {
  for (const Checks* checks : {&dtypes_, &others_, &extents_}) {
    for (const Check& check : checks->all) {
      if (!check.Holds(call)) return Broken(check, call);
    }
  }
  return Status();
}

std::string AssumptionChecks::NotContiguous(const Check& check, const BoundCall& call) const {
  if (check.is_table) {
    return absl::StrCat(check.TableIn(call).num_gaps, " of the tensors that '",
                        definition_->parameters()[check.parameter].name,
                        "' points to have gaps: its kernel computes on contiguous memory; pass contiguous copies");
  }
  const TensorView& tensor = call.tensor(check.parameter);
  Check::Gap gap = check.FindGap(tensor).value_or(Check::Gap{0, 0});
  return absl::StrCat(
      "dimension ", gap.dimension, " of '", definition_->parameters()[check.parameter].name, "' has stride ",
      tensor.strides[static_cast<std::size_t>(gap.dimension)], ", not ", gap.needed,
      ": its kernel computes on contiguous memory; pass a contiguous copy, or give the kernel a variant "
      "that takes this stride (StrideValue)");
}

std::string AssumptionChecks::OtherScalar(const Check& check, const BoundCall& call) const {
  const Parameter& parameter = definition_->parameters()[check.parameter];
  std::int64_t value = WholeScalar(check.dtype, call.problem.values[check.parameter]);
  std::string is = IsWhole(check.dtype) && value != kNoWholeNumber ? absl::StrCat(" is ", value) : " has another value";
  std::string not_what = check.kind == Assumption::Kind::kScalarDivisibleBy
                             ? absl::StrCat(", which ", check.value, " does not divide")
                         : IsWhole(check.dtype) ? absl::StrCat(", not ", WholeScalar(check.dtype, &check.value))
                                                : "";
  return absl::StrCat("the scalar '", parameter.name, "'", is, not_what);
}

Status AssumptionChecks::Broken(const Check& check, const BoundCall& call) const {
  auto refuse = [&](const std::string& what) {
    return InvalidArgumentError(absl::StrCat("kernel '", definition_->name(), "', variant '", variant_->name,
                                             "' was compiled for other arguments: ", what));
  };
  if (IsOfScalar(check.kind)) return refuse(OtherScalar(check, call));
  const TensorView& tensor = call.tensor(check.parameter);
  auto name = [&](std::size_t parameter) { return "'" + definition_->parameters()[parameter].name + "'"; };
  std::string dimension = absl::StrCat("dimension ", static_cast<int>(check.dimension), " of ", name(check.parameter));
  std::string what;
  switch (check.kind) {
    case Assumption::Kind::kAligned:
      what = check.is_table ? absl::StrCat("not all tensors that ", name(check.parameter), " points to are aligned to ",
                                           check.value, " bytes")
                            : absl::StrCat(name(check.parameter), " is not aligned to ", check.value,
                                           " bytes: it is at 0x", absl::Hex(check.AddressBits(call)));
      break;
    case Assumption::Kind::kStrideIs:
      what = absl::StrCat(dimension, " has stride ", tensor.strides[check.dimension], ", not ", check.value,
                          check.value == 1 ? " (the tensor is not contiguous there)" : "");
      break;
    case Assumption::Kind::kStrideDivisibleBy:
      what = absl::StrCat(dimension, " has stride ", tensor.strides[check.dimension], ", which ", check.value,
                          " does not divide");
      break;
    case Assumption::Kind::kExtentIs:
      what = absl::StrCat(dimension, " (", NameOf(check), ") has extent ", tensor.shape[check.dimension], ", not ",
                          check.value);
      break;
    case Assumption::Kind::kExtentDivisibleBy:
      what = absl::StrCat(dimension, " has extent ", tensor.shape[check.dimension], ", which ", check.value,
                          " does not divide");
      break;
    case Assumption::Kind::kStrideFitsInt32:
    case Assumption::Kind::kStrideNotNegative:
      what = absl::StrCat(dimension, " has stride ", tensor.strides[check.dimension],
                          ParameterLayout::Narrowed::Fits(tensor.strides[check.dimension])
                              ? ", which is negative: pass a copy"
                              : ", which does not fit an int32");
      break;
    case Assumption::Kind::kContiguous:
      what = NotContiguous(check, call);
      break;
    case Assumption::Kind::kExtentFitsInt32:
      what = absl::StrCat(dimension, " has extent ", tensor.shape[check.dimension], ", which does not fit an int32");
      break;
    case Assumption::Kind::kNoOverlap:
      what = absl::StrCat(name(check.parameter), " and ", name(check.other), " overlap in memory");
      break;
    case Assumption::Kind::kDTypeIn:
      what = absl::StrCat(name(check.parameter), " is ", std::string(DTypeName(tensor.dtype)));
      break;
    case Assumption::Kind::kScalarIs:
    case Assumption::Kind::kScalarDivisibleBy:
      break;
  }
  return refuse(what);
}

Status ValidateForLaunch(KernelDefinition& definition) {
  TUNEONCE_RETURN_IF_ERROR(definition.Validate());
  for (const Variant& variant : definition.variants()) {
    TUNEONCE_RETURN_IF_ERROR(AssumptionChecks::Create(definition, variant)
                                 .status()
                                 .WithPrefix("variant '" + variant.name + "'")
                                 .WithPrefix("kernel '" + definition.name() + "'"));
  }
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
