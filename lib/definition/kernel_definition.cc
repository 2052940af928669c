#include "tuneonce/kernel_definition.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/short_list.h"
#include "definition/constant_extent.h"
#include "definition/fill_bytes.h"
#include "definition/requirement_parts.h"

namespace tuneonce {
inline namespace v0 {
namespace {

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Names stand in messages, records, reports and on terminals.
Status CheckName(const char* what, const std::string& name) {
  constexpr std::size_t kMostBytes = 256;
  if (name.size() > kMostBytes) {
    return InvalidArgumentError(
        absl::StrCat(what, " has ", name.size(), " characters; at most ", kMostBytes, " are possible"));
  }
  bool is_plain = std::all_of(name.begin(), name.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
  if (is_plain) return Status();
  return InvalidArgumentError(absl::StrCat(what, " has control characters"));
}

/// Checks a tensor that is passed as a PointerTable.
Status CheckPointers(const Parameter& parameter) {
  if (!parameter.by_pointers) return Status();
  if (parameter.kind != ParameterKind::kTensor) return InvalidArgumentError("ByPointers is only for tensor parameters");
  if (parameter.dims.size() < 2) {
    return InvalidArgumentError("ByPointers needs at least two dims: the number of tensors, and a dim of the tensors");
  }
  for (const std::string& dim : parameter.varying) {
    if (ConstantExtent(dim)) {
      return InvalidArgumentError(absl::StrCat("ByPointers lets the extent '", dim, "' vary, but it is a constant"));
    }
    if (std::find(parameter.dims.begin() + 1, parameter.dims.end(), dim) != parameter.dims.end()) continue;
    return InvalidArgumentError(
        absl::StrCat("ByPointers lets the dim '", dim, "' vary, but the tensors in the table have no such dim"));
  }
  return Status();
}

/// A variant is built from source or launched by the host, and a launcher knows parameters by name.
Status CheckBuilt(const Variant& variant) {
  if (!variant.source && !variant.launcher)
    return InvalidArgumentError("the variant has neither a source function nor a launcher");
  if (!variant.launcher) return Status();
  if (variant.source)
    return InvalidArgumentError("the variant has a source function and a launcher: give only one of them");
  if (!variant.parameters.empty())
    return InvalidArgumentError("a launcher receives all parameters: leave its list of parameters empty");
  if (variant.hints)
    return InvalidArgumentError(
        "compiler hints have no effect on a launcher, which is not compiled: remove HintsBy from this variant");
  return Status();
}

}  // namespace

KernelDefinition& KernelDefinition::Parameters(std::vector<Parameter> parameters) {
  parameters_ = std::move(parameters);
  NameDims();
  return *this;
}

void KernelDefinition::NameDims() {
  if (has_dim_order_) return;
  dims_.clear();
  for (const Parameter& parameter : parameters_) {
    for (const std::string& dim : parameter.dims) {
      if (!ConstantExtent(dim) && !Contains(dims_, dim)) dims_.push_back(dim);
    }
  }
}

void KernelDefinition::CompleteVariants() {
  std::vector<std::string> declared;
  for (const Parameter& parameter : parameters_) declared.push_back(parameter.name);
  for (Variant& variant : variants_) {
    variant.geometry.Default(geometry_);
    for (const std::string& name : variant.parameters) {
      if (Contains(dims_, name) && !FindParameter(name)) parameters_.push_back(DimValue(name));
    }
  }
  if (parameters_.size() == declared.size()) return;
  // A dim that only one variant takes is not a parameter of the others.
  for (Variant& variant : variants_) {
    if (variant.parameters.empty()) variant.parameters = declared;
  }
}

Status KernelDefinition::CheckNames() const {
  TUNEONCE_RETURN_IF_ERROR(CheckName("its name", name_));
  TUNEONCE_RETURN_IF_ERROR(CheckName("its version", version_));
  for (const std::string& dim : dims_) {
    if (dim.empty()) return InvalidArgumentError("a dim has no name");
    TUNEONCE_RETURN_IF_ERROR(CheckName("a dim's name", dim));
    const auto first = static_cast<unsigned char>(dim[0]);
    if (first < 0x80 && !absl::ascii_isalpha(first) && first != '_') {
      return InvalidArgumentError("the dim '" + dim +
                                  "' is not a name: names start with a letter; a constant extent is a number, as in "
                                  "{\"N\", 4}");
    }
  }
  for (const Parameter& parameter : parameters_) {
    TUNEONCE_RETURN_IF_ERROR(CheckName("a parameter's name", parameter.name));
  }
  for (const Variant& variant : variants_) TUNEONCE_RETURN_IF_ERROR(CheckName("a variant's name", variant.name));
  return Status();
}

Status KernelDefinition::CheckParameters() const {
  if (parameters_.size() > static_cast<std::size_t>(kMaxParameters)) {
    return InvalidArgumentError(
        absl::StrCat("the kernel has ", parameters_.size(), " parameters; at most ", kMaxParameters, " are possible"));
  }
  std::set<std::string> names;
  std::set<std::string> bound_dims;
  for (const Parameter& parameter : parameters_) {
    if (parameter.name.empty()) return InvalidArgumentError("a parameter has no name");
    if (!names.insert(parameter.name).second) {
      return InvalidArgumentError(absl::StrCat("two parameters are named '", parameter.name, "'"));
    }
    if (parameter.dims.size() > kMaxRank) {
      return InvalidArgumentError(absl::StrCat("parameter '", parameter.name, "' has more than ", kMaxRank, " dims"));
    }
    bool is_output = parameter.kind == ParameterKind::kTensor && parameter.access != Access::kIn;
    if (!is_output && (parameter.may_be_partial || parameter.tolerance)) {
      return InvalidArgumentError(absl::StrCat("parameter '", parameter.name,
                                               "': ", parameter.may_be_partial ? "MayBePartial" : "Within",
                                               " is for outputs only"));
    }
    for (std::size_t d = 0; d < parameter.dims.size(); ++d) {
      const std::string& dim = parameter.dims[d];
      if (const std::optional<std::int64_t> constant = ConstantExtent(dim)) {
        if (*constant > 0) continue;
        return InvalidArgumentError(absl::StrCat("parameter '", parameter.name, "', dimension ", d,
                                                 ": the constant extent '", dim.substr(1),
                                                 "' is not a whole number of at least 1"));
      }
      if (!Contains(dims_, dim)) {
        return InvalidArgumentError(absl::StrCat("parameter '", parameter.name, "' names the dim '", dim,
                                                 "', but the kernel's dims are: ", ShortList(dims_, dim)));
      }
      bound_dims.insert(dim);
    }
    TUNEONCE_RETURN_IF_ERROR(CheckPointers(parameter).WithPrefix("parameter '" + parameter.name + "'"));
    TUNEONCE_RETURN_IF_ERROR(CheckWarmupFill(parameter, dims_).WithPrefix("parameter '" + parameter.name + "'"));
    if (parameter.kind == ParameterKind::kDim && !Contains(dims_, parameter.dim)) {
      return InvalidArgumentError(absl::StrCat("DimValue names the dim '", parameter.dim,
                                               "', but the kernel's dims are: ", ShortList(dims_, parameter.dim)));
    }
    if (parameter.kind == ParameterKind::kDim && parameter.dtype != DType::kInt32 && parameter.dtype != DType::kInt64) {
      return InvalidArgumentError(absl::StrCat("DimValue('", parameter.dim, "') must be int32 or int64"));
    }
    if (parameter.kind == ParameterKind::kDescriptor &&
        (parameter.descriptor_bytes == 0 || parameter.descriptor_bytes > kMaxDescriptorBytes)) {
      return InvalidArgumentError(absl::StrCat("descriptor '", parameter.name, "' has ", parameter.descriptor_bytes,
                                               " bytes; 1 to ", kMaxDescriptorBytes, " are possible"));
    }
  }
  for (const std::string& dim : dims_) {
    if (bound_dims.count(dim) == 0) {
      return InvalidArgumentError(
          absl::StrCat("no tensor parameter has the dim '", dim,
                       "', so its extent would never be known: declare a tensor with this dim"));
    }
  }
  return Status();
}

Status KernelDefinition::CheckStrides() const {
  for (const Parameter& parameter : parameters_) {
    if (parameter.kind != ParameterKind::kStride) continue;
    std::string what = absl::StrCat("StrideValue('", parameter.tensor, "', ", parameter.dimension, ")");
    std::optional<std::size_t> found = FindParameter(parameter.tensor);
    if (!found || parameters_[*found].dims.empty()) {
      return InvalidArgumentError(what + " names no tensor parameter with dims");
    }
    if (parameters_[*found].by_pointers) {
      return InvalidArgumentError(what +
                                  ": a tensor that is passed ByPointers is always dense and has no stride to pass");
    }
    std::size_t rank = parameters_[*found].dims.size();
    if (parameter.dimension < 0 || static_cast<std::size_t>(parameter.dimension) >= rank) {
      return InvalidArgumentError(absl::StrCat(what, ": '", parameter.tensor, "' has rank ", rank));
    }
    if (parameter.dtype != DType::kInt32 && parameter.dtype != DType::kInt64) {
      return InvalidArgumentError(what + " must be int32 or int64");
    }
  }
  return Status();
}

TermNames KernelDefinition::term_names() const {
  TermNames names;
  names.dims = dims_;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].kind != ParameterKind::kScalar) continue;
    names.scalars.push_back({parameters_[i].name, parameters_[i].dtype, static_cast<int>(i)});
  }
  return names;
}

bool KernelDefinition::IsFreeScalar(const Parameter& parameter) const {
  return parameter.kind == ParameterKind::kScalar && std::none_of(key_.begin(), key_.end(), [&](const KeyPart& part) {
           return part.kind == KeyPart::Kind::kValue && part.name == parameter.name;
         });
}

Problem KernelDefinition::DecidedByKey(const Problem& problem) const {
  Problem decided = problem;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (IsFreeScalar(parameters_[i])) decided.values[i] = nullptr;
  }
  for (Dim dim : DimsUndecidedByKey()) {
    const std::string& name = dims_[static_cast<std::size_t>(dim.index)];
    const auto part = std::find_if(key_.begin(), key_.end(), [&](const KeyPart& each) {
      return each.kind == KeyPart::Kind::kDim && each.name == name;
    });
    decided.dims[dim] = part == key_.end() ? 1 : part->Round(problem.dims[dim]);
  }
  return decided;
}

std::vector<Dim> KernelDefinition::DimsUndecidedByKey() const {
  std::vector<Dim> undecided;
  for (int i = 0; i < static_cast<int>(dims_.size()); ++i) {
    const bool is_exact = std::any_of(key_.begin(), key_.end(), [&](const KeyPart& part) {
      return part.kind == KeyPart::Kind::kDim && part.bucket == KeyPart::Bucket::kExact &&
             part.name == dims_[static_cast<std::size_t>(i)];
    });
    if (!is_exact) undecided.push_back(Dim{i});
  }
  return undecided;
}

bool KernelDefinition::KeyDecidesBaseline() const {
  std::vector<Condition> conditions = space_.ConditionsOfBaselines();
  for (const Variant& variant : variants_) {
    if (has_config_requirements_) conditions.push_back(variant.requirement);
  }
  const bool has_free_dims = !DimsUndecidedByKey().empty();
  const bool has_free_scalars = std::any_of(parameters_.begin(), parameters_.end(),
                                            [&](const Parameter& parameter) { return IsFreeScalar(parameter); });
  return std::none_of(conditions.begin(), conditions.end(), [&](const Condition& condition) {
    const ConditionReads reads = condition.reads();
    return (reads.dims && has_free_dims) || (reads.scalars && has_free_scalars);
  });
}

Status KernelDefinition::ResolveDescriptor(Parameter* parameter) const {
  if (!parameter->tensor_map) {
    return parameter->describe
               ? Status()
               : InvalidArgumentError(
                     "the function that fills the descriptor is empty: pass a function that can be called");
  }
  std::optional<std::size_t> tensor = FindParameter(parameter->tensor);
  if (!tensor || parameters_[*tensor].kind != ParameterKind::kTensor || parameters_[*tensor].dims.empty()) {
    return InvalidArgumentError("a descriptor needs a tensor with dims, but '" + parameter->tensor +
                                "' has no dims or is not a tensor");
  }
  if (parameters_[*tensor].by_pointers) {
    return InvalidArgumentError("a descriptor describes one tensor, but '" + parameter->tensor +
                                "' is passed as a table of pointers");
  }
  const std::size_t rank = parameters_[*tensor].dims.size();
  if (rank > static_cast<std::size_t>(TensorMap::kMaxRank)) {
    return InvalidArgumentError(
        absl::StrCat("'", parameter->tensor, "' has rank ", rank, "; a tensor map has at most ", TensorMap::kMaxRank));
  }
  TensorMap& map = *parameter->tensor_map;
  if (map.element_strides.empty()) map.element_strides.assign(map.box.size(), 1);
  const TermNames names = term_names();
  for (auto [terms, what, most] : {std::tuple(&map.box, "box", 256), std::tuple(&map.element_strides, "steps", 8)}) {
    if (terms->size() != rank) {
      return InvalidArgumentError(absl::StrCat("the ", what, " of the tensor map has ", terms->size(),
                                               " entries, but '", parameter->tensor, "' has rank ", rank));
    }
    for (Term& term : *terms) {
      TUNEONCE_RETURN_IF_ERROR(term.Resolve(names, /*least=*/1).WithPrefix(what));
      if (term.IsOfConfig() && (!term.IsConstant() || term.Value(Config(), Problem()) <= most)) continue;
      return InvalidArgumentError(absl::StrCat(
          "the ", what, " of the tensor map must use axes and constants of at most ", most, ", not ", term.ToString()));
    }
  }
  return Status();
}

Status KernelDefinition::ResolveTerms() {
  const TermNames names = term_names();
  for (Parameter& parameter : parameters_) {
    std::string where = "parameter '" + parameter.name + "'";
    if (parameter.kind == ParameterKind::kDescriptor) {
      TUNEONCE_RETURN_IF_ERROR(ResolveDescriptor(&parameter).WithPrefix(where));
      continue;
    }
    bool is_derived = parameter.kind == ParameterKind::kDerived;
    if (!is_derived && parameter.kind != ParameterKind::kWorkspace) continue;
    if (!parameter.term) {
      if (is_derived ? parameter.derive != nullptr : parameter.workspace_bytes != nullptr) continue;
      return InvalidArgumentError(where + ": the function is empty: pass a function that can be called");
    }
    std::int64_t least = is_derived ? std::numeric_limits<std::int64_t>::min() : 0;
    TUNEONCE_RETURN_IF_ERROR(parameter.term->Resolve(names, least).WithPrefix(where));
    if (is_derived && parameter.dtype != DType::kInt32 && parameter.dtype != DType::kInt64) {
      return InvalidArgumentError(where + ": the dtype of a term must be int32 or int64");
    }
  }
  return Status();
}

Status KernelDefinition::ResolveDTypes() {
  for (Parameter& parameter : parameters_) {
    if (parameter.same_dtype_as.empty()) continue;
    std::string what = absl::StrCat("parameter '", parameter.name, "': SameDTypeAs('", parameter.same_dtype_as, "')");
    std::optional<std::size_t> other = FindParameter(parameter.same_dtype_as);
    if (!other || parameters_[*other].kind != ParameterKind::kTensor) {
      return InvalidArgumentError(what + " names no tensor parameter");
    }
    if (!parameters_[*other].same_dtype_as.empty()) {
      return InvalidArgumentError(
          what + " names a tensor whose dtype is itself declared by SameDTypeAs: name the tensor that it refers to");
    }
    parameter.dtype = parameters_[*other].dtype;  // Where it is declared, there is nothing to compare.
  }
  return Status();
}

void KernelDefinition::CompleteKey() {
  if (!has_key_) {
    key_.clear();
    for (const std::string& dim : dims_) key_.push_back(KeyOf(dim));
  }
  for (const Parameter& parameter : parameters_) {
    if (parameter.kind != ParameterKind::kTensor || !parameter.same_dtype_as.empty()) continue;
    bool is_named = std::any_of(key_.begin(), key_.end(), [&](const KeyPart& part) {
      return part.kind == KeyPart::Kind::kDType && part.name == parameter.name;
    });
    if (!is_named) key_.push_back(DTypeOf(parameter.name));
  }
}

Status KernelDefinition::CheckKey() const {
  std::set<std::string> dims;
  for (const KeyPart& part : key_) {
    TUNEONCE_RETURN_IF_ERROR(part.Check());
    if (part.kind == KeyPart::Kind::kDim) {
      if (!dims.insert(part.name).second) {
        return InvalidArgumentError(absl::StrCat("the key names the dim '", part.name, "' twice: keep one KeyOf"));
      }
      if (!Contains(dims_, part.name)) {
        return InvalidArgumentError(absl::StrCat(
            "KeyOf('", part.name, "') names no dim; the kernel's dims are: ", ShortList(dims_, part.name)));
      }
      continue;
    }
    bool wants_tensor = part.kind == KeyPart::Kind::kDType;
    std::optional<std::size_t> found = FindParameter(part.name);
    if (!found || parameters_[*found].kind != (wants_tensor ? ParameterKind::kTensor : ParameterKind::kScalar)) {
      return InvalidArgumentError(absl::StrCat(wants_tensor ? "DTypeOf('" : "ValueOf('", part.name, "') names no ",
                                               wants_tensor ? "tensor" : "scalar", " parameter"));
    }
  }
  return Status();
}

Status KernelDefinition::ResolveTypes(Variant* variant) const {
  for (Variant::TypeMacro& type : variant->types) {
    if (type.axis) continue;
    std::optional<std::size_t> tensor = FindParameter(type.of.name);
    if (type.of.kind != KeyPart::Kind::kDType || !tensor || parameters_[*tensor].kind != ParameterKind::kTensor) {
      return InvalidArgumentError(
          absl::StrCat("DefineType('", type.macro, "') names no tensor parameter: '", type.of.name, "' is not one"));
    }
    type.parameter = static_cast<int>(*tensor);
  }
  return Status();
}

Status KernelDefinition::CheckOptionAxes() const {
  const std::vector<std::string> options = space_.OptionsThatChangeResults();
  if (options.empty() || has_tolerance_) return Status();
  for (const Parameter& parameter : parameters_) {
    bool is_output = parameter.kind == ParameterKind::kTensor && parameter.access != Access::kIn;
    if (!is_output || parameter.tolerance) continue;
    return InvalidArgumentError(absl::StrCat(
        "the option axis '", options.front(), "' may change the results of '", parameter.name,
        "': declare a tolerance (VerifyWithin or Within, in a manifest \"tolerance\"), or remove the axis"));
  }
  return Status();
}

Status KernelDefinition::Validate() {
  auto check = [&]() -> Status {
    if (name_.empty()) return InvalidArgumentError("a kernel needs a name");
    TUNEONCE_RETURN_IF_ERROR(CheckNames());
    if (dims_.size() > static_cast<std::size_t>(kMaxDims)) {
      return InvalidArgumentError(
          absl::StrCat("the kernel has ", dims_.size(), " dims; at most ", kMaxDims, " are possible"));
    }
    if (std::set<std::string>(dims_.begin(), dims_.end()).size() != dims_.size()) {
      return InvalidArgumentError("the kernel declares the same dim twice");
    }
    CompleteVariants();
    TUNEONCE_RETURN_IF_ERROR(CheckParameters());
    TUNEONCE_RETURN_IF_ERROR(CheckStrides());
    TUNEONCE_RETURN_IF_ERROR(ResolveTerms());
    TUNEONCE_RETURN_IF_ERROR(ResolveDTypes());
    CompleteKey();
    TUNEONCE_RETURN_IF_ERROR(CheckKey());
    TUNEONCE_RETURN_IF_ERROR(space_.status());
    TUNEONCE_RETURN_IF_ERROR(space_.Resolve(term_names()));
    TUNEONCE_RETURN_IF_ERROR(CheckOptionAxes());
    if (variants_.empty()) return InvalidArgumentError("the kernel has no variant: call AddVariant");
    if (variants_.size() > kMaxVariants) {
      return InvalidArgumentError(
          absl::StrCat("the kernel has ", variants_.size(), " variants; at most ", kMaxVariants, " are possible"));
    }
    for (Variant& variant : variants_) {
      TUNEONCE_RETURN_IF_ERROR(CheckBuilt(variant).WithPrefix("variant '" + variant.name + "'"));
      TUNEONCE_RETURN_IF_ERROR(ResolveTypes(&variant).WithPrefix("variant '" + variant.name + "'"));
      TUNEONCE_RETURN_IF_ERROR(variant.geometry.Resolve(term_names()).WithPrefix("variant '" + variant.name + "'"));
    }
    return ResolveRequirements();
  };
  return check().WithPrefix("kernel '" + name_ + "'");
}

Status KernelDefinition::ResolveRequirements() {
  std::map<std::string, Condition> atoms;
  has_config_requirements_ = false;
  for (Variant& variant : variants_) {
    TUNEONCE_RETURN_IF_ERROR(ResolveRequirement(&variant, &atoms).WithPrefix("variant '" + variant.name + "'"));
  }
  if (variants_.size() + atoms.size() > kMaxVariants) {
    return InvalidArgumentError(
        absl::StrCat("the requirements of the variants have ", atoms.size(), " different parts that decide keys (",
                     atoms.begin()->first, ", ...); at most ", kMaxVariants, " less the number of variants (",
                     variants_.size(), ") are possible: let the requirements depend on fewer values of axes"));
  }
  requirement_atoms_.clear();
  for (auto& [text, atom] : atoms) requirement_atoms_.push_back(std::move(atom));
  return Status();
}

Status KernelDefinition::ResolveRequirement(Variant* variant, std::map<std::string, Condition>* atoms) {
  TUNEONCE_RETURN_IF_ERROR(space_.Bind(&variant->requirement).WithPrefix("the requirement"));
  TUNEONCE_RETURN_IF_ERROR(variant->requirement.Resolve(term_names()).WithPrefix("the requirement"));
  for (const Condition& part : variant->requirement.Conjuncts()) {
    const ConditionReads reads = part.reads();
    if (reads.assumptions && (reads.function || reads.target)) {
      return InvalidArgumentError("the requirement '" + part.ToString() +
                                  "' combines assumptions with a function or the device: combine them by && only, or "
                                  "use several variants with ForTarget");
    }
    const RequirementUse use = UseOf(reads);
    has_config_requirements_ |= use != RequirementUse::kOfVariant;
    if (use != RequirementUse::kOfKey) continue;
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<Condition> folded, space_.Folded(part));
    for (const Condition& each : folded) {
      for (Condition& atom : each.Conjuncts()) {
        if (!atom.IsConstant()) atoms->emplace(atom.ToString(), std::move(atom));
      }
    }
  }
  return Status();
}

Result<std::vector<const Variant*>> KernelDefinition::VariantsFor(const Target& target) const {
  std::vector<const Variant*> running;
  for (const Variant& variant : variants_) {
    if (variant.runs_on.HoldsOn(target)) running.push_back(&variant);
  }
  if (!running.empty()) return running;
  return UnimplementedError(absl::StrCat("kernel '", name_, "' has no variant for ", target.name(),
                                         "; it has: ", ShortListOf(variants_, &Variant::name)));
}

Dim KernelDefinition::DimOf(const std::string& name) const {
  return Dim{static_cast<int>(std::find(dims_.begin(), dims_.end(), name) - dims_.begin())};
}

std::optional<std::size_t> KernelDefinition::FindParameter(const std::string& name) const {
  auto it = std::find_if(parameters_.begin(), parameters_.end(), [&](const Parameter& p) { return p.name == name; });
  if (it == parameters_.end()) return std::nullopt;
  return static_cast<std::size_t>(it - parameters_.begin());
}

std::string KernelDefinition::DimsString(const Dims& dims) const {
  std::string text;
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", dims_[i], "=", dims[Dim{static_cast<int>(i)}]);
  }
  return text;
}

}  // namespace v0
}  // namespace tuneonce
