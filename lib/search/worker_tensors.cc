#include "cuda/driver_api.h"
#include "cuda/ipc_memory.h"
#include "search/trial_memory.h"
#include "search/trial_worker.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr std::size_t kAlignment = GuardedMemory::kAlignment;

/// From `from` on, the next place that lies as `range` does modulo kAlignment.
std::uint64_t PlaceFrom(std::uint64_t from, const TensorRange& range) {
  return (from + kAlignment - 1) / kAlignment * kAlignment + range.begin % kAlignment;
}

}  // namespace

std::size_t WorkerTensors::BytesFor(const std::vector<TensorRange>& ranges) {
  std::uint64_t end = 0;
  for (const TensorRange& range : ranges) {
    if (range.read) end = PlaceFrom(end, range) + (range.end - range.begin);
  }
  return static_cast<std::size_t>(end);
}

Result<std::vector<std::uint64_t>> WorkerTensors::Place(const std::vector<TensorRange>& ranges,
                                                        const Allocate& allocate, StreamView stream) {
  std::vector<TensorRange> to_copy;
  for (const TensorRange& range : ranges) {
    if (places_.count(KeyOf(range)) > 0) continue;
    if (range.read) {
      to_copy.push_back(range);
      continue;
    }
    places_[KeyOf(range)] = PlaceFrom(next_unread_, range);
    next_unread_ = places_[KeyOf(range)] + (range.end - range.begin);
  }
  if (!to_copy.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(Block block, allocate(BytesFor(to_copy)));
    TUNEONCE_ASSIGN_OR_RETURN(ImportedBlock here, ImportedBlock::Open(stream.api(), block.handle));
    std::map<Key, std::uint64_t> copied;
    std::uint64_t offset = 0;
    for (const TensorRange& range : to_copy) {
      offset = PlaceFrom(offset, range);
      copied[KeyOf(range)] = block.address + offset;
      const std::size_t bytes = range.end - range.begin;
      TUNEONCE_CUDA_RETURN_IF_ERROR(stream.api(),
                                    MemcpyDtoDAsync(here.address() + offset, range.begin, bytes, stream.get()));
      offset += bytes;
    }
    TUNEONCE_RETURN_IF_ERROR(stream.Synchronize());  // Before `here` is closed.
    places_.merge(copied);
  }
  std::vector<std::uint64_t> addresses;
  for (const TensorRange& range : ranges) addresses.push_back(places_.at(KeyOf(range)));
  return addresses;
}

Status WorkerTensors::Place(const Candidate& candidate, const Allocate& allocate, StreamView stream,
                            TrialDescription* description) {
  const std::vector<TensorRange> ranges = TensorRangesOf(*candidate.definition, candidate.call);
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::uint64_t> addresses, Place(ranges, allocate, stream));
  for (TrialDescription::Parameter& parameter : description->parameters) {
    if (parameter.argument && parameter.argument->bytes == 0) parameter.argument->address = 0;  // It has no elements.
  }
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    for (const ReachedTensor& reached : ranges[i].tensors) {
      std::uint64_t& address = description->parameters[reached.parameter].argument->address;
      address = addresses[i] + (address - ranges[i].begin);
    }
  }
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
