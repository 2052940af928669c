#include "launch/parameter_block.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "definition/constant_extent.h"
#include "launch/tensor_map.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Global scratch and profile scratch.
constexpr int kTritonHidden = 2;

}  // namespace

Result<ParameterLayout> ParameterLayout::Create(const KernelDefinition& definition, CallingConvention convention,
                                                const std::vector<std::string>& names) {
  ParameterLayout layout(definition, convention);
  if (names.size() > static_cast<std::size_t>(kMaxKernelParameters)) {
    return InvalidArgumentError(absl::StrCat("kernel '", definition.name(), "' takes ", names.size(),
                                             " parameters; at most ", kMaxKernelParameters, " are possible"));
  }
  for (std::size_t i = 0; names.empty() && i < definition.parameters().size(); ++i) layout.Add(i);
  for (const std::string& name : names) {
    std::optional<std::size_t> index = definition.FindParameter(name);
    if (!index) {
      return InvalidArgumentError(absl::StrCat("kernel '", definition.name(), "' has no parameter '", name, "'"));
    }
    layout.Add(*index);
  }
  for (const SpreadTensor& spread : layout.spread_tensors_) {
    const Parameter& parameter = definition.parameters()[spread.parameter];
    if (!parameter.by_pointers) continue;
    return InvalidArgumentError(absl::StrCat(
        "kernel '", definition.name(), "', parameter '", parameter.name,
        "': cuTile's calling convention cannot pass a table of pointers: use the plain convention for such a kernel"));
  }
  for (const StrideArgument& stride : layout.stride_arguments_) {
    for (Bare& bare : layout.bare_tensors_) {
      if (bare.parameter == stride.parameter) bare.strides_taken |= static_cast<std::uint8_t>(1u << stride.dimension);
    }
  }
  if (convention == CallingConvention::kTriton) layout.num_hidden_ = kTritonHidden;
  layout.has_rare_ = layout.num_hidden_ > 0 || !layout.stride_arguments_.empty();
  auto num_descriptors = std::count_if(layout.computed_.begin(), layout.computed_.end(), [&](Single computed) {
    return definition.parameters()[computed.parameter].kind == ParameterKind::kDescriptor;
  });
  if (layout.num_parameters() > static_cast<std::size_t>(kMaxKernelParameters) || num_descriptors > kMaxDescriptors) {
    return InvalidArgumentError(absl::StrCat("kernel '", definition.name(), "' has ", layout.num_parameters(),
                                             " kernel parameters and ", num_descriptors, " descriptors; at most ",
                                             kMaxKernelParameters, " and ", kMaxDescriptors, " are possible"));
  }
  return layout;
}

void ParameterLayout::AddNarrowedDim(Dim dim) {
  for (std::size_t i = 0; i < definition_->parameters().size(); ++i) {
    const std::vector<std::string>& dims = definition_->parameters()[i].dims;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (ConstantExtent(dims[d]) || definition_->DimOf(dims[d]).index != dim.index) continue;
      Narrowed extent{static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(d), false};
      bool is_known = std::any_of(narrowed_.begin(), narrowed_.end(), [&](const Narrowed& known) {
        return !known.is_stride && known.parameter == extent.parameter && known.dimension == extent.dimension;
      });
      if (!is_known) narrowed_.push_back(extent);
      return;
    }
  }
}

void ParameterLayout::Add(std::size_t index) {
  const Parameter& parameter = definition_->parameters()[index];
  const auto to = static_cast<std::uint8_t>(sizes_.size());
  const auto from = static_cast<std::uint8_t>(index);
  std::size_t bytes = DTypeBytes(parameter.dtype);
  switch (parameter.kind) {
    case ParameterKind::kTensor:
      AddTensor(index);
      return;
    case ParameterKind::kScalar:
      plain_arguments_.push_back(Single{to, from});
      break;
    case ParameterKind::kDim: {
      Dim dim = definition_->DimOf(parameter.dim);
      dim_arguments_.push_back(DimArgument{to, static_cast<std::uint8_t>(dim.index)});
      if (bytes < sizeof(std::int64_t)) AddNarrowedDim(dim);
      break;
    }
    case ParameterKind::kStride:
      AddStride(index);
      break;
    case ParameterKind::kDerived:
      computed_.push_back(Single{to, from});
      break;
    case ParameterKind::kWorkspace:
      bytes = sizeof(void*);
      ++num_workspaces_;
      computed_.push_back(Single{to, from});
      break;
    case ParameterKind::kDescriptor:
      bytes = parameter.descriptor_bytes;
      if (parameter.tensor_map) {
        tensor_maps_.push_back(static_cast<std::uint8_t>(*definition_->FindParameter(parameter.tensor)));
        map_parameters_.push_back(from);
      }
      computed_.push_back(Single{to, from});
      break;
  }
  sizes_.push_back(Size{from, static_cast<std::uint8_t>(bytes)});
}

void ParameterLayout::AddTensor(std::size_t index) {
  const Parameter& parameter = definition_->parameters()[index];
  const auto to = static_cast<std::uint8_t>(sizes_.size());
  const auto from = static_cast<std::uint8_t>(index);
  sizes_.push_back(Size{from, sizeof(void*)});
  if (convention_ != CallingConvention::kCutilePython) {
    plain_arguments_.push_back(Single{to, from});
    if (!parameter.dims.empty()) bare_tensors_.push_back(Bare{from, 0});
    return;
  }
  spread_tensors_.push_back(SpreadTensor{to, from, static_cast<std::uint8_t>(parameter.dims.size())});
  for (std::size_t d = 0; d < parameter.dims.size(); ++d) {
    const auto dimension = static_cast<std::uint8_t>(d);
    if (ConstantExtent(parameter.dims[d])) {
      narrowed_.push_back(Narrowed{from, dimension, false});
    } else {
      AddNarrowedDim(definition_->DimOf(parameter.dims[d]));
    }
    narrowed_.push_back(Narrowed{from, dimension, true});
  }
  sizes_.insert(sizes_.end(), 2 * parameter.dims.size(), Size{from, sizeof(std::int32_t)});
}

void ParameterLayout::AddStride(std::size_t index) {
  const Parameter& parameter = definition_->parameters()[index];
  const auto tensor = static_cast<std::uint8_t>(*definition_->FindParameter(parameter.tensor));
  const auto dimension = static_cast<std::uint8_t>(parameter.dimension);
  stride_arguments_.push_back(StrideArgument{static_cast<std::uint8_t>(sizes_.size()), tensor, dimension});
  if (DTypeBytes(parameter.dtype) < sizeof(std::int64_t)) narrowed_.push_back(Narrowed{tensor, dimension, true});
}

ParameterLayout::Meaning ParameterLayout::MeaningOf(std::size_t at) const {
  const std::size_t index = sizes_[at].parameter;
  const Parameter& parameter = definition_->parameters()[index];
  switch (parameter.kind) {
    case ParameterKind::kTensor: {
      auto spread = std::find_if(spread_tensors_.begin(), spread_tensors_.end(), [&](SpreadTensor tensor) {
        return tensor.to < at && at <= tensor.to + 2u * tensor.rank;
      });
      if (spread == spread_tensors_.end()) return Meaning{Meaning::Of::kAddress, index, 0, ""};
      const std::size_t nth = at - spread->to - 1;
      if (nth >= spread->rank) return Meaning{Meaning::Of::kStride, index, nth - spread->rank, ""};
      return Meaning{Meaning::Of::kExtent, index, nth, parameter.dims[nth]};
    }
    case ParameterKind::kDim:
      return Meaning{Meaning::Of::kExtent, index, 0, parameter.dim};
    case ParameterKind::kStride:
      return Meaning{Meaning::Of::kStride, *definition_->FindParameter(parameter.tensor),
                     static_cast<std::size_t>(parameter.dimension), ""};
    case ParameterKind::kScalar:
      return Meaning{Meaning::Of::kScalar, index, 0, ""};
    case ParameterKind::kDerived:
    case ParameterKind::kWorkspace:
    case ParameterKind::kDescriptor:
      break;
  }
  return Meaning{Meaning::Of::kOther, index, 0, ""};
}

std::optional<std::size_t> ParameterLayout::RankOfSpreadTensor(std::size_t at) const {
  auto spread = std::find_if(spread_tensors_.begin(), spread_tensors_.end(),
                             [&](SpreadTensor tensor) { return tensor.to == at; });
  return spread == spread_tensors_.end() ? std::nullopt : std::optional<std::size_t>(spread->rank);
}

std::string ParameterLayout::Describe(std::size_t at) const {
  const Parameter& parameter = definition_->parameters()[sizes_[at].parameter];
  auto spread = std::find_if(spread_tensors_.begin(), spread_tensors_.end(),
                             [&](SpreadTensor tensor) { return tensor.to < at && at <= tensor.to + 2u * tensor.rank; });
  if (spread == spread_tensors_.end()) return parameter.name;
  std::size_t nth = at - spread->to - 1;
  return absl::StrCat(nth < spread->rank ? "extent " : "stride ", nth % spread->rank, " of ", parameter.name);
}

std::string ParameterLayout::DescribeAll() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < sizes_.size(); ++i) names.push_back(Describe(i));
  return absl::StrJoin(names, ", ");
}

Status ParameterLayout::CheckCount(std::size_t count, bool may_hide) const {
  // An older Triton's kernel has none or one of the hidden pointers, and takes no harm from more.
  if (count >= sizes_.size() && (count <= num_parameters() || may_hide)) return Status();
  return InvalidArgumentError(absl::StrCat("kernel '", definition_->name(), "' is declared with ", num_parameters(),
                                           " parameters, but its code has ", count, "; declared are: ", DescribeAll(),
                                           num_hidden_ > 0 ? ", and Triton's scratch pointers" : ""));
}

Status ParameterLayout::CheckAgainst(const std::vector<std::size_t>& kernel_sizes, bool may_hide) const {
  TUNEONCE_RETURN_IF_ERROR(CheckCount(kernel_sizes.size(), may_hide));
  auto check = [&](std::size_t at, std::size_t bytes, const std::string& what) -> Status {
    if (kernel_sizes[at] == bytes || kernel_sizes[at] == 0) return Status();
    return InvalidArgumentError(absl::StrCat("kernel '", definition_->name(), "', parameter '", what, "' (", at + 1,
                                             " of ", kernel_sizes.size(), " in the code): declared with ", bytes,
                                             " bytes, but the code has ", kernel_sizes[at]));
  };
  for (std::size_t i = 0; i < sizes_.size(); ++i) TUNEONCE_RETURN_IF_ERROR(check(i, sizes_[i].bytes, Describe(i)));
  // The additional parameters are null pointers, which would be zeros for a number.
  for (std::size_t i = sizes_.size(); i < std::min(kernel_sizes.size(), num_parameters()); ++i) {
    TUNEONCE_RETURN_IF_ERROR(check(i, sizeof(void*), "(Triton's scratch pointer)"));
  }
  return Status();
}

std::optional<std::size_t> ParameterLayout::FindDeclared(const std::string& name) const {
  if (std::optional<std::size_t> exact = definition_->FindParameter(name)) return exact;
  const std::vector<Parameter>& parameters = definition_->parameters();
  auto it = std::find_if(parameters.begin(), parameters.end(),
                         [&](const Parameter& p) { return absl::EqualsIgnoreCase(p.name, name); });
  if (it == parameters.end()) return std::nullopt;
  return static_cast<std::size_t>(it - parameters.begin());
}

Status ParameterLayout::CheckNames(const std::vector<std::string>& kernel_names) const {
  TUNEONCE_RETURN_IF_ERROR(CheckCount(kernel_names.size(), /*may_hide=*/false));
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    bool is_part = Describe(i) != definition_->parameters()[sizes_[i].parameter].name;  // An extent, a stride.
    std::optional<std::size_t> meant = kernel_names[i].empty() ? std::nullopt : FindDeclared(kernel_names[i]);
    if (!meant || is_part || *meant == sizes_[i].parameter) continue;
    const Parameter& passed = definition_->parameters()[sizes_[i].parameter];
    if (passed.tensor_map && definition_->parameters()[*meant].name == passed.tensor)
      continue;  // A map may have its name.
    return InvalidArgumentError(absl::StrCat(
        "kernel '", definition_->name(), "' takes (", absl::StrJoin(kernel_names, ", "), "), but is declared with (",
        DescribeAll(), "): its parameter ", i + 1, " is '", kernel_names[i], "', but gets '", Describe(i), "'"));
  }
  return Status();
}

Status ParameterLayout::Fill(const BoundCall& call, const Config& config, const std::uint64_t* workspaces,
                             ParameterBlock* block, const TensorMaps* maps) const {
  const std::vector<Parameter>& parameters = definition_->parameters();
  for (const Narrowed& narrowed : narrowed_) {
    if (narrowed.FitsIn(call)) continue;
    return InvalidArgumentError(absl::StrCat("kernel '", definition_->name(), "', parameter '",
                                             parameters[narrowed.parameter].name, "': ", narrowed.ValueIn(call),
                                             " does not fit the kernel's int32"));
  }
  FillPointers(call, block->pointers());
  std::size_t nth_map = 0;
  for (Single computed : computed_) {
    const Parameter& parameter = parameters[computed.parameter];
    if (parameter.kind == ParameterKind::kDerived) {
      TUNEONCE_ASSIGN_OR_RETURN(std::uint64_t word, DerivedWord(parameter, config, call.problem));
      block->SetWord(computed.to, word);
    } else if (parameter.kind == ParameterKind::kWorkspace) {
      block->SetPointer(computed.to, workspaces++);
    } else {
      TUNEONCE_RETURN_IF_ERROR(
          FillDescriptor(parameter, nth_map, call, config, maps, block->SetDescriptor(computed.to)));
      nth_map += parameter.tensor_map ? 1 : 0;
    }
  }
  return Status();
}

Status ParameterLayout::FillDescriptor(const Parameter& parameter, std::size_t nth_map, const BoundCall& call,
                                       const Config& config, const TensorMaps* maps, void* bytes) const {
  const std::vector<Parameter>& parameters = definition_->parameters();
  if (!parameter.tensor_map) {
    std::array<const TensorView*, kMaxParameters> tensors;
    for (std::size_t i = 0; i < parameters.size(); ++i) tensors[i] = call.FindTensor(parameters, i);
    return parameter.describe(config, call.problem, tensors.data(), bytes);
  }
  const TensorView& tensor = call.tensor(tensor_maps_[nth_map]);
  if (maps == nullptr)
    return InternalError("tensor map '" + parameter.name + "': no driver is loaded that could encode it");
  if (maps->cache != nullptr && maps->cache->Find(nth_map, tensor, bytes)) return Status();
  Status encoded = EncodeTensorMap(*maps->api, tensor, *parameter.tensor_map, config, static_cast<CUtensorMap*>(bytes));
  if (!encoded.ok()) {
    return encoded.WithPrefix("kernel '" + definition_->name() + "', tensor map '" + parameter.name + "' of '" +
                              parameter.tensor + "'");
  }
  if (maps->cache != nullptr) maps->cache->Put(nth_map, tensor, bytes);
  return Status();
}

Result<std::uint64_t> ParameterLayout::DerivedWord(const Parameter& parameter, const Config& config,
                                                   const Problem& problem) const {
  if (!parameter.term) return parameter.derive(config, problem);
  std::int64_t value = parameter.term->Value(config, problem);
  bool fits = value != Term::kNoValue && (parameter.dtype != DType::kInt32 || Narrowed::Fits(value));
  if (fits) return static_cast<std::uint64_t>(value);
  std::string where = "kernel '" + definition_->name() + "', parameter '" + parameter.name + "'";
  TUNEONCE_RETURN_IF_ERROR(parameter.term->Evaluate(config, problem).status().WithPrefix(where));
  return InvalidArgumentError(
      absl::StrCat(where, ": ", parameter.term->ToString(config, problem), " is ", value, ", which is not an int32"));
}

Status ParameterLayout::CheckDerived(const Config& config, const Problem& problem) const {
  for (Single computed : computed_) {
    const Parameter& parameter = definition_->parameters()[computed.parameter];
    if (parameter.kind != ParameterKind::kDerived) continue;
    TUNEONCE_RETURN_IF_ERROR(DerivedWord(parameter, config, problem).status());
  }
  return Status();
}

Result<std::vector<std::size_t>> ParameterLayout::WorkspaceBytes(const Config& config, const Problem& problem) const {
  std::vector<std::size_t> bytes;
  for (Single computed : computed_) {
    const Parameter& parameter = definition_->parameters()[computed.parameter];
    if (parameter.kind != ParameterKind::kWorkspace) continue;
    if (!parameter.term) {
      bytes.push_back(parameter.workspace_bytes(config, problem));
      continue;
    }
    std::int64_t size = parameter.term->Value(config, problem);
    if (size < 0) {
      std::string where = "kernel '" + definition_->name() + "', parameter '" + parameter.name + "'";
      TUNEONCE_RETURN_IF_ERROR(parameter.term->Evaluate(config, problem).status().WithPrefix(where));
      return InvalidArgumentError(absl::StrCat(where, ": a workspace of ", size, " bytes"));
    }
    bytes.push_back(static_cast<std::size_t>(size));
  }
  return bytes;
}

}  // namespace v0
}  // namespace tuneonce
