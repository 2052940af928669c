#include "search/output_check.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tuneonce {
inline namespace v0 {
namespace {

CUdeviceptr AddressOf(const TensorView& tensor) { return reinterpret_cast<CUdeviceptr>(tensor.data); }

OutputCheck::Finding NotWritten(const std::string& output, const Comparison& found, std::uint64_t count) {
  return {OutcomeKind::kNotWritten, absl::StrCat("output ", output, ": ", found.num_missing, " of ", count,
                                                 " elements were not written, the first at ", found.first,
                                                 "; if that is intended, declare the output MayBePartial")};
}

/// The outputs of a trial, in order; each tensor that is written by pointers is one.
std::vector<ReachedTensor> OutputsOf(const KernelDefinition& definition, const TrialTensors& tensors) {
  std::vector<ReachedTensor> outputs;
  for (const ReachedTensor& reached : ReachedTensorsOf(definition.parameters(), tensors.trial_call())) {
    if (definition.parameters()[reached.parameter].access != Access::kIn) outputs.push_back(reached);
  }
  return outputs;
}

/// Copies of outputs at a time. Candidates that fail for reasons of their own each compute something else; those that
/// are correct meet in one copy, which is among the first unless most candidates are incorrect.
constexpr std::size_t kMostKept = 3;

}  // namespace

Status OutputCheck::Keep(const KernelDefinition& definition, const TrialTensors& tensors) {
  return Keep(definition, tensors, nullptr);
}

Status OutputCheck::KeepGiven(const KernelDefinition& definition, const TrialTensors& tensors,
                              const std::vector<TensorView>& reference) {
  return Keep(definition, tensors, &reference);
}

Result<TrialMemory::Block> OutputCheck::Copy(const TensorView& tensor) {
  TUNEONCE_ASSIGN_OR_RETURN(TrialMemory::Block copy, memory_.Allocate(stream_, tensor.bytes));
  TUNEONCE_RETURN_IF_ERROR(copy.buffer.CopyFromDevice(AddressOf(tensor), tensor.bytes));
  return copy;
}

Status OutputCheck::Keep(const KernelDefinition& definition, const TrialTensors& tensors,
                         const std::vector<TensorView>* given) {
  outputs_.clear();
  not_compared_.clear();
  std::size_t next_given = 0;
  std::size_t next_ordinal = 0;
  for (const ReachedTensor& reached : OutputsOf(definition, tensors)) {
    const Parameter& parameter = definition.parameters()[reached.parameter];
    const TensorView* tensor = reached.tensor;
    const std::string name = NameOf(parameter, reached);
    const std::size_t ordinal = next_ordinal++;
    TensorView source = *tensor;
    if (given != nullptr) {
      if (next_given == given->size()) {
        return InvalidArgumentError(absl::StrCat("the reference has only ", given->size(),
                                                 " tensors, and none for output ", name,
                                                 ": pass one tensor for each output"));
      }
      source = (*given)[next_given++];
      if (source.bytes != tensor->bytes || source.dtype != tensor->dtype) {
        return InvalidArgumentError(absl::StrCat("the reference for output ", name, " is ", source.ToString(), " of ",
                                                 source.bytes, " bytes; the output is ", tensor->ToString(), " of ",
                                                 tensor->bytes, " bytes"));
      }
    }
    if (!tensor->HasElements() && parameter.by_pointers) continue;
    if (tensor->dtype == DType::kAny) {
      not_compared_.push_back("outputs without a dtype were not compared: " + name);
      continue;
    }
    Result<ArrayLayout> layout = ArrayLayout::Of(*tensor);
    if (!layout.ok()) {
      not_compared_.push_back("not compared: " + name + ": " + layout.status().message());
      continue;
    }
    bool is_partial =
        given == nullptr && tensors.is_poisoned(reached.parameter, reached.nth) && parameter.may_be_partial;
    const Tolerance tolerance = definition.ToleranceOf(parameter, tensor->dtype);
    Output output{ordinal, name, *tensor, *layout, tolerance, is_partial, {}};
    TUNEONCE_ASSIGN_OR_RETURN(output.references[0], Copy(source));
    outputs_.push_back(std::move(output));
  }
  return Status();
}

Status OutputCheck::KeepPartial(const KernelDefinition& definition, const TrialTensors& tensors) {
  const std::vector<ReachedTensor> places = OutputsOf(definition, tensors);
  for (Output& output : outputs_) {
    if (!output.is_partial) continue;
    TUNEONCE_ASSIGN_OR_RETURN(output.references[1], Copy(*places[output.ordinal].tensor));
  }
  return Status();
}

Result<Comparison> OutputCheck::Compare(const Output& output, const ReachedTensor& reached, const TrialTensors& tensors,
                                        int poison) {
  auto index = static_cast<std::size_t>(poison);
  ElementCheck check;
  check.tolerance = output.tolerance;
  if (tensors.is_poisoned(reached.parameter, reached.nth)) check.poison = ArrayComparer::kPoisons[index];
  std::size_t reference = index < output.references.size() && output.references[index] ? index : 0;
  if (output.is_partial) check.reference_poison = ArrayComparer::kPoisons[reference];
  return comparer_.Compare(output.references[reference]->buffer.get(), AddressOf(*reached.tensor), output.layout,
                           check);
}

Result<std::optional<OutputCheck::Finding>> OutputCheck::Check(const KernelDefinition& definition,
                                                               const TrialTensors& tensors, int poison,
                                                               const std::string& reference,
                                                               std::optional<OutputDifference>* largest) {
  const std::vector<ReachedTensor> places = OutputsOf(definition, tensors);
  for (const Output& output : outputs_) {
    const ReachedTensor* place = output.ordinal < places.size() ? &places[output.ordinal] : nullptr;
    const TensorView* tensor = place != nullptr ? place->tensor : nullptr;
    // In a search without a definition each config has arguments of its own.
    if (tensor == nullptr || tensor->bytes != output.tensor.bytes || tensor->dtype != output.tensor.dtype) {
      return std::optional<Finding>(
          {OutcomeKind::kWrongResult, "output " + output.name + " has another size or dtype than the reference"});
    }
    TUNEONCE_ASSIGN_OR_RETURN(Comparison found, Compare(output, *place, tensors, poison));
    if (!*largest || found.largest_share > (*largest)->share_of_tolerance) {
      *largest = OutputDifference{definition.parameters()[place->parameter].name, found.largest_difference,
                                  found.largest_share};
    }
    if (found.num_wrong + found.num_missing == 0) continue;
    if (found.num_wrong == 0) return std::optional<Finding>(NotWritten(output.name, found, output.layout.count));
    std::string absolute =
        output.tolerance.absolute > 0 ? absl::StrCat(output.tolerance.absolute, " * largest of 256 + ") : "";
    std::string ulps = output.tolerance.ulps > 0 ? absl::StrCat(" + ", output.tolerance.ulps, " ulp") : "";
    return std::optional<Finding>(
        {OutcomeKind::kWrongResult,
         absl::StrCat("output ", output.name, ": ", found.num_wrong, " of ", output.layout.count,
                      " elements differ from ", reference, ", the first at ", found.first, ", by ",
                      found.largest_difference, " at most (tolerance ", absolute, output.tolerance.relative,
                      " * |reference|", ulps, ")")});
  }
  return std::optional<Finding>();
}

Result<std::optional<OutputCheck::Finding>> OutputCheck::FindUnwritten(const KernelDefinition& definition,
                                                                       const TrialTensors& tensors) {
  const std::vector<ReachedTensor> places = OutputsOf(definition, tensors);
  for (const Output& output : outputs_) {
    const ReachedTensor& place = places[output.ordinal];
    if (output.is_partial || !tensors.is_poisoned(place.parameter, place.nth)) continue;
    TUNEONCE_ASSIGN_OR_RETURN(Comparison found, Compare(output, place, tensors, 1));
    if (found.num_missing > 0) return std::optional<Finding>(NotWritten(output.name, found, output.layout.count));
  }
  return std::optional<Finding>();
}

Result<int> DissentingOutputs::Add(const KernelDefinition& definition, const TrialTensors& tensors,
                                   const Fingerprint& code) {
  for (Kept& kept : kept_) {
    std::optional<OutputDifference> difference;
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<OutputCheck::Finding> finding,
                              kept.outputs->Check(definition, tensors, /*poison=*/0, "another", &difference));
    if (finding) continue;
    if (std::find(kept.codes.begin(), kept.codes.end(), code) == kept.codes.end()) kept.codes.push_back(code);
    return static_cast<int>(kept.codes.size());
  }
  if (kept_.size() == kMostKept) return 0;
  auto outputs = std::make_unique<OutputCheck>(stream_, memory_, comparer_);
  Status added = outputs->Keep(definition, tensors);
  if (added.code() == StatusCode::kResourceExhausted) return 0;
  TUNEONCE_RETURN_IF_ERROR(added);
  kept_.push_back(Kept{std::move(outputs), {code}});
  return 1;
}

}  // namespace v0
}  // namespace tuneonce
