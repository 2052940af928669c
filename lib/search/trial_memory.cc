#include "search/trial_memory.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cuda/cuda_status.h"
#include "cuda/relaxed_driver.h"
#include "tuneonce/device_buffer.h"
#include "tuneonce/search_options.h"

namespace tuneonce {
inline namespace v0 {

Result<TrialMemory> TrialMemory::Create(const DriverApi& api, std::size_t budget_bytes) {
  auto account = std::make_shared<Account>();
  account->budget = budget_bytes;
  if (budget_bytes == 0) {
    RelaxedDriver driver(api);
    std::size_t free = 0;
    std::size_t total = 0;
    TUNEONCE_CUDA_RETURN_IF_ERROR(api, driver, MemGetInfo(&free, &total));
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

}  // namespace v0
}  // namespace tuneonce
