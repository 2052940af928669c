#include "tuneonce/kernel/split_buffer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tuneonce {
namespace {

/// Bytes before and behind each scratch. Keeps the driver's alignment of 256.
constexpr std::size_t kRedZone = 1024;
constexpr unsigned char kRedZoneByte = 0xA5;

/// A range of the caller's memory, and who uses it.
struct Range {
  CUdeviceptr begin;
  CUdeviceptr end;
  bool written;
  bool read;
  std::vector<std::size_t> parameters;
};

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

}  // namespace

Status SplitBuffers::CheckSizes(const KernelDefinition& definition, const BoundCall& call) {
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const Parameter& parameter = definition.parameters()[i];
    const TensorView* tensor = call.FindTensor(definition.parameters(), i);
    if (tensor == nullptr || parameter.access == Access::kIn || tensor->bytes > 0) continue;
    return InvalidArgumentError(absl::StrCat("kernel '", definition.name(), "', parameter '", parameter.name,
                                             "': an output without a size cannot be tuned: pass {pointer, bytes}"));
  }
  return Status();
}

Result<SplitBuffers> SplitBuffers::Create(const KernelDefinition& definition, const BoundCall& call,
                                          StreamView stream) {
  TUNEONCE_RETURN_IF_ERROR(CheckSizes(definition, call));
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const TensorView* tensor = call.FindTensor(definition.parameters(), i);
    if (tensor == nullptr) continue;
    const Parameter& parameter = definition.parameters()[i];
    bool written = parameter.access != Access::kIn;
    auto begin = reinterpret_cast<CUdeviceptr>(tensor->data);
    bool read = parameter.access != Access::kOut;
    if (tensor->bytes > 0) ranges.push_back(Range{begin, begin + tensor->bytes, written, read, {i}});
  }
  SplitBuffers split;
  split.trial_call_ = call;
  split.moved_.reserve(static_cast<std::size_t>(kMaxParameters));
  for (const Range& range : Merge(std::move(ranges))) {
    if (!range.written) continue;
    std::size_t bytes = range.end - range.begin;
    TUNEONCE_ASSIGN_OR_RETURN(Scratch scratch, AllocateScratch(bytes, stream));
    for (std::size_t parameter : range.parameters) {
      TensorView moved = call.tensor(parameter);
      CUdeviceptr offset = reinterpret_cast<CUdeviceptr>(moved.data) - range.begin;
      moved.data = reinterpret_cast<void*>(scratch.buffer.get() + kRedZone + offset);
      split.is_poisoned_[parameter] = !range.read;
      absl::StrAppend(&scratch.names, scratch.names.empty() ? "'" : ", '", definition.parameters()[parameter].name,
                      "'");
      split.moved_.push_back(moved);
      split.trial_call_.values[parameter] = &split.moved_.back();
    }
    if (range.read) split.restores_.push_back(RestoreStep{split.scratch_.size(), range.begin, bytes});
    split.scratch_.push_back(std::move(scratch));
  }
  return split;
}

Result<SplitBuffers::Scratch> SplitBuffers::AllocateScratch(std::size_t bytes, StreamView stream) {
  TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer buffer, DeviceBuffer::Allocate(stream, bytes + 2 * kRedZone));
  Scratch scratch{std::move(buffer), bytes, ""};
  TUNEONCE_RETURN_IF_ERROR(FillRedZones(scratch));
  return scratch;
}

Status SplitBuffers::FillRedZones(const Scratch& scratch) {
  TUNEONCE_RETURN_IF_ERROR(scratch.buffer.Fill(kRedZoneByte, 0, kRedZone));
  return scratch.buffer.Fill(kRedZoneByte, kRedZone + scratch.bytes, kRedZone);
}

Status SplitBuffers::Restore() const {
  for (const RestoreStep& step : restores_) {
    TUNEONCE_RETURN_IF_ERROR(scratch_[step.scratch].buffer.CopyFromDevice(step.original, step.bytes, kRedZone));
  }
  return Status();
}

Status SplitBuffers::Poison(unsigned char value) const {
  for (std::size_t i = 0; i < scratch_.size(); ++i) {
    bool restored =
        std::any_of(restores_.begin(), restores_.end(), [&](const RestoreStep& step) { return step.scratch == i; });
    if (!restored) TUNEONCE_RETURN_IF_ERROR(scratch_[i].buffer.Fill(value, kRedZone, scratch_[i].bytes));
  }
  return Status();
}

Result<std::string> SplitBuffers::FindStrayWrite() const {
  std::string found;
  for (const Scratch& scratch : scratch_) {
    for (bool is_behind : {false, true}) {
      CUdeviceptr zone = scratch.buffer.get() + (is_behind ? kRedZone + scratch.bytes : 0);
      TUNEONCE_ASSIGN_OR_RETURN(std::vector<char> bytes, ReadDeviceMemory(scratch.buffer.stream(), zone, kRedZone));
      bool intact = std::all_of(bytes.begin(), bytes.end(),
                                [](char byte) { return static_cast<unsigned char>(byte) == kRedZoneByte; });
      if (intact) continue;
      if (found.empty()) found = absl::StrCat(is_behind ? "behind " : "before ", scratch.names);
      TUNEONCE_RETURN_IF_ERROR(FillRedZones(scratch));
    }
  }
  return found;
}

}  // namespace tuneonce
