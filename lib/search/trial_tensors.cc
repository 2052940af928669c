#include "search/trial_tensors.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Range = TensorRange;

/// Ranges that overlap become one.
std::vector<Range> Merge(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::vector<Range> merged;
  for (Range& range : ranges) {
    if (merged.empty() || range.begin >= merged.back().end) {
      merged.push_back(std::move(range));
      continue;
    }
    Range& last = merged.back();
    last.end = std::max(last.end, range.end);
    last.written |= range.written;
    // Written by one and only partly covered by another: what is there before may matter.
    last.read = true;
    last.parameters.insert(last.parameters.end(), range.parameters.begin(), range.parameters.end());
  }
  return merged;
}

/// "'x', 'w'".
std::string NamesOf(const KernelDefinition& definition, const std::vector<std::size_t>& parameters) {
  std::string names;
  for (std::size_t i : parameters) {
    absl::StrAppend(&names, names.empty() ? "'" : ", '", definition.parameters()[i].name, "'");
  }
  return names;
}

}  // namespace

std::vector<TensorRange> TensorRangesOf(const KernelDefinition& definition, const BoundCall& call) {
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const TensorView* tensor = call.FindTensor(definition.parameters(), i);
    if (tensor == nullptr || tensor->bytes == 0) continue;
    Access access = definition.parameters()[i].access;
    auto begin = reinterpret_cast<CUdeviceptr>(tensor->data);
    ranges.push_back(Range{begin, begin + tensor->bytes, access != Access::kIn, access != Access::kOut, {i}});
  }
  return Merge(std::move(ranges));
}

Status TrialTensors::CheckSizes(const KernelDefinition& definition, const BoundCall& call) {
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const Parameter& parameter = definition.parameters()[i];
    const TensorView* tensor = call.FindTensor(definition.parameters(), i);
    if (tensor == nullptr || parameter.access == Access::kIn || tensor->bytes > 0) continue;
    return InvalidArgumentError(absl::StrCat("kernel '", definition.name(), "', parameter '", parameter.name,
                                             "': an output without a size cannot be tuned: pass {pointer, bytes}"));
  }
  return Status();
}

std::size_t TrialTensors::Move(const BoundCall& call, std::size_t parameter) {
  moved_.push_back(call.tensor(parameter));
  trial_call_.problem.values[parameter] = &moved_.back();
  return moved_.size() - 1;
}

Result<TrialTensors> TrialTensors::Create(const KernelDefinition& definition, const BoundCall& call,
                                          TrialMemory& memory, InputCopies& inputs, ArrayComparer& comparer,
                                          StreamView stream) {
  TUNEONCE_RETURN_IF_ERROR(CheckSizes(definition, call));
  TrialTensors tensors(call);
  tensors.copies_ = &inputs;
  tensors.comparer_ = &comparer;
  tensors.moved_.reserve(static_cast<std::size_t>(kMaxParameters));
  std::vector<Range> ranges = TensorRangesOf(definition, call);
  std::vector<GuardedMemory::Piece> pieces;
  for (const Range& range : ranges) {
    if (range.written) pieces.push_back({range.end - range.begin, range.begin, NamesOf(definition, range.parameters)});
  }
  TUNEONCE_ASSIGN_OR_RETURN(GuardedMemory outputs,
                            GuardedMemory::Create(memory, stream, GuardedMemory::BytesFor(pieces)));
  outputs.LayOut(std::move(pieces));
  TUNEONCE_RETURN_IF_ERROR(outputs.Arm(comparer));
  std::size_t piece = 0;
  for (const Range& range : ranges) {
    if (!range.written) {
      TUNEONCE_ASSIGN_OR_RETURN(const InputCopies::Input* input, inputs.Add({range.begin, range.end - range.begin},
                                                                            NamesOf(definition, range.parameters)));
      tensors.inputs_.push_back(input);
      for (std::size_t parameter : range.parameters) {
        CUdeviceptr offset = reinterpret_cast<CUdeviceptr>(call.tensor(parameter).data) - range.begin;
        tensors.readers_.push_back(Reader{tensors.Move(call, parameter), input, offset});
      }
      continue;
    }
    for (std::size_t parameter : range.parameters) {
      TensorView& moved = tensors.moved_[tensors.Move(call, parameter)];
      CUdeviceptr offset = reinterpret_cast<CUdeviceptr>(moved.data) - range.begin;
      moved.data = reinterpret_cast<void*>(outputs.pieces()[piece].address + offset);
      tensors.is_poisoned_[parameter] = !range.read;
    }
    if (range.read) tensors.restores_.push_back(RestoreStep{piece, range.begin});
    ++piece;
  }
  tensors.outputs_.emplace(std::move(outputs));
  tensors.FollowInputs();
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const TensorView* tensor = call.FindTensor(definition.parameters(), i);
    if (tensor == nullptr || tensor->bytes > 0 || tensor->rank > 0) continue;
    absl::StrAppend(&tensors.unprotected_, tensors.unprotected_.empty() ? "'" : ", '", definition.parameters()[i].name,
                    "'");
  }
  return tensors;
}

void TrialTensors::FollowInputs() {
  for (const Reader& reader : readers_) {
    moved_[reader.view].data = reinterpret_cast<void*>(reader.input->address() + reader.offset);
  }
}

Status TrialTensors::Restore() const {
  for (const RestoreStep& step : restores_) TUNEONCE_RETURN_IF_ERROR(outputs_->CopyFrom(step.piece, step.original));
  return Status();
}

Status TrialTensors::Poison(unsigned char value) const {
  for (std::size_t i = 0; i < outputs_->pieces().size(); ++i) {
    bool restored =
        std::any_of(restores_.begin(), restores_.end(), [&](const RestoreStep& step) { return step.piece == i; });
    if (!restored) TUNEONCE_RETURN_IF_ERROR(outputs_->Fill(i, value));
  }
  return Status();
}

Result<std::optional<TrialTensors::Trespass>> TrialTensors::FindTrespass(const GuardedMemory* workspaces) const {
  std::vector<const GuardedMemory*> guarded = {&*outputs_};
  std::vector<MemoryRange> ranges;
  for (const InputCopies::Input* input : inputs_) {
    ranges.push_back(input->range());
    if (input->copy()) guarded.push_back(&*input->copy());
  }
  if (workspaces != nullptr) guarded.push_back(workspaces);
  for (const GuardedMemory* memory : guarded) {
    for (const GuardedMemory::Guard& guard : memory->guards()) ranges.push_back(guard.range);
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::uint64_t> sums, comparer_->Checksums(ranges));
  std::optional<Trespass> found;
  auto sum = sums.begin();
  for (const InputCopies::Input* input : inputs_) {
    std::uint64_t checksum = *sum++;
    if (checksum == input->checksum()) continue;
    std::size_t num_damaged = copies_->damaged().size();
    TUNEONCE_RETURN_IF_ERROR(copies_->Mend(input, checksum));
    if (found) continue;
    found = Trespass{FailureKind::kWroteInput, "it wrote its input " + input->names()};
    if (copies_->damaged().size() > num_damaged) {
      found->message += ", of which there was no memory for a copy: the caller's tensor is damaged";
    }
  }
  for (const GuardedMemory* memory : guarded) {
    for (const GuardedMemory::Guard& guard : memory->guards()) {
      if (*sum++ == guard.checksum) continue;
      TUNEONCE_RETURN_IF_ERROR(memory->Mend(guard));
      if (!found) found = Trespass{FailureKind::kOutOfBounds, "it wrote " + guard.place};
    }
  }
  return found;
}

}  // namespace v0
}  // namespace tuneonce
