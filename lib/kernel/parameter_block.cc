#include "tuneonce/kernel/parameter_block.h"

#include <algorithm>
#include <cstddef>

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
  if (convention == CallingConvention::kTriton) layout.num_hidden_ = kTritonHidden;
  for (const Entry& entry : layout.entries_) {
    bool is_int64 = entry.kind == Kind::kDim || (entry.kind == Kind::kArgument && entry.offset != 0);
    if (is_int64 && entry.bytes < 8) layout.narrowed_.push_back(entry);
  }
  auto num_descriptors = std::count_if(layout.entries_.begin(), layout.entries_.end(),
                                       [](const Entry& entry) { return entry.kind == Kind::kDescriptor; });
  if (layout.num_parameters() > static_cast<std::size_t>(kMaxKernelParameters) || num_descriptors > kMaxDescriptors) {
    return InvalidArgumentError(absl::StrCat("kernel '", definition.name(), "' has ", layout.num_parameters(),
                                             " kernel parameters and ", num_descriptors, " descriptors; at most ",
                                             kMaxKernelParameters, " and ", kMaxDescriptors, " are possible"));
  }
  return layout;
}

void ParameterLayout::Add(std::size_t index) {
  const Parameter& parameter = definition_->parameters()[index];
  auto bytes_of_dtype = static_cast<std::uint8_t>(DTypeBytes(parameter.dtype));
  Entry entry{Kind::kArgument, static_cast<std::uint8_t>(index), 0, 8};
  switch (parameter.kind) {
    case ParameterKind::kTensor: {
      static_assert(offsetof(TensorView, data) == 0);
      entries_.push_back(entry);
      if (convention_ != CallingConvention::kCutilePython) return;
      entry.bytes = 4;
      for (std::size_t field : {offsetof(TensorView, shape), offsetof(TensorView, strides)}) {
        for (std::size_t d = 0; d < parameter.dims.size(); ++d) {
          entry.offset = static_cast<std::uint8_t>(field + d * sizeof(std::int64_t));
          entries_.push_back(entry);
        }
      }
      return;
    }
    case ParameterKind::kScalar:
      entry.bytes = bytes_of_dtype;
      break;
    case ParameterKind::kDim:
      entry.kind = Kind::kDim;
      entry.bytes = bytes_of_dtype;
      entry.offset = static_cast<std::uint8_t>(static_cast<std::size_t>(definition_->DimOf(parameter.dim).index) *
                                               sizeof(std::int64_t));
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
  if (kernel_sizes.size() < entries_.size() || (kernel_sizes.size() > num_parameters() && !hidden_allowed)) {
    return InvalidArgumentError(absl::StrCat("kernel '", definition_->name(), "' is declared with ", num_parameters(),
                                             " parameters, but its code has ", kernel_sizes.size()));
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (kernel_sizes[i] == entries_[i].bytes) continue;
    const Parameter& parameter = definition_->parameters()[entries_[i].parameter];
    return InvalidArgumentError(absl::StrCat("kernel '", definition_->name(), "', parameter '", parameter.name, "' (",
                                             i + 1, " of ", entries_.size(), " in the code): declared with ",
                                             static_cast<int>(entries_[i].bytes), " bytes, but the code has ",
                                             kernel_sizes[i]));
  }
  return Status();
}

Status ParameterLayout::Fill(const BoundCall& call, const Config& config, const std::uint64_t* workspaces,
                             ParameterBlock* block) const {
  const std::vector<Parameter>& parameters = definition_->parameters();
  for (const Entry& entry : narrowed_) {
    if (LostBits(entry, call) == 0) continue;
    return InvalidArgumentError(absl::StrCat(
        "kernel '", definition_->name(), "', parameter '", parameters[entry.parameter].name,
        "': ", *static_cast<const std::int64_t*>(PointerTo(entry, call)), " does not fit the kernel's int32"));
  }
  for (const Entry& entry : entries_) {
    const Parameter& parameter = parameters[entry.parameter];
    switch (entry.kind) {
      case Kind::kArgument:
      case Kind::kDim:
        block->AddPointer(PointerTo(entry, call));
        break;
      case Kind::kDerived:
        block->AddWord(parameter.derive(config, call.problem));
        break;
      case Kind::kWorkspace:
        block->AddPointer(workspaces++);
        break;
      case Kind::kDescriptor: {
        std::array<const TensorView*, kMaxParameters> tensors;
        for (std::size_t i = 0; i < parameters.size(); ++i) tensors[i] = call.FindTensor(parameters, i);
        TUNEONCE_RETURN_IF_ERROR(parameter.describe(config, call.problem, tensors.data(), block->AddDescriptor()));
        break;
      }
    }
  }
  for (int i = 0; i < num_hidden_; ++i) block->AddPointer(&kNullPointer);
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
