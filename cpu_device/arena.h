#ifndef TUNEONCE_CPU_DEVICE_ARENA_H_
#define TUNEONCE_CPU_DEVICE_ARENA_H_

#include <cuda.h>

#include <cstddef>
#include <map>

#include "base/file.h"
#include "base/mutex.h"

namespace tuneonce::cpu_device {

/// The name of files with shared blocks in /proc.
inline constexpr char kSharedFileName[] = "tuneonce-cpu-device";

/// One device's memory: a sparse range of addresses of which only allocated pages are accessible. An access past the
/// end of an allocation (to the next page), or to freed memory, faults, as on a GPU. Thread-safe.
///
/// It is private to this process, except for blocks that were shared, and mapped blocks of other processes. These lie
/// in files without a name (memfd_create), which end with the last process that uses them.
class Arena {
 public:
  /// Which call a block is from; those of a stream are freed in its order, and cannot be shared.
  enum class Kind { kOrdinary, kOfStream };

  explicit Arena(std::size_t capacity_bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Page-aligned memory for `bytes`, or nullptr when less than that is free.
  void* Allocate(std::size_t bytes, Kind kind = Kind::kOrdinary);
  /// False if `pointer` is not the start of an allocation.
  bool Free(void* pointer);

  /// The file that holds a block, which stays this arena's: from the first call on other processes can map it.
  /// REQUIRES: nothing runs that writes it. Errors: CUDA_ERROR_INVALID_VALUE, if `pointer` is not the start of an
  /// ordinary block; CUDA_ERROR_OUT_OF_MEMORY, if no such file can be had.
  CUresult Share(void* pointer, int* file, std::size_t* bytes);
  /// Maps a file of another process's block, which does not count towards the capacity. Returns null if no hole is
  /// large enough.
  void* Map(int file, std::size_t bytes);
  /// False if `pointer` is not what Map gave.
  bool Unmap(void* pointer);

  /// True if [pointer, pointer + bytes) lies inside one allocation.
  bool Contains(const void* pointer, std::size_t bytes) const;
  /// True if `pointer` lies in this arena's address range, allocated or not.
  bool Owns(const void* pointer) const;

  std::size_t capacity_bytes() const { return capacity_; }
  std::size_t free_bytes() const;

 private:
  struct Block {
    std::size_t bytes;  // Rounded up to pages.
    Kind kind = Kind::kOrdinary;
    bool is_mapped = false;    // Another process's.
    FileDescriptor file = {};  // The file of a block that was shared.
  };
  using Blocks = std::map<char*, Block>;

  /// Returns the first hole that fits a block and the guard page after it, or the end.
  std::map<char*, std::size_t>::iterator FindHole(std::size_t bytes) TUNEONCE_REQUIRES(mutex_);
  /// Takes a block from a hole's start.
  void Take(std::map<char*, std::size_t>::iterator hole, Block block) TUNEONCE_REQUIRES(mutex_);
  /// Gives a block back to the holes, with pages that cannot be touched.
  void Return(Blocks::iterator block) TUNEONCE_REQUIRES(mutex_);

  const std::size_t capacity_;
  const std::size_t range_;  // Twice the capacity: room for guard pages and holes.
  char* base_;
  mutable Mutex mutex_;
  std::size_t used_ TUNEONCE_GUARDED_BY(mutex_) = 0;
  Blocks blocks_ TUNEONCE_GUARDED_BY(mutex_);                       // By start.
  std::map<char*, std::size_t> holes_ TUNEONCE_GUARDED_BY(mutex_);  // Start -> bytes; neighbours are merged.
};

}  // namespace tuneonce::cpu_device

#endif  // TUNEONCE_CPU_DEVICE_ARENA_H_
