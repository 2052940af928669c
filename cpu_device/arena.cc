#include "arena.h"

#include <sys/mman.h>

#include <iterator>

namespace tuneonce::cpu_device {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t RoundUp(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

Arena::Arena(std::size_t capacity_bytes) : capacity_(RoundUp(capacity_bytes)), range_(2 * capacity_) {
  void* base = mmap(nullptr, range_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  base_ = base == MAP_FAILED ? nullptr : static_cast<char*>(base);
  if (base_ != nullptr) holes_[base_] = range_;
}

Arena::~Arena() {
  if (base_ != nullptr) munmap(base_, range_);
}

void* Arena::Allocate(std::size_t bytes) {
  MutexLock lock(mutex_);
  if (bytes == 0 || bytes > capacity_ || RoundUp(bytes) > capacity_ - used_) return nullptr;
  std::size_t size = RoundUp(bytes);
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    auto [start, length] = *hole;
    if (length < size + kPage) continue;
    if (mprotect(start, size, PROT_READ | PROT_WRITE) != 0) return nullptr;
    holes_.erase(hole);
    if (length > size + kPage) holes_[start + size + kPage] = length - size - kPage;
    allocated_[start] = size;
    used_ += size;
    return start;
  }
  return nullptr;
}

bool Arena::Free(void* pointer) {
  MutexLock lock(mutex_);
  auto it = allocated_.find(static_cast<char*>(pointer));
  if (it == allocated_.end()) return false;
  auto [start, size] = *it;
  allocated_.erase(it);
  used_ -= size;
  madvise(start, size, MADV_DONTNEED);
  mprotect(start, size, PROT_NONE);
  auto hole = holes_.emplace(start, size + kPage).first;
  if (auto next = std::next(hole); next != holes_.end() && hole->first + hole->second == next->first) {
    hole->second += next->second;
    holes_.erase(next);
  }
  if (hole != holes_.begin()) {
    auto previous = std::prev(hole);
    if (previous->first + previous->second == hole->first) {
      previous->second += hole->second;
      holes_.erase(hole);
    }
  }
  return true;
}

bool Arena::Contains(const void* pointer, std::size_t bytes) const {
  MutexLock lock(mutex_);
  auto* address = const_cast<char*>(static_cast<const char*>(pointer));
  auto it = allocated_.upper_bound(address);
  if (it == allocated_.begin()) return false;
  --it;
  std::size_t offset = static_cast<std::size_t>(address - it->first);
  return offset <= it->second && bytes <= it->second - offset;
}

bool Arena::Owns(const void* pointer) const { return base_ != nullptr && pointer >= base_ && pointer < base_ + range_; }

std::size_t Arena::free_bytes() const {
  MutexLock lock(mutex_);
  return base_ == nullptr ? 0 : capacity_ - used_;
}

}  // namespace tuneonce::cpu_device
