#include "search/guarded_memory.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr unsigned char kGuardByte = 0xA5;

/// Bytes from the beginning of a piece's zone before to the end of the one behind, in whole units of the alignment.
std::size_t Footprint(const GuardedMemory::Piece& piece) {
  if (piece.bytes == 0) return 0;
  std::size_t used = piece.like % GuardedMemory::kAlignment + piece.bytes;
  std::size_t units = (used + GuardedMemory::kAlignment - 1) / GuardedMemory::kAlignment;
  return units * GuardedMemory::kAlignment + 2 * GuardedMemory::kGuardBytes;
}

}  // namespace

std::size_t GuardedMemory::BytesFor(const std::vector<Piece>& pieces) {
  std::size_t bytes = 0;
  for (const Piece& piece : pieces) bytes += Footprint(piece);
  return bytes;
}

Result<GuardedMemory> GuardedMemory::Create(TrialMemory& memory, StreamView stream, std::size_t bytes) {
  TUNEONCE_ASSIGN_OR_RETURN(TrialMemory::Block block, memory.Allocate(stream, bytes));
  return GuardedMemory(std::move(block));
}

void GuardedMemory::LayOut(std::vector<Piece> pieces) {
  pieces_ = std::move(pieces);
  guards_.clear();
  CUdeviceptr begin = block_.buffer.get();
  for (Piece& piece : pieces_) {
    if (piece.bytes == 0) continue;
    piece.address = begin + kGuardBytes + piece.like % kAlignment;
    CUdeviceptr end = piece.address + piece.bytes;
    guards_.push_back(Guard{{begin, piece.address - begin}, 0, "before " + piece.name});
    begin += Footprint(piece);
    guards_.push_back(Guard{{end, begin - end}, 0, "behind " + piece.name});
  }
}

Status GuardedMemory::Arm(ArrayComparer& comparer) {
  std::vector<MemoryRange> ranges;
  for (const Guard& guard : guards_) {
    TUNEONCE_RETURN_IF_ERROR(Mend(guard));
    ranges.push_back(guard.range);
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::uint64_t> sums, comparer.Checksums(ranges));
  for (std::size_t i = 0; i < sums.size(); ++i) guards_[i].checksum = sums[i];
  return Status();
}

Status GuardedMemory::Mend(const Guard& guard) const {
  return block_.buffer.Fill(kGuardByte, guard.range.address - block_.buffer.get(), guard.range.bytes);
}

Status GuardedMemory::Fill(std::size_t piece, unsigned char value) const {
  const Piece& filled = pieces_[piece];
  if (filled.bytes == 0) return Status();
  return block_.buffer.Fill(value, filled.address - block_.buffer.get(), filled.bytes);
}

Status GuardedMemory::CopyFromHost(std::size_t piece, const void* source) const {
  const Piece& filled = pieces_[piece];
  if (filled.bytes == 0) return Status();
  return block_.buffer.CopyFromHost(source, filled.bytes, filled.address - block_.buffer.get());
}

Status GuardedMemory::CopyFrom(std::size_t piece, CUdeviceptr source) const {
  const Piece& filled = pieces_[piece];
  if (filled.bytes == 0) return Status();
  return block_.buffer.CopyFromDevice(source, filled.bytes, filled.address - block_.buffer.get());
}

}  // namespace v0
}  // namespace tuneonce
