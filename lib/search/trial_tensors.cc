#include "search/trial_tensors.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

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
    last.read |= range.read;
    last.tensors.insert(last.tensors.end(), range.tensors.begin(), range.tensors.end());
  }
  return merged;
}

/// Returns whether the tensor has more elements than places, because of a stride of 0 for example. A negative stride
/// leads outside of its memory, so that its places are not known.
bool HasRepeatedElements(const TensorView& tensor) {
  std::size_t places = tensor.bytes / DTypeBytes(tensor.dtype);  // Per element of the dimensions so far.
  for (std::size_t d = 0; d < static_cast<std::size_t>(tensor.rank); ++d) {
    if (tensor.strides[d] < 0) return false;
    places /= static_cast<std::size_t>(tensor.shape[d]);
  }
  return places == 0;
}

/// "'x', 'w'".
std::string NamesOf(const KernelDefinition& definition, const std::vector<ReachedTensor>& tensors) {
  return absl::StrJoin(tensors, ", ", [&](std::string* out, const ReachedTensor& reached) {
    out->append(NameOf(definition.parameters()[reached.parameter], reached));
  });
}

}  // namespace

std::vector<TensorRange> TensorRangesOf(const KernelDefinition& definition, const BoundCall& call) {
  std::vector<Range> ranges;
  for (const ReachedTensor& reached : ReachedTensorsOf(definition.parameters(), call)) {
    if (reached.tensor->bytes == 0) continue;
    Access access = definition.parameters()[reached.parameter].access;
    auto begin = reinterpret_cast<CUdeviceptr>(reached.tensor->data);
    ranges.push_back(
        Range{begin, begin + reached.tensor->bytes, access != Access::kIn, access != Access::kOut, {reached}});
  }
  return Merge(std::move(ranges));
}

Status TrialTensors::CheckOutputs(const KernelDefinition& definition, const BoundCall& call) {
  for (const ReachedTensor& reached : ReachedTensorsOf(definition.parameters(), call)) {
    const Parameter& parameter = definition.parameters()[reached.parameter];
    if (parameter.access == Access::kIn || !reached.tensor->HasElements()) continue;
    const std::string output =
        absl::StrCat("kernel '", definition.name(), "', parameter ", NameOf(parameter, reached), ": ");
    if (reached.tensor->bytes == 0) {
      return InvalidArgumentError(output + "an output without a size cannot be tuned: pass {pointer, bytes}");
    }
    if (HasRepeatedElements(*reached.tensor)) {
      return InvalidArgumentError(absl::StrCat(output, reached.tensor->ToString(), " has more elements than its ",
                                               reached.tensor->bytes,
                                               " bytes: pass an output whose elements do not share memory"));
    }
  }
  return Status();
}

void TrialTensors::MoveAll(const std::vector<Parameter>& parameters, const BoundCall& call) {
  moved_.resize(parameters.size());
  for (const ReachedTensor& reached : ReachedTensorsOf(parameters, call)) {
    std::unique_ptr<Moved>& moved = moved_[reached.parameter];
    if (moved == nullptr) {
      moved = std::make_unique<Moved>();
      moved->parameter = reached.parameter;
      if (parameters[reached.parameter].by_pointers) tables_.push_back(moved.get());
    }
    moved->tensors.push_back(*reached.tensor);
  }
  for (const auto& moved : moved_) {
    if (moved != nullptr) trial_call_.problem.values[moved->parameter] = moved->tensors.data();
  }
}

TensorView& TrialTensors::ViewOf(const ReachedTensor& reached) {
  return moved_[reached.parameter]->tensors[reached.nth];
}

Status TrialTensors::MakeTables(const KernelDefinition& definition, TrialMemory& memory, StreamView stream) {
  if (tables_.empty()) return Status();
  std::vector<GuardedMemory::Piece> pieces;
  for (const Moved* moved : tables_) {
    const std::string& name = definition.parameters()[moved->parameter].name;
    pieces.push_back({moved->tensors.size() * sizeof(std::uint64_t), 0, "the table of '" + name + "'"});
  }
  TUNEONCE_ASSIGN_OR_RETURN(GuardedMemory made, GuardedMemory::Create(memory, stream, GuardedMemory::BytesFor(pieces)));
  made.LayOut(std::move(pieces));
  TUNEONCE_RETURN_IF_ERROR(made.Arm(*comparer_));
  table_memory_.emplace(std::move(made));
  has_stale_tables_ = true;
  return WriteTables();
}

Status TrialTensors::PutTable(std::size_t nth) const {
  return table_memory_->CopyFromHost(nth, tables_[nth]->addresses.data());
}

Status TrialTensors::WriteTables() {
  if (!has_stale_tables_) return Status();
  std::vector<MemoryRange> ranges;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    Moved& moved = *tables_[i];
    const GuardedMemory::Piece& piece = table_memory_->pieces()[i];
    moved.addresses.clear();
    for (const TensorView& tensor : moved.tensors) {
      moved.addresses.push_back(reinterpret_cast<std::uintptr_t>(tensor.data));
    }
    moved.table = PointerTable::Of(reinterpret_cast<void*>(piece.address), moved.tensors.data(), moved.tensors.size());
    trial_call_.problem.values[moved.parameter] = &moved.table;
    TUNEONCE_RETURN_IF_ERROR(PutTable(i));
    ranges.push_back({piece.address, piece.bytes});
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::uint64_t> sums, comparer_->Checksums(ranges));
  for (std::size_t i = 0; i < tables_.size(); ++i) tables_[i]->checksum = sums[i];
  has_stale_tables_ = false;
  return Status();
}

Result<TrialTensors> TrialTensors::Create(const KernelDefinition& definition, const BoundCall& call,
                                          TrialMemory& memory, InputCopies& inputs, ArrayComparer& comparer,
                                          StreamView stream) {
  TUNEONCE_RETURN_IF_ERROR(CheckOutputs(definition, call));
  TrialTensors tensors(call);
  tensors.copies_ = &inputs;
  tensors.comparer_ = &comparer;
  tensors.MoveAll(definition.parameters(), call);
  std::vector<Range> ranges = TensorRangesOf(definition, call);
  std::vector<GuardedMemory::Piece> pieces;
  for (const Range& range : ranges) {
    if (range.written) pieces.push_back({range.end - range.begin, range.begin, NamesOf(definition, range.tensors)});
  }
  TUNEONCE_ASSIGN_OR_RETURN(GuardedMemory outputs,
                            GuardedMemory::Create(memory, stream, GuardedMemory::BytesFor(pieces)));
  outputs.LayOut(std::move(pieces));
  TUNEONCE_RETURN_IF_ERROR(outputs.Arm(comparer));
  std::size_t piece = 0;
  for (const Range& range : ranges) {
    if (!range.written) {
      TUNEONCE_ASSIGN_OR_RETURN(const InputCopies::Input* input,
                                inputs.Add({range.begin, range.end - range.begin}, NamesOf(definition, range.tensors)));
      tensors.inputs_.push_back(input);
      for (const ReachedTensor& reached : range.tensors) {
        CUdeviceptr offset = reinterpret_cast<CUdeviceptr>(reached.tensor->data) - range.begin;
        tensors.readers_.push_back(Reader{&tensors.ViewOf(reached), input, offset});
      }
      continue;
    }
    for (const ReachedTensor& reached : range.tensors) {
      TensorView& moved = tensors.ViewOf(reached);
      CUdeviceptr offset = reinterpret_cast<CUdeviceptr>(moved.data) - range.begin;
      moved.data = reinterpret_cast<void*>(outputs.pieces()[piece].address + offset);
      if (!range.read) tensors.poisoned_.emplace(reached.parameter, reached.nth);
    }
    if (range.read) tensors.restores_.push_back(RestoreStep{piece, range.begin});
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<OutputGaps> gaps, OutputGaps::Create(definition, range, memory, stream));
    if (gaps) tensors.gaps_.push_back(Gaps{piece, range.read ? range.begin : 0, *std::move(gaps)});
    ++piece;
  }
  tensors.outputs_.emplace(std::move(outputs));
  tensors.FollowInputs();
  TUNEONCE_RETURN_IF_ERROR(tensors.MakeTables(definition, memory, stream));
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const TensorView* tensor = call.FindTensor(definition.parameters(), i);
    if (tensor == nullptr || tensor->bytes > 0 || tensor->rank > 0) continue;
    absl::StrAppend(&tensors.unprotected_, tensors.unprotected_.empty() ? "'" : ", '", definition.parameters()[i].name,
                    "'");
  }
  return tensors;
}

std::string TrialTensors::at_risk() const {
  std::string described;
  for (const InputCopies::Input* input : inputs_) {
    if (input->is_at_risk()) absl::StrAppend(&described, described.empty() ? "" : ", ", input->Described());
  }
  return described;
}

void TrialTensors::FollowInputs() {
  for (const Reader& reader : readers_) {
    reader.view->data = reinterpret_cast<void*>(reader.input->address() + reader.offset);
  }
  has_stale_tables_ = !tables_.empty();
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

Result<std::optional<StrayWrite>> TrialTensors::FindInGaps(unsigned char poison) const {
  for (const Gaps& each : gaps_) {
    const CUdeviceptr scratch = outputs_->pieces()[each.piece].address;
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<StrayWrite> found,
                              each.gaps.Find(*comparer_, scratch, each.original, poison));
    if (found) return found;
  }
  return std::optional<StrayWrite>();
}

Result<std::optional<StrayWrite>> TrialTensors::FindStrayWrite(const GuardedMemory* workspaces,
                                                               std::optional<unsigned char> poison) const {
  std::vector<const GuardedMemory*> guarded = {&*outputs_};
  std::vector<MemoryRange> ranges;
  for (const InputCopies::Input* input : inputs_) {
    ranges.push_back(input->range());
    if (input->copy()) guarded.push_back(&*input->copy());
  }
  if (table_memory_) {
    guarded.push_back(&*table_memory_);
    for (const GuardedMemory::Piece& piece : table_memory_->pieces()) ranges.push_back({piece.address, piece.bytes});
  }
  if (workspaces != nullptr) guarded.push_back(workspaces);
  for (const GuardedMemory* memory : guarded) {
    for (const GuardedMemory::Guard& guard : memory->guards()) ranges.push_back(guard.range);
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::uint64_t> sums, comparer_->Checksums(ranges));
  std::optional<StrayWrite> found;
  auto sum = sums.begin();
  for (const InputCopies::Input* input : inputs_) {
    std::uint64_t checksum = *sum++;
    if (checksum == input->checksum()) continue;
    std::size_t num_damaged = copies_->damaged().size();
    TUNEONCE_RETURN_IF_ERROR(copies_->Mend(input, checksum));
    if (found) continue;
    found = StrayWrite{OutcomeKind::kWroteInput, "the kernel wrote to its input " + input->names()};
    if (copies_->damaged().size() > num_damaged) {
      found->message += ", and there was too little memory to run on a copy: the caller's tensor is damaged";
    }
  }
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    if (*sum++ == tables_[i]->checksum) continue;
    TUNEONCE_RETURN_IF_ERROR(PutTable(i));
    if (!found) found = StrayWrite{OutcomeKind::kWroteInput, "it wrote " + table_memory_->pieces()[i].name};
  }
  for (const GuardedMemory* memory : guarded) {
    for (const GuardedMemory::Guard& guard : memory->guards()) {
      if (*sum++ == guard.checksum) continue;
      TUNEONCE_RETURN_IF_ERROR(memory->Mend(guard));
      if (!found) found = StrayWrite{OutcomeKind::kOutOfBounds, "it wrote " + guard.place};
    }
  }
  if (found || !poison) return found;
  return FindInGaps(*poison);
}

}  // namespace v0
}  // namespace tuneonce
