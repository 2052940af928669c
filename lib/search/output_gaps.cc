#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "search/trial_tensors.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr std::uint64_t kMostBytes = 8;  // Maximum size of a granule.
constexpr std::uint64_t kWordBits = 32;

/// Bits of a mask, in the words that MaskedMemory has.
class Mask {
 public:
  explicit Mask(std::uint64_t bits) : bits_(bits), words_((bits + kWordBits - 1) / kWordBits, 0) {}

  void Set(std::uint64_t begin, std::uint64_t end) {
    while (begin < end) {
      const std::uint64_t first = begin % kWordBits, count = std::min(kWordBits - first, end - begin);
      const std::uint32_t ones = count == kWordBits ? ~0u : (1u << count) - 1;
      words_[begin / kWordBits] |= ones << first;
      begin += count;
    }
  }
  bool AreAllSet() const {
    for (std::uint64_t i = 0; i + 1 < words_.size(); ++i) {
      if (words_[i] != ~0u) return false;
    }
    const std::uint64_t left = bits_ - (words_.size() - 1) * kWordBits;
    return words_.back() == (left == kWordBits ? ~0u : (1u << left) - 1);
  }
  const std::vector<std::uint32_t>& words() const { return words_; }

 private:
  std::uint64_t bits_;
  std::vector<std::uint32_t> words_;  // Not empty.
};

/// True if it is not known which bytes of its memory are elements, so that all of them count: memory without a shape or
/// a type, strides that lead elsewhere. Also true where all of them are.
bool IsWhole(const TensorView& tensor) {
  if (tensor.dtype == DType::kAny) return true;
  Result<ArrayLayout> layout = ArrayLayout::Of(tensor);
  return !layout.ok() || (layout->rank == 0 && layout->count * DTypeBytes(tensor.dtype) == tensor.bytes);
}

/// Calls `run(begin, end)`, in bytes from the tensor's data on, for each stretch of its elements, until one returns
/// false.
template <typename Run>
void ForEachElementRange(const TensorView& tensor, const Run& run) {
  if (IsWhole(tensor)) {
    run(std::uint64_t{0}, std::uint64_t{tensor.bytes});
    return;
  }
  if (!tensor.HasElements()) return;
  const auto bytes = static_cast<std::int64_t>(DTypeBytes(tensor.dtype));
  ForEachStretch(tensor, [&](std::int64_t offset, std::int64_t count) {
    return run(static_cast<std::uint64_t>(offset * bytes), static_cast<std::uint64_t>((offset + count) * bytes));
  });
}

/// True if the byte is part of one of its elements.
bool HasByte(const TensorView& tensor, std::uint64_t byte) {
  bool has = false;
  ForEachElementRange(tensor, [&](std::uint64_t begin, std::uint64_t end) {
    has = byte >= begin && byte < end;
    return !has;
  });
  return has;
}

}  // namespace

Result<std::optional<OutputGaps>> OutputGaps::Create(const KernelDefinition& definition, const TensorRange& range,
                                                     TrialMemory& memory, StreamView stream) {
  std::vector<Place> places;
  std::uint64_t granule = std::gcd(kMostBytes, std::gcd(range.begin, range.end));
  for (const ReachedTensor& reached : range.tensors) {
    const Parameter& parameter = definition.parameters()[reached.parameter];
    const TensorView& tensor = *reached.tensor;
    const std::uint64_t offset = reinterpret_cast<CUdeviceptr>(tensor.data) - range.begin;
    const bool is_input = parameter.access == Access::kIn;
    places.push_back(Place{NameOf(parameter, reached), is_input, offset, tensor});
    if (is_input) continue;
    if (tensor.bytes == range.end - range.begin && IsWhole(tensor)) return std::optional<OutputGaps>();
    granule = std::gcd(granule, std::gcd(offset, IsWhole(tensor) ? tensor.bytes : DTypeBytes(tensor.dtype)));
  }
  Mask mask((range.end - range.begin) / granule);
  for (const Place& place : places) {
    if (place.is_input) continue;
    ForEachElementRange(place.tensor, [&](std::uint64_t begin, std::uint64_t end) {
      mask.Set((place.offset + begin) / granule, (place.offset + end) / granule);
      return true;
    });
  }
  if (mask.AreAllSet()) return std::optional<OutputGaps>();
  const std::size_t bytes = mask.words().size() * sizeof(std::uint32_t);
  TUNEONCE_ASSIGN_OR_RETURN(TrialMemory::Block block, memory.Allocate(stream, bytes));
  TUNEONCE_RETURN_IF_ERROR(block.buffer.CopyFromHost(mask.words().data(), bytes));
  TUNEONCE_RETURN_IF_ERROR(stream.Synchronize());  // Before the words go.
  return std::optional<OutputGaps>(
      OutputGaps(std::move(places), std::move(block), static_cast<int>(granule), (range.end - range.begin) / granule));
}

std::string OutputGaps::NamesOfOutputs() const {
  std::vector<std::string> names;
  for (const Place& place : places_) {
    if (!place.is_input) names.push_back(place.name);
  }
  return absl::StrJoin(names, ", ");
}

Result<std::optional<StrayWrite>> OutputGaps::Find(ArrayComparer& comparer, CUdeviceptr scratch, CUdeviceptr original,
                                                   unsigned char fill) const {
  const MaskedMemory memory{scratch, granule_, count_, mask_.buffer.get()};
  TUNEONCE_ASSIGN_OR_RETURN(ChangedMemory changed, comparer.FindChanges(memory, original, fill));
  if (changed.bytes == 0) return std::optional<StrayWrite>();
  const Place* around = nullptr;  // The tensor that the first byte lies in the gaps of: an output, if there is one.
  for (const Place& place : places_) {
    if (changed.first < place.offset || changed.first >= place.offset + place.tensor.bytes) continue;
    if (place.is_input && HasByte(place.tensor, changed.first - place.offset)) {
      return std::optional<StrayWrite>(
          {OutcomeKind::kWroteInput, absl::StrCat("the kernel wrote to its input ", place.name,
                                                  ", which shares memory with ", NamesOfOutputs())});
    }
    if (around == nullptr || (around->is_input && !place.is_input)) around = &place;
  }
  if (around == nullptr) return InternalError("the kernel wrote to memory outside all tensors");
  const TensorView& tensor = around->tensor;
  const bool has_rows = tensor.rank > 1 && tensor.strides[static_cast<std::size_t>(tensor.rank - 1)] == 1;
  return std::optional<StrayWrite>(
      {OutcomeKind::kOutOfBounds, absl::StrCat("the kernel wrote between the ", has_rows ? "rows" : "elements", " of ",
                                               around->name, ": ", changed.bytes, " bytes, the first ",
                                               changed.first - around->offset, " bytes after its beginning")});
}

}  // namespace v0
}  // namespace tuneonce
