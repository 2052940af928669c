#include "tuneonce/kernel/parameter_block.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tuneonce {
namespace {

/// Global scratch and profile scratch.
constexpr int kTritonHidden = 2;

}  // namespace

Result<ParameterLayout> ParameterLayout::Create(const KernelDefinition& definition, CallingConvention convention,
                                                const std::vector<std::string>& names) {
  ParameterLayout layout(definition, convention);
  for (std::size_t i = 0; names.empty() && i < definition.parameters().size(); ++i) layout.Add(i);
  for (const std::string& name : names) {
    std::optional<std::size_t> index = definition.FindParameter(name);
    if (!index) {
      return InvalidArgumentError(absl::StrCat("kernel '", definition.name(), "' has no parameter '", name, "'"));
    }
    layout.Add(*index);
  }
  if (convention == CallingConvention::kTriton) {
    for (int i = 0; i < kTritonHidden; ++i) layout.entries_.push_back(Entry{Kind::kNull, 0, 0, 8});
  }
  auto num_descriptors = std::count_if(layout.entries_.begin(), layout.entries_.end(),
                                       [](const Entry& entry) { return entry.kind == Kind::kDescriptor; });
  if (layout.entries_.size() > static_cast<std::size_t>(kMaxKernelParameters) || num_descriptors > kMaxDescriptors) {
    return InvalidArgumentError(absl::StrCat("kernel '", definition.name(), "' has ", layout.entries_.size(),
                                             " kernel parameters and ", num_descriptors, " descriptors; at most ",
                                             kMaxKernelParameters, " and ", kMaxDescriptors, " are possible"));
  }
  return layout;
}

void ParameterLayout::Add(std::size_t index) {
  const Parameter& parameter = definition_->parameters()[index];
  auto bytes_of_dtype = static_cast<std::uint8_t>(DTypeBytes(parameter.dtype));
  Entry entry{Kind::kPointer, static_cast<std::uint8_t>(index), 0, 8};
  switch (parameter.kind) {
    case ParameterKind::kTensor: {
      entries_.push_back(entry);
      if (convention_ != CallingConvention::kCutilePython) return;
      entry.bytes = 4;
      for (Kind kind : {Kind::kExtent, Kind::kStride}) {
        entry.kind = kind;
        for (std::size_t d = 0; d < parameter.dims.size(); ++d) {
          entry.index = static_cast<std::uint8_t>(d);
          entries_.push_back(entry);
        }
      }
      return;
    }
    case ParameterKind::kScalar:
      entry.kind = Kind::kScalar;
      entry.bytes = bytes_of_dtype;
      break;
    case ParameterKind::kDim:
      entry.kind = Kind::kDim;
      entry.bytes = bytes_of_dtype;
      entry.index = static_cast<std::uint8_t>(definition_->DimOf(parameter.dim).index);
      break;
    case ParameterKind::kDerived:
      entry.kind = Kind::kDerived;
      entry.bytes = bytes_of_dtype;
      break;
    case ParameterKind::kWorkspace:
      entry.kind = Kind::kWorkspace;
      ++num_workspaces_;
      break;
    case ParameterKind::kDescriptor:
      entry.kind = Kind::kDescriptor;
      entry.bytes = static_cast<std::uint8_t>(parameter.descriptor_bytes);
      break;
  }
  is_computed_ |= entry.kind == Kind::kDerived || entry.kind == Kind::kWorkspace || entry.kind == Kind::kDescriptor;
  entries_.push_back(entry);
}

Status ParameterLayout::CheckAgainst(const std::vector<std::size_t>& kernel_sizes) const {
  bool hidden_allowed = convention_ == CallingConvention::kCutilePython;
  // An older Triton's kernel has none or one of the hidden pointers, and takes no harm from more.
  bool fewer_allowed =
      convention_ == CallingConvention::kTriton && kernel_sizes.size() + kTritonHidden >= entries_.size();
  if ((kernel_sizes.size() < entries_.size() && !fewer_allowed) ||
      (kernel_sizes.size() > entries_.size() && !hidden_allowed)) {
    return InvalidArgumentError(absl::StrCat("kernel '", definition_->name(), "' is declared with ", entries_.size(),
                                             " parameters, but its code has ", kernel_sizes.size()));
  }
  for (std::size_t i = 0; i < std::min(entries_.size(), kernel_sizes.size()); ++i) {
    if (kernel_sizes[i] == entries_[i].bytes) continue;
    const Parameter& parameter = definition_->parameters()[entries_[i].parameter];
    return InvalidArgumentError(absl::StrCat("kernel '", definition_->name(), "', parameter '", parameter.name, "' (",
                                             i + 1, " of ", entries_.size(), " in the code): declared with ",
                                             static_cast<int>(entries_[i].bytes), " bytes, but the code has ",
                                             kernel_sizes[i]));
  }
  return Status();
}

Status ParameterLayout::DoesNotFit(const Entry& entry, const BoundCall& call) const {
  const Parameter& parameter = definition_->parameters()[entry.parameter];
  std::int64_t value = entry.kind == Kind::kDim      ? call.problem.dims[Dim{entry.index}]
                       : entry.kind == Kind::kExtent ? call.tensors[entry.parameter]->shape[entry.index]
                                                     : call.tensors[entry.parameter]->strides[entry.index];
  return InvalidArgumentError(absl::StrCat("kernel '", definition_->name(), "', parameter '", parameter.name,
                                           "': ", value, " does not fit the kernel's int32"));
}

Status ParameterLayout::Fill(const BoundCall& call, const Config& config, const std::uint64_t* workspaces,
                             ParameterBlock* block) const {
  for (const Entry& entry : entries_) {
    const Parameter& parameter = definition_->parameters()[entry.parameter];
    switch (entry.kind) {
      case Kind::kWorkspace:
        block->AddPointer(workspaces++);
        break;
      case Kind::kDerived:
        block->AddWord(parameter.derive(config, call.problem));
        break;
      case Kind::kDescriptor:
        TUNEONCE_RETURN_IF_ERROR(parameter.describe(config, call.problem, call.tensors.data(), block->AddDescriptor()));
        break;
      default: {
        const void* value = PointerTo(entry, call);
        if (value == nullptr) return DoesNotFit(entry, call);
        block->AddPointer(value);
      }
    }
  }
  return Status();
}

std::vector<std::size_t> ParameterLayout::WorkspaceBytes(const Config& config, const Problem& problem) const {
  std::vector<std::size_t> bytes;
  for (const Entry& entry : entries_) {
    if (entry.kind != Kind::kWorkspace) continue;
    bytes.push_back(definition_->parameters()[entry.parameter].workspace_bytes(config, problem));
  }
  return bytes;
}

}  // namespace tuneonce
