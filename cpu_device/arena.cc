#include "arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <iterator>
#include <utility>

namespace tuneonce::cpu_device {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t RoundUp(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

/// Returns a file without a name that contains `bytes` bytes from `start` and cannot change its size, so that all of a
/// mapping is always accessible. Returns -1 if no file can be created.
FileDescriptor CopyToFile(const char* start, std::size_t bytes) {
  static const char zeros[kPage] = {};
  rlimit most{};  // Beyond it ftruncate would end the process, by SIGXFSZ.
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < bytes) return {};
  FileDescriptor file(memfd_create(kSharedFileName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.is_open() || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return {};
  for (std::size_t offset = 0; offset < bytes; offset += kPage) {
    if (std::memcmp(start + offset, zeros, kPage) == 0) continue;  // Usually all pages, because fresh memory is zero.
    if (pwrite(file.get(), start + offset, kPage, static_cast<off_t>(offset)) != kPage) return {};
  }
  if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return {};
  return file;
}

bool MapFile(char* start, std::size_t bytes, int file) {
  return mmap(start, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == start;
}

}  // namespace

Arena::Arena(std::size_t capacity_bytes) : capacity_(RoundUp(capacity_bytes)), range_(2 * capacity_) {
  void* base = mmap(nullptr, range_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  base_ = base == MAP_FAILED ? nullptr : static_cast<char*>(base);
  if (base_ != nullptr) holes_[base_] = range_;
}

Arena::~Arena() {
  if (base_ != nullptr) munmap(base_, range_);
}

void* Arena::Allocate(std::size_t bytes, Kind kind) {
  MutexLock lock(mutex_);
  if (bytes == 0 || bytes > capacity_ || RoundUp(bytes) > capacity_ - used_) return nullptr;
  std::size_t size = RoundUp(bytes);
  auto hole = FindHole(size);
  if (hole == holes_.end()) return nullptr;
  char* start = hole->first;
  if (mprotect(start, size, PROT_READ | PROT_WRITE) != 0) return nullptr;
  Take(hole, Block{size, kind});
  used_ += size;
  return start;
}

bool Arena::Free(void* pointer) {
  MutexLock lock(mutex_);
  auto block = blocks_.find(static_cast<char*>(pointer));
  if (block == blocks_.end() || block->second.is_mapped) return false;
  used_ -= block->second.bytes;
  Return(block);
  return true;
}

CUresult Arena::Share(void* pointer, int* file, std::size_t* bytes) {
  MutexLock lock(mutex_);
  auto found = blocks_.find(static_cast<char*>(pointer));
  if (found == blocks_.end() || found->second.is_mapped) return CUDA_ERROR_INVALID_VALUE;
  Block& block = found->second;
  if (block.kind != Kind::kOrdinary) return CUDA_ERROR_INVALID_VALUE;
  if (!block.file.is_open()) {
    FileDescriptor copy = CopyToFile(found->first, block.bytes);
    if (!copy.is_open() || !MapFile(found->first, block.bytes, copy.get())) return CUDA_ERROR_OUT_OF_MEMORY;
    block.file = std::move(copy);
  }
  *file = block.file.get();
  *bytes = block.bytes;
  return CUDA_SUCCESS;
}

void* Arena::Map(int file, std::size_t bytes) {
  MutexLock lock(mutex_);
  std::size_t size = RoundUp(bytes);
  auto hole = FindHole(size);
  if (hole == holes_.end()) return nullptr;
  char* start = hole->first;
  if (!MapFile(start, size, file)) return nullptr;
  Take(hole, Block{size, Kind::kOrdinary, /*is_mapped=*/true});
  return start;
}

bool Arena::Unmap(void* pointer) {
  MutexLock lock(mutex_);
  auto block = blocks_.find(static_cast<char*>(pointer));
  if (block == blocks_.end() || !block->second.is_mapped) return false;
  Return(block);
  return true;
}

std::map<char*, std::size_t>::iterator Arena::FindHole(std::size_t bytes) {
  auto hole = holes_.begin();
  while (hole != holes_.end() && (bytes >= range_ || hole->second < bytes + kPage)) ++hole;
  return hole;
}

void Arena::Take(std::map<char*, std::size_t>::iterator hole, Block block) {
  auto [start, length] = *hole;
  std::size_t taken = block.bytes + kPage;
  holes_.erase(hole);
  if (length > taken) holes_[start + taken] = length - taken;
  blocks_.emplace(start, std::move(block));
}

void Arena::Return(Blocks::iterator block) {
  char* start = block->first;
  std::size_t size = block->second.bytes;
  if (block->second.is_mapped || block->second.file.is_open()) {  // Others keep what the file holds.
    mmap(start, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  } else {
    madvise(start, size, MADV_DONTNEED);
    mprotect(start, size, PROT_NONE);
  }
  blocks_.erase(block);
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
}

bool Arena::Contains(const void* pointer, std::size_t bytes) const {
  MutexLock lock(mutex_);
  auto* address = const_cast<char*>(static_cast<const char*>(pointer));
  auto it = blocks_.upper_bound(address);
  if (it == blocks_.begin()) return false;
  --it;
  std::size_t offset = static_cast<std::size_t>(address - it->first);
  return offset <= it->second.bytes && bytes <= it->second.bytes - offset;
}

bool Arena::Owns(const void* pointer) const { return base_ != nullptr && pointer >= base_ && pointer < base_ + range_; }

std::size_t Arena::free_bytes() const {
  MutexLock lock(mutex_);
  return base_ == nullptr ? 0 : capacity_ - used_;
}

}  // namespace tuneonce::cpu_device
