#ifndef TUNEONCE_LIB_SEARCH_TRIAL_MEMORY_H_
#define TUNEONCE_LIB_SEARCH_TRIAL_MEMORY_H_

#include <cstddef>
#include <map>
#include <memory>
#include <utility>

#include "tuneonce/device_buffer.h"

namespace tuneonce {
inline namespace v0 {

/// The memory of one search: all that its trials need beside the caller's own tensors. What is held is counted here,
/// and what would exceed the budget is refused, so that the host keeps the rest. Copies share one account; what was
/// allocated may outlive it. Thread rule: one thread.
class TrialMemory {
  struct Account {
    std::size_t budget = 0;
    std::size_t used = 0;
    std::size_t peak = 0;
    std::size_t missing = 0;
    std::map<CUdeviceptr, std::size_t> blocks;
  };

 public:
  /// For the current context's device. `budget_bytes` 0: half of what is free now. Errors: the driver's.
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
  /// Of the last refusal: what more the budget would have had to be; 0 if it was the device that had no memory.
  std::size_t missing_bytes() const { return account_->missing; }
  /// What more could be held now.
  std::size_t left_bytes() const { return account_->used < account_->budget ? account_->budget - account_->used : 0; }
  /// Held at most, so far.
  std::size_t peak_bytes() const { return account_->peak; }

 private:
  explicit TrialMemory(std::shared_ptr<Account> account) : account_(std::move(account)) {}

  std::shared_ptr<Account> account_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_TRIAL_MEMORY_H_
