// DescribedTrial: what a worker makes of a TrialDescription.
#include <algorithm>
#include <utility>

#include "search/trial_description.h"
#include "tuneonce/geometry.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Described = TrialDescription::Parameter;

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
  call.problem.target = target;
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
  candidate.source.kind = description.source_kind;
  candidate.source.withheld = std::make_shared<const Fingerprint>();  // Its text stayed at home, and was checked there.
  candidate.geometry = geometry;
  candidate.artifact.image = std::move(description.image);
  candidate.artifact.symbol = std::move(description.symbol);
  TUNEONCE_RETURN_IF_ERROR(trial->BindArguments(description, target));
  return trial;
}

}  // namespace v0
}  // namespace tuneonce
