#include "search/trial_description.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "launch/parameter_block.h"
#include "tuneonce/geometry.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Described = TrialDescription::Parameter;

const std::vector<std::string>& TakenBy(const Candidate& candidate) {
  static const std::vector<std::string> kAll;
  return candidate.variant == nullptr ? kAll : candidate.variant->parameters;
}

bool Takes(const Candidate& candidate, const std::string& name) {
  const std::vector<std::string>& taken = TakenBy(candidate);
  return taken.empty() || std::find(taken.begin(), taken.end(), name) != taken.end();
}

Result<std::vector<std::int64_t>> ValuesOf(const std::vector<Term>& terms, const Config& config) {
  std::vector<std::int64_t> values;
  for (const Term& term : terms) {
    TUNEONCE_ASSIGN_OR_RETURN(std::int64_t value, term.Evaluate(config, Problem()));
    values.push_back(value);
  }
  return values;
}

Result<TrialDescription::Map> MapOf(const TensorMap& map, const Config& config) {
  TrialDescription::Map described;
  TUNEONCE_ASSIGN_OR_RETURN(described.box, ValuesOf(map.box, config));
  TUNEONCE_ASSIGN_OR_RETURN(described.element_strides, ValuesOf(map.element_strides, config));
  CopyModes(map, &described);
  return described;
}

/// All of a parameter but the sizes of workspaces.
Result<Described> Describe(const Candidate& candidate, const ParameterLayout& layout, std::size_t index) {
  const Parameter& parameter = candidate.definition->parameters()[index];
  const Problem& problem = candidate.call.problem;
  Described described;
  CopyDeclaration(parameter, &described);
  if (parameter.kind == ParameterKind::kTensor) {
    described.argument = TrialDescription::Tensor::Of(candidate.call.tensor(index));
    if (parameter.access != Access::kIn) {
      const Tolerance within = candidate.definition->ToleranceOf(parameter, described.argument->dtype);
      described.tolerance = {within.absolute, within.relative, within.ulps};
    }
  } else if (parameter.kind == ParameterKind::kScalar) {
    std::memcpy(&described.word, problem.values[index], DTypeBytes(problem.dtypes[index]));
  } else if (parameter.kind == ParameterKind::kDerived && Takes(candidate, parameter.name)) {
    TUNEONCE_ASSIGN_OR_RETURN(described.word, CallUser("a derived parameter's function", [&] {
                                return layout.DerivedWord(parameter, candidate.config, problem);
                              }));
  } else if (parameter.kind == ParameterKind::kDescriptor && parameter.tensor_map) {
    TUNEONCE_ASSIGN_OR_RETURN(described.map, MapOf(*parameter.tensor_map, candidate.config));
  }
  return described;
}

/// Sizes of the workspaces that the kernel takes.
Status AddWorkspaces(const Candidate& candidate, const ParameterLayout& layout, std::vector<Described>* parameters) {
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::size_t> bytes, CallUser("a workspace function", [&] {
                              return layout.WorkspaceBytes(candidate.config, candidate.call.problem);
                            }));
  std::vector<std::string> names = TakenBy(candidate);
  if (names.empty()) {
    for (const Described& parameter : *parameters) names.push_back(parameter.name);
  }
  auto next = bytes.begin();
  for (const std::string& name : names) {
    auto found = std::find_if(parameters->begin(), parameters->end(),
                              [&](const Described& parameter) { return parameter.name == name; });
    if (found->kind == ParameterKind::kWorkspace) found->word = *next++;
  }
  return Status();
}

std::vector<std::int64_t> NumbersOf(const Geometry& geometry) {
  return {geometry.grid.x,  geometry.grid.y,    geometry.grid.z,    geometry.block.x,   geometry.block.y,
          geometry.block.z, geometry.cluster.x, geometry.cluster.y, geometry.cluster.z, geometry.shared_memory_bytes};
}

/// True if a derived value would differ with tensors at other addresses.
bool ReadsAddresses(const Candidate& candidate, const Parameter& parameter, const ParameterLayout& layout) {
  const std::vector<Parameter>& parameters = candidate.definition->parameters();
  BoundCall elsewhere = candidate.call;
  std::vector<TensorView> moved(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].kind != ParameterKind::kTensor) continue;
    moved[i] = candidate.call.tensor(i);
    constexpr std::uintptr_t kStep = 0x123456700;  // Keeps the known alignment of the address and nothing else.
    moved[i].data = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(moved[i].data) + kStep * (i + 1));
    elsewhere.problem.values[i] = &moved[i];
  }
  auto word_of = [&](const BoundCall& call) {
    return CallUser("a derived parameter's function",
                    [&] { return layout.DerivedWord(parameter, candidate.config, call.problem); });
  };
  Result<std::uint64_t> here = word_of(candidate.call);
  Result<std::uint64_t> there = word_of(elsewhere);
  return here.ok() && there.ok() && *here != *there;
}

std::vector<Term> TermsOf(const std::vector<std::int64_t>& values) { return {values.begin(), values.end()}; }

/// The parameter with constants in place of functions.
Parameter Constant(const Described& described) {
  Parameter parameter;
  CopyDeclaration(described, &parameter);
  if (described.tolerance) {
    const auto [absolute, relative, ulps] = *described.tolerance;
    parameter.tolerance = Tolerance{absolute, relative, ulps};
  }
  const std::uint64_t word = described.word;
  if (described.kind == ParameterKind::kDerived) {
    parameter.derive = [word](const Config&, const Problem&) { return word; };
  } else if (described.kind == ParameterKind::kWorkspace) {
    parameter.workspace_bytes = [word](const Config&, const Problem&) { return static_cast<std::size_t>(word); };
  } else if (described.kind == ParameterKind::kDescriptor && described.map) {
    TensorMap map;
    map.box = TermsOf(described.map->box);
    map.element_strides = TermsOf(described.map->element_strides);
    CopyModes(*described.map, &map);
    parameter.tensor_map = std::move(map);
  } else if (described.kind == ParameterKind::kDescriptor) {
    parameter.describe = [](const Config&, const Problem&, const TensorView* const*, void*) {
      return InternalError("the kernel has no descriptor of the requested index");
    };
  }
  if (described.kind == ParameterKind::kDescriptor) parameter.descriptor_bytes = kMaxDescriptorBytes;
  return parameter;
}

Result<Geometry> GeometryOf(const TrialDescription& description) {
  const std::vector<std::int64_t>& n = description.geometry;
  if (n.size() != 10) return InvalidArgumentError("a geometry must have ten numbers");
  Geometry geometry;
  geometry.grid = Dim3{n[0], n[1], n[2]};
  geometry.block = Dim3{n[3], n[4], n[5]};
  geometry.cluster = Dim3{n[6], n[7], n[8]};
  geometry.shared_memory_bytes = n[9];
  geometry.programmatic_launch = description.programmatic_launch;
  TUNEONCE_RETURN_IF_ERROR(geometry.Check());
  return geometry;
}

}  // namespace

TrialDescription::Tensor TrialDescription::Tensor::Of(const TensorView& view) {
  Tensor tensor;
  tensor.address = reinterpret_cast<std::uintptr_t>(view.data);
  tensor.dtype = view.dtype;
  tensor.shape.assign(view.shape.begin(), view.shape.begin() + view.rank);
  tensor.strides.assign(view.strides.begin(), view.strides.begin() + view.rank);
  tensor.bytes = view.bytes;
  return tensor;
}

Result<TrialDescription> TrialDescription::Of(const Candidate& candidate) {
  const KernelDefinition& definition = *candidate.definition;
  TrialDescription description;
  description.kernel = definition.name();
  description.config = candidate.config.Canonical();
  description.variant = candidate.variant_name();
  description.has_variant = candidate.variant != nullptr;
  description.convention = candidate.convention;
  description.source_kind = candidate.source.kind();
  description.geometry = NumbersOf(candidate.geometry);
  description.programmatic_launch = candidate.geometry.programmatic_launch;
  description.image = candidate.artifact.image;
  description.symbol = candidate.artifact.symbol;
  description.is_unordered = definition.is_unordered();
  description.taken = TakenBy(candidate);
  description.dims = definition.dims();
  const Dims& dims = candidate.call.problem.dims;
  for (int i = 0; i < static_cast<int>(definition.dims().size()); ++i) description.dim_values.push_back(dims[Dim{i}]);
  TUNEONCE_ASSIGN_OR_RETURN(ParameterLayout layout, LayoutOf(candidate));
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    TUNEONCE_ASSIGN_OR_RETURN(Parameter parameter, Describe(candidate, layout, i));
    description.parameters.push_back(std::move(parameter));
  }
  TUNEONCE_RETURN_IF_ERROR(AddWorkspaces(candidate, layout, &description.parameters));
  return description;
}

std::string WhyNotIsolated(const Candidate& candidate) {
  if (candidate.is_callable()) {
    return "variant '" + candidate.variant_name() + "' is launched by a function, which a worker process cannot call";
  }
  Result<ParameterLayout> layout = LayoutOf(candidate);
  if (!layout.ok()) return "";
  const std::vector<Parameter>& parameters = candidate.definition->parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    const TensorView* tensor = candidate.call.FindTensor(parameters, i);
    if (parameter.by_pointers) {
      return "'" + parameter.name + "' is a table of pointers, which are not valid in a worker process";
    }
    if (tensor != nullptr && tensor->data != nullptr && tensor->bytes == 0 && tensor->HasElements()) {
      return "the size of '" + parameter.name + "' is not known: pass {pointer, bytes}";
    }
    if (!Takes(candidate, parameter.name)) continue;
    if (parameter.kind == ParameterKind::kDescriptor && !parameter.tensor_map) {
      return "descriptor '" + parameter.name + "' is filled by a function, which a worker process cannot call";
    }
    if (parameter.kind == ParameterKind::kDerived && !parameter.term && ReadsAddresses(candidate, parameter, *layout)) {
      return "parameter '" + parameter.name +
             "' is computed from the tensors' addresses, which differ in a worker process";
    }
  }
  return "";
}

TensorView TrialDescription::Tensor::View() const {
  TensorView view;
  view.data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  view.dtype = dtype;
  view.rank = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), view.shape.begin());
  std::copy(strides.begin(), strides.end(), view.strides.begin());
  view.bytes = static_cast<std::size_t>(bytes);
  return view;
}

Status DescribedTrial::BindArguments(const TrialDescription& description, const Target& target) {
  const std::size_t count = description.parameters.size();
  BoundCall& call = candidate_.call;
  target_ = target;
  call.problem.target = &target_;
  call.problem.dims.Reset(static_cast<int>(description.dims.size()));
  for (std::size_t i = 0; i < description.dims.size(); ++i) {
    call.problem.dims[Dim{static_cast<int>(i)}] = description.dim_values[i];
  }
  tensors_.resize(count);
  words_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Described& parameter = description.parameters[i];
    call.ResetParameter(i);
    if (parameter.kind == ParameterKind::kTensor) {
      if (!parameter.argument || parameter.argument->shape.size() > kMaxRank ||
          parameter.argument->shape.size() != parameter.argument->strides.size() ||
          (!parameter.dims.empty() && parameter.dims.size() != parameter.argument->shape.size())) {
        return InvalidArgumentError("tensor '" + parameter.name + "' has no such shape");
      }
      tensors_[i] = parameter.argument->View();
      call.problem.values[i] = &tensors_[i];
      call.problem.dtypes[i] = tensors_[i].dtype;
    } else if (parameter.kind == ParameterKind::kScalar) {
      words_[i] = parameter.word;
      call.problem.values[i] = &words_[i];
      call.problem.dtypes[i] = parameter.dtype;
    }
  }
  return Status();
}

Result<std::unique_ptr<DescribedTrial>> DescribedTrial::Create(TrialDescription description, const Target& target) {
  if (description.dims.size() != description.dim_values.size() ||
      description.dims.size() > static_cast<std::size_t>(kMaxDims) ||
      description.parameters.size() > static_cast<std::size_t>(kMaxParameters)) {
    return InvalidArgumentError("the trial has more dims or parameters than a kernel can have");
  }
  std::unique_ptr<DescribedTrial> trial(new DescribedTrial);
  Candidate& candidate = trial->candidate_;
  KernelDefinition definition(description.kernel);
  std::vector<Parameter> parameters;
  for (const Described& parameter : description.parameters) parameters.push_back(Constant(parameter));
  // The code is compiled already, so its source is empty.
  Variant variant([](const Config&) { return KernelSource(); });
  variant.Named(description.variant).Convention(description.convention).KernelArgs(description.taken);
  TUNEONCE_ASSIGN_OR_RETURN(Geometry geometry, GeometryOf(description));
  variant.Grid([geometry](const Config&, const Problem&) { return geometry; });
  definition.DimsInOrder(description.dims).Parameters(std::move(parameters)).AddVariant(std::move(variant));
  if (description.is_unordered) definition.Unordered();
  TUNEONCE_RETURN_IF_ERROR(definition.Validate());
  if (definition.parameters().size() != description.parameters.size()) {
    return InvalidArgumentError("the trial's description is inconsistent: the kernel's arguments include the dim '" +
                                definition.parameters().back().name + "', which is not among the described parameters");
  }
  candidate.definition = std::make_shared<const KernelDefinition>(std::move(definition));
  if (description.has_variant) candidate.variant = &candidate.definition->variants().front();
  TUNEONCE_ASSIGN_OR_RETURN(candidate.config, Config::FromCanonical(description.config));
  candidate.convention = description.convention;
  KernelSource source;
  source.kind = description.source_kind;
  source.withheld = std::make_shared<const Fingerprint>();  // Its text stayed at home, and was checked there.
  candidate.source = std::move(source);
  candidate.geometry = geometry;
  candidate.artifact.image = std::move(description.image);
  candidate.artifact.symbol = std::move(description.symbol);
  TUNEONCE_RETURN_IF_ERROR(trial->BindArguments(description, target));
  return trial;
}

}  // namespace v0
}  // namespace tuneonce
