#include "search/trial_memory.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cuda/driver_api.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"

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

Result<TrialMemory> TrialMemory::Create(const DriverApi& api, std::size_t budget_bytes) {
  auto account = std::make_shared<Account>();
  account->budget = budget_bytes;
  if (budget_bytes == 0) {
    std::size_t free = 0;
    std::size_t total = 0;
    TUNEONCE_CUDA_RETURN_IF_ERROR(api, MemGetInfo(&free, &total));
    account->budget = free / 2;
  }
  return TrialMemory(std::move(account));
}

TrialMemory::Charge::~Charge() {
  if (account_ == nullptr) return;
  account_->used -= bytes_;
  account_->blocks.erase(address_);
}

Result<TrialMemory::Charge> TrialMemory::Count(std::size_t bytes) {
  std::size_t left = account_->budget - std::min(account_->budget, account_->used);
  account_->missing = bytes > left ? bytes - left : 0;
  if (bytes > left) {
    return ResourceExhaustedError(absl::StrCat(bytes, " more bytes exceed the search's memory budget: ", account_->used,
                                               " of ", account_->budget,
                                               " bytes are in use (SearchOptions::memory_budget_bytes)"));
  }
  Charge charge;
  charge.account_ = account_;
  charge.bytes_ = bytes;
  account_->used += bytes;
  account_->peak = std::max(account_->peak, account_->used);
  return charge;
}

Result<TrialMemory::Block> TrialMemory::Allocate(StreamView stream, std::size_t bytes) {
  TUNEONCE_ASSIGN_OR_RETURN(Charge charge, Count(bytes));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer buffer, DeviceBuffer::Allocate(stream, bytes));
  if (bytes > 0) Place(charge, buffer.get());
  return Block{std::move(charge), std::move(buffer)};
}

void TrialMemory::Place(Charge& charge, CUdeviceptr address) {
  charge.address_ = address;
  account_->blocks[address] = charge.bytes_;
}

bool TrialMemory::Holds(CUdeviceptr address) const {
  auto block = account_->blocks.upper_bound(address);
  if (block == account_->blocks.begin()) return false;
  --block;
  return address - block->first < block->second;
}

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
