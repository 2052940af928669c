#ifndef TUNEONCE_LIB_SEARCH_TRIAL_MEMORY_H_
#define TUNEONCE_LIB_SEARCH_TRIAL_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "measure/verify.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {

/// The device memory of one search: everything that its trials need besides the caller's own tensors. It counts what is
/// allocated and refuses what would exceed the budget, so that the host keeps the rest. Copies share one account, and
/// allocations may outlive it. A candidate that does not fit fails alone, while copies of inputs that do not fit decide
/// whether candidates run at all (SearchOptions::memory_budget_bytes). Thread rule: one thread.
class TrialMemory {
  struct Account {
    std::size_t budget = 0;
    std::size_t used = 0;
    std::size_t peak = 0;
    std::size_t missing = 0;
    std::map<CUdeviceptr, std::size_t> blocks;
  };

 public:
  /// Makes an account for the current context's device. A `budget_bytes` of 0 means half of the free memory. Errors:
  /// the driver's.
  static Result<TrialMemory> Create(const DriverApi& api, std::size_t budget_bytes);

  /// Bytes that count as held for as long as it lives. Move-only.
  class Charge {
   public:
    Charge() = default;
    Charge(Charge&& other) noexcept { *this = std::move(other); }
    Charge& operator=(Charge&& other) noexcept {
      std::swap(account_, other.account_);
      std::swap(bytes_, other.bytes_);
      std::swap(address_, other.address_);
      return *this;
    }
    ~Charge();

   private:
    friend class TrialMemory;
    std::shared_ptr<Account> account_;
    std::size_t bytes_ = 0;
    CUdeviceptr address_ = 0;
  };
  /// Memory that is counted. `buffer` goes first.
  struct Block {
    Charge charge;
    DeviceBuffer buffer;
  };

  /// In the order of `stream`. Errors: ResourceExhausted: the budget or the device's memory does not allow it.
  Result<Block> Allocate(StreamView stream, std::size_t bytes);
  /// Counts memory that was allocated elsewhere: code, the buffer that flushes the cache. Errors: ResourceExhausted.
  Result<Charge> Count(std::size_t bytes);

  /// Says where the memory lies that was counted.
  void Place(Charge& charge, CUdeviceptr address);

  /// States that this memory is the library's, though it is not counted: fills for a warm-up. Candidates may overwrite
  /// it.
  void AddOwn(CUdeviceptr address, std::size_t bytes) { account_->blocks[address] = bytes; }
  /// True if the address lies in a block of this memory: it is not the caller's then.
  bool Holds(CUdeviceptr address) const;
  /// Returns by how much the budget was too small at the last refusal, or 0 if the device had no memory.
  std::size_t missing_bytes() const { return account_->missing; }
  /// Returns how many bytes can still be allocated.
  std::size_t left_bytes() const { return account_->used < account_->budget ? account_->budget - account_->used : 0; }
  /// Held at most, so far.
  std::size_t peak_bytes() const { return account_->peak; }

 private:
  explicit TrialMemory(std::shared_ptr<Account> account) : account_(std::move(account)) {}

  std::shared_ptr<Account> account_;
};

/// A block of memory in which pieces for trials lie between guard zones, which show writes outside of them. Work is in
/// the order of the stream that it was created on. Move-only. Thread rule: one thread.
class GuardedMemory {
 public:
  /// Before and behind each piece. Indices that are off by a row or a tile miss by some KiB: 16 KiB were seen, a row of
  /// 16384 floats is 64.
  static constexpr std::size_t kGuardBytes = std::size_t{64} << 10;
  /// Pieces lie where memory of the driver's would: code may be compiled for it, and its speed depends on it.
  static constexpr std::size_t kAlignment = 256;

  struct Piece {
    std::size_t bytes = 0;    ///< 0: no memory, and address 0.
    CUdeviceptr like = 0;     ///< Its address is this one's modulo kAlignment.
    std::string name;         ///< "'x'": for messages.
    CUdeviceptr address = 0;  ///< Filled in.
  };

  /// Returns the size of a block for these pieces, guard zones included.
  static std::size_t BytesFor(const std::vector<Piece>& pieces);
  /// Errors: ResourceExhausted.
  static Result<GuardedMemory> Create(TrialMemory& memory, StreamView stream, std::size_t bytes);

  /// Places pieces in the block, from its beginning on, instead of those that were there. They are at the same
  /// addresses whenever their sizes are. REQUIRES: BytesFor(pieces) <= bytes().
  void LayOut(std::vector<Piece> pieces);
  /// Fills the guards of these pieces. Waits.
  Status Arm(ArrayComparer& comparer);

  const std::vector<Piece>& pieces() const { return pieces_; }
  std::size_t bytes() const { return block_.buffer.bytes(); }
  Status Fill(std::size_t piece, unsigned char value) const;
  Status CopyFrom(std::size_t piece, CUdeviceptr source) const;
  /// REQUIRES: `source` stays as it is until the stream got there.
  Status CopyFromHost(std::size_t piece, const void* source) const;

  /// One guard zone, and its checksum while it is unchanged.
  struct Guard {
    MemoryRange range;
    std::uint64_t checksum = 0;
    std::string place;  ///< "behind 'x'".
  };
  const std::vector<Guard>& guards() const { return guards_; }
  /// Fills one zone again.
  Status Mend(const Guard& guard) const;

 private:
  explicit GuardedMemory(TrialMemory::Block block) : block_(std::move(block)) {}

  TrialMemory::Block block_;
  std::vector<Piece> pieces_;
  std::vector<Guard> guards_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_TRIAL_MEMORY_H_
