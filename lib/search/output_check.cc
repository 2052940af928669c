#include "search/output_check.h"

#include "absl/strings/str_cat.h"

namespace tuneonce {

Status OutputCheck::KeepReference(const KernelDefinition& definition, const SplitBuffers& split) {
  return Keep(definition, split, nullptr);
}

Status OutputCheck::KeepGiven(const KernelDefinition& definition, const SplitBuffers& split,
                              const std::vector<TensorView>& reference) {
  return Keep(definition, split, &reference);
}

Status OutputCheck::Keep(const KernelDefinition& definition, const SplitBuffers& split,
                         const std::vector<TensorView>* given) {
  outputs_.clear();
  not_compared_.clear();
  std::size_t next_given = 0;
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const Parameter& parameter = definition.parameters()[i];
    const TensorView* tensor = split.trial_call().FindTensor(definition.parameters(), i);
    if (tensor == nullptr || parameter.access == Access::kIn) continue;
    const TensorView* source = tensor;
    if (given != nullptr) {
      if (next_given == given->size()) {
        return InvalidArgumentError(
            absl::StrCat("the reference has ", given->size(), " tensors and none for output '", parameter.name, "'"));
      }
      source = &(*given)[next_given++];
      if (source->bytes != tensor->bytes || source->dtype != tensor->dtype) {
        return InvalidArgumentError(absl::StrCat("the reference for output '", parameter.name, "' is ",
                                                 source->ToString(), " of ", source->bytes, " bytes; the output is ",
                                                 tensor->ToString(), " of ", tensor->bytes));
      }
    }
    if (tensor->dtype == DType::kAny) {
      absl::StrAppend(&not_compared_, not_compared_.empty() ? "'" : ", '", parameter.name, "'");
      continue;
    }
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer copy, DeviceBuffer::Allocate(stream_, tensor->bytes));
    TUNEONCE_RETURN_IF_ERROR(copy.CopyFromDevice(reinterpret_cast<CUdeviceptr>(source->data), tensor->bytes));
    std::uint64_t count = tensor->bytes / DTypeBytes(tensor->dtype);
    bool is_poisoned = given == nullptr && split.is_poisoned(i);
    TUNEONCE_ASSIGN_OR_RETURN(double largest, comparer_.Largest(copy.get(), count, tensor->dtype, is_poisoned));
    Tolerance tolerance = definition.ToleranceOf(tensor->dtype);
    outputs_.push_back(Output{i, parameter.name, tensor->dtype, count, is_poisoned, tolerance.absolute * largest,
                              tolerance.relative, std::move(copy)});
  }
  return Status();
}

Result<std::optional<OutputCheck::Finding>> OutputCheck::Check(const SplitBuffers& split) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string stray, split.FindStrayWrite());
  if (!stray.empty()) return std::optional<Finding>({FailureKind::kOutOfBounds, "it wrote " + stray});
  for (const Output& output : outputs_) {
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<Finding> finding,
                              CompareOutput(output, split.trial_call().tensor(output.parameter)));
    if (finding) return finding;
  }
  return std::optional<Finding>();
}

Result<std::optional<OutputCheck::Finding>> OutputCheck::CompareOutput(const Output& output, const TensorView& tensor) {
  TUNEONCE_ASSIGN_OR_RETURN(
      Comparison found,
      comparer_.Compare(output.reference.get(), reinterpret_cast<CUdeviceptr>(tensor.data), output.count, output.dtype,
                        output.absolute, output.relative, output.is_poisoned));
  if (found.num_wrong + found.num_missing == 0) return std::optional<Finding>();
  bool only_missing = found.num_wrong == 0;
  std::string message =
      absl::StrCat("output '", output.name, "': ", only_missing ? found.num_missing : found.num_wrong, " of ",
                   output.count, only_missing ? " elements were not written" : " elements differ from the reference",
                   ", the first at ", found.first);
  if (!only_missing) {
    absl::StrAppend(&message, " (tolerance ", output.absolute, " + ", output.relative, " * |reference|)");
  }
  return std::optional<Finding>({only_missing ? FailureKind::kNotWritten : FailureKind::kWrongResult, message});
}

}  // namespace tuneonce
