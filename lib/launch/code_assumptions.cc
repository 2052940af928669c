#include "launch/code_assumptions.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "definition/constant_extent.h"
#include "definition/scalar_value.h"
#include "launch/source_parameters.h"
#include "tile_ir/tile_ir.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// The driver's allocations, workspaces and tables among them, are aligned to this many bytes at least (CUDA
/// Programming Guide, "Device Memory Accesses").
constexpr std::int64_t kAllocationAlignment = 256;

/// The least common multiple of positive numbers, or `a` where it does not fit.
std::int64_t LeastCommonMultiple(std::int64_t a, std::int64_t b) {
  const std::int64_t step = b / std::gcd(a, b);
  return step > std::numeric_limits<std::int64_t>::max() / a ? a : a * step;
}

bool Divides(std::int64_t divisor, std::int64_t value) { return divisor >= 1 && value % divisor == 0; }

/// "is a multiple of 16", "is at least 1".
std::string Predicate(const CodeAssumption& of_code) {
  switch (of_code.kind) {
    case CodeAssumption::Kind::kDivisibleBy:
      return absl::StrCat("is a multiple of ", of_code.value);
    case CodeAssumption::Kind::kAtLeast:
      return absl::StrCat("is at least ", of_code.value);
    case CodeAssumption::Kind::kAtMost:
      return absl::StrCat("is at most ", of_code.value);
  }
  return "";
}

bool Fulfils(const CodeAssumption& of_code, std::int64_t value) {
  switch (of_code.kind) {
    case CodeAssumption::Kind::kDivisibleBy:
      return Divides(of_code.value, value);
    case CodeAssumption::Kind::kAtLeast:
      return value >= of_code.value;
    case CodeAssumption::Kind::kAtMost:
      return value <= of_code.value;
  }
  return false;
}

/// Returns whether a parameter that the library computes is certain to fulfil `of_code`. Such a parameter is a
/// workspace's address, a derived value, or a descriptor. A descriptor is a struct, about which code states nothing.
bool CoversComputed(const Parameter& parameter, const Config& config, const CodeAssumption& of_code) {
  const bool is_divisor = of_code.kind == CodeAssumption::Kind::kDivisibleBy;
  if (parameter.kind == ParameterKind::kDescriptor) return true;
  if (parameter.kind == ParameterKind::kWorkspace) return !is_divisor || Divides(of_code.value, kAllocationAlignment);
  if (!parameter.term) return false;
  if (is_divisor) return Divides(of_code.value, parameter.term->Divisor(config));
  return of_code.kind == CodeAssumption::Kind::kAtLeast && parameter.term->LeastValue(config) >= of_code.value;
}

/// Appends that `parameter` is `value`.
void AddConstant(std::size_t parameter, const std::optional<std::int64_t>& value,
                 std::vector<CodeAssumption>* of_code) {
  if (!value) return;
  of_code->push_back({CodeAssumption::Kind::kAtLeast, parameter, *value});
  of_code->push_back({CodeAssumption::Kind::kAtMost, parameter, *value});
}

/// Where the view is of a tensor whose extents and strides the kernel takes behind the pointer, the constants of the
/// view are what the code uses in their place.
void AddConstantsOf(const TileIrView& view, const ParameterLayout& layout, std::vector<CodeAssumption>* of_code) {
  const std::size_t rank = view.strides.size();
  if (layout.RankOfSpreadTensor(view.parameter) != rank || view.extents.size() != rank) return;
  for (std::size_t d = 0; d < rank; ++d) {
    AddConstant(view.parameter + 1 + d, view.extents[d], of_code);
    AddConstant(view.parameter + 1 + rank + d, view.strides[d], of_code);
  }
}

/// AssumptionsInCode. With a layout (which may be null) also the constants of views.
std::vector<CodeAssumption> ReadAssumptionsOf(const KernelSource& source, const ParameterLayout* layout) {
  if (source.kind == SourceKind::kPtx) return AssumptionsInPtx(source.content, source.symbol);
  if (source.kind != SourceKind::kTileIr) return {};
  Result<TileIrAssumptions> read = ReadTileIrAssumptions(source.content, source.symbol);
  if (!read.ok()) return {};
  std::vector<CodeAssumption> of_code = std::move(read->of_parameters);
  if (layout == nullptr) return of_code;
  for (const TileIrView& view : read->views) AddConstantsOf(view, *layout, &of_code);
  return of_code;
}

/// "the dim 'K' is a multiple of 16".
std::string AssumptionText(const KernelDefinition& definition, const ParameterLayout& layout,
                           const CodeAssumption& of_code) {
  const ParameterLayout::Meaning meaning = layout.MeaningOf(of_code.parameter);
  std::string what = "'" + definition.parameters()[meaning.parameter].name + "'";
  if (meaning.of == ParameterLayout::Meaning::Of::kAddress) what = "the address of " + what;
  if (meaning.of == ParameterLayout::Meaning::Of::kExtent) what = "the dim '" + meaning.dim + "'";
  if (meaning.of == ParameterLayout::Meaning::Of::kStride) {
    what = absl::StrCat("stride ", meaning.dimension, " of ", what);
  }
  return absl::StrCat(what, " ", Predicate(of_code));
}

std::string Assumes(const KernelDefinition& definition, const ParameterLayout& layout, const CodeAssumption& of_code) {
  return "its code assumes that " + AssumptionText(definition, layout, of_code);
}

/// What the declared assumptions of a variant say of extents, strides, addresses and scalars, compared with what its
/// code assumes of them.
class DeclaredFacts {
 public:
  explicit DeclaredFacts(const AssumptionChecks& declared) : declared_(declared), definition_(declared.definition()) {}

  Status Cover(const ParameterLayout& layout, const Config& config, const CodeAssumption& of_code) const;
  /// The check that a launch makes for an assumption of code; empty if there is no such check.
  std::optional<AssumptionCheck> CheckOfCode(const ParameterLayout& layout, const CodeAssumption& of_code) const;
  /// The value that a constant of the definition, or a declared assumption, gives what `check` is of.
  std::optional<std::int64_t> DeclaredValue(const AssumptionCheck& check) const;

 private:
  /// The numbers that divide an extent, or a stride, of each call for which all assumptions hold: their least common
  /// multiple, as far as it is known.
  std::int64_t DivisorOfExtent(const std::string& dim) const;
  std::int64_t DivisorOfStride(std::size_t parameter, std::size_t dimension) const;
  /// Returns the stride of a contiguous tensor whose inner extents are constants, or nothing for other tensors.
  std::optional<std::int64_t> DenseStride(std::size_t parameter, std::size_t dimension) const;
  std::optional<AssumptionCheck> CheckOfExtent(const std::string& dim, const CodeAssumption& of_code) const;
  bool CoversAddress(std::size_t parameter, std::int64_t divisor) const;
  bool CoversExtent(const std::string& dim, const CodeAssumption& of_code) const;
  bool CoversStride(std::size_t parameter, std::size_t dimension, const CodeAssumption& of_code) const;
  bool CoversScalar(std::size_t parameter, const CodeAssumption& of_code) const;

  const AssumptionChecks& declared_;
  const KernelDefinition& definition_;
};

std::int64_t DeclaredFacts::DivisorOfExtent(const std::string& dim) const {
  if (const std::optional<std::int64_t> constant = ConstantExtent(dim)) return *constant;
  std::int64_t divisor = 1;
  for (const AssumptionCheck& check : declared_.extents().all) {
    const bool divides =
        check.kind == Assumption::Kind::kExtentIs || check.kind == Assumption::Kind::kExtentDivisibleBy;
    if (!divides || definition_.parameters()[check.parameter].dims[check.dimension] != dim) continue;
    divisor = LeastCommonMultiple(divisor, check.value);
  }
  return divisor;
}

std::int64_t DeclaredFacts::DivisorOfStride(std::size_t parameter, std::size_t dimension) const {
  std::int64_t divisor = 1;
  const std::vector<std::string>& dims = definition_.parameters()[parameter].dims;
  // Along one element a stride may be any, but for one that has to be divisible.
  const bool has_steps = CoversExtent(dims[dimension], {CodeAssumption::Kind::kAtLeast, 0, 2});
  for (const AssumptionCheck& check : declared_.others().all) {
    if (check.parameter != parameter) continue;
    const bool is_of_stride =
        check.kind == Assumption::Kind::kStrideDivisibleBy || (check.kind == Assumption::Kind::kStrideIs && has_steps);
    if (is_of_stride && check.dimension == dimension) divisor = LeastCommonMultiple(divisor, check.value);
    const bool is_dense = check.kind == Assumption::Kind::kContiguous && !check.is_table && has_steps &&
                          (check.strides_taken >> dimension & 1) == 0;
    if (!is_dense) continue;
    std::int64_t inner = 1;
    for (std::size_t d = dimension + 1; d < dims.size(); ++d) {
      const std::int64_t extent = DivisorOfExtent(dims[d]);
      if (inner <= std::numeric_limits<std::int64_t>::max() / extent) inner *= extent;
    }
    divisor = LeastCommonMultiple(divisor, inner);
  }
  return divisor;
}

std::optional<std::int64_t> DeclaredFacts::DenseStride(std::size_t parameter, std::size_t dimension) const {
  const bool is_dense =
      std::any_of(declared_.others().all.begin(), declared_.others().all.end(), [&](const AssumptionCheck& check) {
        return check.kind == Assumption::Kind::kContiguous && check.parameter == parameter && !check.is_table &&
               (check.strides_taken >> dimension & 1) == 0;
      });
  if (!is_dense) return std::nullopt;
  const std::vector<std::string>& dims = definition_.parameters()[parameter].dims;
  std::int64_t stride = 1;
  for (std::size_t d = dimension + 1; d < dims.size(); ++d) {
    auto is_known = [&](const AssumptionCheck& check) {
      return check.kind == Assumption::Kind::kExtentIs &&
             definition_.parameters()[check.parameter].dims[check.dimension] == dims[d];
    };
    std::optional<std::int64_t> extent = ConstantExtent(dims[d]);
    auto known = std::find_if(declared_.extents().all.begin(), declared_.extents().all.end(), is_known);
    if (!extent && known != declared_.extents().all.end()) extent = known->value;
    if (!extent || __builtin_mul_overflow(stride, *extent, &stride)) return std::nullopt;
  }
  return stride;
}

bool DeclaredFacts::CoversAddress(std::size_t parameter, std::int64_t divisor) const {
  const Parameter& declared = definition_.parameters()[parameter];
  // The table itself is the library's, and an element's own size divides its address.
  const std::int64_t known =
      declared.by_pointers ? kAllocationAlignment : static_cast<std::int64_t>(DTypeBytes(declared.dtype));
  if (known > 0 && Divides(divisor, known)) return true;
  return std::any_of(declared_.others().all.begin(), declared_.others().all.end(), [&](const AssumptionCheck& check) {
    return check.kind == Assumption::Kind::kAligned && check.parameter == parameter && !check.is_table &&
           Divides(divisor, check.value);
  });
}

bool DeclaredFacts::CoversExtent(const std::string& dim, const CodeAssumption& of_code) const {
  if (of_code.kind == CodeAssumption::Kind::kDivisibleBy) return Divides(of_code.value, DivisorOfExtent(dim));
  const bool is_least = of_code.kind == CodeAssumption::Kind::kAtLeast;
  if (is_least && of_code.value <= 0) return true;
  if (const std::optional<std::int64_t> constant = ConstantExtent(dim)) {
    return is_least ? *constant >= of_code.value : *constant <= of_code.value;
  }
  return std::any_of(declared_.extents().all.begin(), declared_.extents().all.end(), [&](const AssumptionCheck& check) {
    if (IsOfScalar(check.kind) || definition_.parameters()[check.parameter].dims[check.dimension] != dim) return false;
    switch (check.kind) {
      case Assumption::Kind::kExtentIs:
        return is_least ? check.value >= of_code.value : check.value <= of_code.value;
      case Assumption::Kind::kExtentAtLeast:
        return is_least && check.value >= of_code.value;
      case Assumption::Kind::kExtentFitsInt32:
        return !is_least && of_code.value >= std::numeric_limits<std::int32_t>::max();
      default:
        return false;
    }
  });
}

bool DeclaredFacts::CoversStride(std::size_t parameter, std::size_t dimension, const CodeAssumption& of_code) const {
  if (of_code.kind == CodeAssumption::Kind::kDivisibleBy) {
    return Divides(of_code.value, DivisorOfStride(parameter, dimension));
  }
  const bool is_least = of_code.kind == CodeAssumption::Kind::kAtLeast;
  if (const std::optional<std::int64_t> dense = DenseStride(parameter, dimension)) {
    return is_least ? *dense >= of_code.value : *dense <= of_code.value;
  }
  return std::any_of(declared_.others().all.begin(), declared_.others().all.end(), [&](const AssumptionCheck& check) {
    if (check.parameter != parameter || check.dimension != dimension) return false;
    switch (check.kind) {
      case Assumption::Kind::kStrideIs:
        return is_least ? check.value >= of_code.value : check.value <= of_code.value;
      case Assumption::Kind::kStrideNotNegative:
        return is_least && of_code.value <= 0;
      case Assumption::Kind::kStrideFitsInt32:
        return is_least ? of_code.value <= 0 : of_code.value >= std::numeric_limits<std::int32_t>::max();
      default:
        return false;
    }
  });
}

bool DeclaredFacts::CoversScalar(std::size_t parameter, const CodeAssumption& of_code) const {
  auto covers = [&](const AssumptionCheck& check) {
    if (check.parameter != parameter || !IsOfScalar(check.kind) || !IsWhole(check.dtype)) return false;
    if (check.kind == Assumption::Kind::kScalarDivisibleBy) {
      return of_code.kind == CodeAssumption::Kind::kDivisibleBy && Divides(of_code.value, check.value);
    }
    if (check.kind == Assumption::Kind::kScalarAtLeast) {
      return of_code.kind == CodeAssumption::Kind::kAtLeast && check.value >= of_code.value;
    }
    return Fulfils(of_code, WholeScalar(check.dtype, &check.value));
  };
  return std::any_of(declared_.others().all.begin(), declared_.others().all.end(), covers) ||
         std::any_of(declared_.extents().all.begin(), declared_.extents().all.end(), covers);
}

Status DeclaredFacts::Cover(const ParameterLayout& layout, const Config& config, const CodeAssumption& of_code) const {
  const ParameterLayout::Meaning meaning = layout.MeaningOf(of_code.parameter);
  const Parameter& parameter = definition_.parameters()[meaning.parameter];
  const bool is_divisor = of_code.kind == CodeAssumption::Kind::kDivisibleBy;
  if (is_divisor && of_code.value == 1) return Status();
  std::string declare;
  bool is_covered = false;
  switch (meaning.of) {
    case ParameterLayout::Meaning::Of::kAddress:
      is_covered = !is_divisor || CoversAddress(meaning.parameter, of_code.value);
      declare = absl::StrCat("Aligned(\"", parameter.name, "\", ", of_code.value, ")");
      break;
    case ParameterLayout::Meaning::Of::kExtent:
      is_covered = CoversExtent(meaning.dim, of_code);
      declare = absl::StrCat(is_divisor ? "ExtentDivisibleBy" : "ExtentAtLeast", "(TENSOR, DIMENSION, ", of_code.value,
                             ") of a tensor that has the dim");
      break;
    case ParameterLayout::Meaning::Of::kStride:
      is_covered = CoversStride(meaning.parameter, meaning.dimension, of_code);
      declare = absl::StrCat(is_divisor ? "StrideDivisibleBy" : "StrideIs", "(\"", parameter.name, "\", ",
                             meaning.dimension, ", ", of_code.value, ")");
      break;
    case ParameterLayout::Meaning::Of::kScalar:
      is_covered = CoversScalar(meaning.parameter, of_code);
      declare = absl::StrCat(is_divisor ? "ScalarDivisibleBy" : "ScalarAtLeast", "(\"", parameter.name, "\", ",
                             of_code.value, ")");
      break;
    case ParameterLayout::Meaning::Of::kOther:
      is_covered = CoversComputed(parameter, config, of_code);
      break;
  }
  if (is_covered) return Status();
  if (of_code.kind == CodeAssumption::Kind::kAtMost) declare.clear();
  const std::string assumes = Assumes(definition_, layout, of_code);
  if (parameter.kind == ParameterKind::kDerived) {
    return InvalidArgumentError(
        absl::StrCat(assumes,
                     ", but the definition does not guarantee this: derive the value from a Term that does, such as "
                     "16 * CeilDiv(\"M\", 16)"));
  }
  return InvalidArgumentError(
      absl::StrCat(assumes, ", but the variant does not declare this: ",
                   declare.empty() ? "compile the code without this assumption" : "add " + declare + " to Assuming"));
}

std::optional<AssumptionCheck> DeclaredFacts::CheckOfExtent(const std::string& dim,
                                                            const CodeAssumption& of_code) const {
  AssumptionCheck check{};
  check.value = of_code.value;
  check.kind = of_code.kind == CodeAssumption::Kind::kDivisibleBy ? Assumption::Kind::kExtentDivisibleBy
                                                                  : Assumption::Kind::kExtentAtLeast;
  if (of_code.kind == CodeAssumption::Kind::kAtMost) {
    if (of_code.value < std::numeric_limits<std::int32_t>::max()) return std::nullopt;
    check.kind = Assumption::Kind::kExtentFitsInt32;
  }
  const std::vector<Parameter>& parameters = definition_.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::vector<std::string>& dims = parameters[i].dims;
    auto found = std::find(dims.begin(), dims.end(), dim);
    if (parameters[i].kind != ParameterKind::kTensor || parameters[i].by_pointers || found == dims.end()) continue;
    check.parameter = static_cast<std::uint8_t>(i);
    check.dimension = static_cast<std::uint8_t>(found - dims.begin());
    return check;
  }
  return std::nullopt;
}

std::optional<AssumptionCheck> DeclaredFacts::CheckOfCode(const ParameterLayout& layout,
                                                          const CodeAssumption& of_code) const {
  const ParameterLayout::Meaning meaning = layout.MeaningOf(of_code.parameter);
  const Parameter& parameter = definition_.parameters()[meaning.parameter];
  const bool is_divisor = of_code.kind == CodeAssumption::Kind::kDivisibleBy;
  if (is_divisor && of_code.value < 1) return std::nullopt;
  AssumptionCheck check{};
  check.parameter = static_cast<std::uint8_t>(meaning.parameter);
  check.dimension = static_cast<std::uint8_t>(meaning.dimension);
  check.value = of_code.value;
  switch (meaning.of) {
    case ParameterLayout::Meaning::Of::kAddress:
      check.kind = Assumption::Kind::kAligned;
      check.dimension = 0;
      return is_divisor && !parameter.by_pointers ? std::optional<AssumptionCheck>(check) : std::nullopt;
    case ParameterLayout::Meaning::Of::kExtent:
      return CheckOfExtent(meaning.dim, of_code);
    case ParameterLayout::Meaning::Of::kStride:
      check.kind = is_divisor ? Assumption::Kind::kStrideDivisibleBy : Assumption::Kind::kStrideNotNegative;
      return is_divisor || (of_code.kind == CodeAssumption::Kind::kAtLeast && of_code.value <= 0)
                 ? std::optional<AssumptionCheck>(check)
                 : std::nullopt;
    case ParameterLayout::Meaning::Of::kScalar:
      check.kind = is_divisor ? Assumption::Kind::kScalarDivisibleBy : Assumption::Kind::kScalarAtLeast;
      check.dtype = parameter.dtype;
      return IsWhole(parameter.dtype) && of_code.kind != CodeAssumption::Kind::kAtMost
                 ? std::optional<AssumptionCheck>(check)
                 : std::nullopt;
    case ParameterLayout::Meaning::Of::kOther:
      break;
  }
  return std::nullopt;
}

std::optional<std::int64_t> DeclaredFacts::DeclaredValue(const AssumptionCheck& check) const {
  const bool is_scalar = IsOfScalar(check.kind);
  const bool is_stride =
      check.kind == Assumption::Kind::kStrideDivisibleBy || check.kind == Assumption::Kind::kStrideNotNegative;
  if (is_stride) {
    if (std::optional<std::int64_t> dense = DenseStride(check.parameter, check.dimension)) return dense;
  }
  for (const CheckList* checks : {&declared_.others(), &declared_.extents()}) {
    for (const AssumptionCheck& known : checks->all) {
      const bool is_same = known.parameter == check.parameter && known.dimension == check.dimension;
      if (is_scalar && is_same && known.kind == Assumption::Kind::kScalarIs) {
        return WholeScalar(known.dtype, &known.value);
      }
      if (is_stride && is_same && known.kind == Assumption::Kind::kStrideIs) return known.value;
      if (is_scalar || is_stride || known.kind != Assumption::Kind::kExtentIs) continue;
      const std::vector<Parameter>& parameters = definition_.parameters();
      if (check.kind != Assumption::Kind::kAligned &&
          NameOf(definition_, known) == parameters[check.parameter].dims[check.dimension])
        return known.value;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> AssumptionTexts(const KernelDefinition& definition, const ParameterLayout& layout,
                                         const std::vector<CodeAssumption>& of_code) {
  std::vector<std::string> words;
  for (const CodeAssumption& each : of_code) {
    if (each.parameter >= layout.num_declared()) continue;
    const ParameterLayout::Meaning::Of of = layout.MeaningOf(each.parameter).of;
    const bool is_counted = of == ParameterLayout::Meaning::Of::kExtent || of == ParameterLayout::Meaning::Of::kStride;
    if (is_counted && each.kind == CodeAssumption::Kind::kAtLeast && each.value <= 0) continue;
    words.push_back(AssumptionText(definition, layout, each));
  }
  return words;
}

Status CheckProgrammaticLaunch(const Geometry& geometry, const KernelSource& source) {
  if (!geometry.programmatic_launch) return Status();
  const char* wait = "griddepcontrol.wait";
  bool waits = true;
  if (source.kind == SourceKind::kPtx) {
    waits = source.content.find(wait) != std::string::npos;
  } else if (source.kind == SourceKind::kTileIr) {
    const Result<TileIrAssumptions> read = ReadTileIrAssumptions(source.content, source.symbol);
    waits = !read.ok() || read->waits_for_previous;
    wait = "gdc_wait_tko, in cuTile grid_dependency_control_wait";
  }
  if (waits) return Status();
  return InvalidArgumentError(absl::StrCat(
      "its launches are programmatic (ProgrammaticLaunch), but its code never waits for the kernels before "
      "it (",
      wait, "): let it wait before it reads what they write, or launch it without"));
}

std::vector<CodeAssumption> AssumptionsInCode(const KernelSource& source) { return ReadAssumptionsOf(source, nullptr); }

Status CoverAssumption(const AssumptionChecks& declared, const ParameterLayout& layout, const Config& config,
                       const CodeAssumption& of_code) {
  return DeclaredFacts(declared).Cover(layout, config, of_code);
}

Status AddAssumptionsOfCode(const ParameterLayout& layout, const Config& config,
                            const std::vector<CodeAssumption>& of_code, AssumptionChecks* declared, bool* has_more) {
  *has_more = false;
  const DeclaredFacts facts(*declared);
  for (const CodeAssumption& each : of_code) {
    if (each.parameter >= layout.num_declared()) continue;  // Loading states that there are too many.
    Status covered = facts.Cover(layout, config, each);
    if (covered.ok()) continue;
    const std::optional<AssumptionCheck> check = facts.CheckOfCode(layout, each);
    if (!check) return covered;
    if (const std::optional<std::int64_t> value = facts.DeclaredValue(*check); value && !Fulfils(each, *value)) {
      return InvalidArgumentError(
          absl::StrCat(Assumes(declared->definition(), layout, each), ", but the definition declares ", *value,
                       "; change the declaration, or compile the code without this assumption"));
    }
    declared->Add(*check);
    *has_more = true;
  }
  return Status();
}

Status CheckAssumptionsOfCode(const AssumptionChecks& declared, const ParameterLayout& layout, const Config& config,
                              const KernelSource& source) {
  if (source.withheld != nullptr) return Status();
  for (const CodeAssumption& assumption : ReadAssumptionsOf(source, &layout)) {
    if (assumption.parameter >= layout.num_declared()) continue;  // CheckSource states that there are too many.
    Status covered = CoverAssumption(declared, layout, config, assumption);
    if (!covered.ok()) return source.file.empty() ? covered : covered.WithPrefix(source.file);
  }
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
