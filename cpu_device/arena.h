#ifndef TUNEONCE_CPU_DEVICE_ARENA_H_
#define TUNEONCE_CPU_DEVICE_ARENA_H_

#include <cstddef>
#include <map>

#include "base/mutex.h"

namespace tuneonce::cpu_device {

/// One device's memory: a sparse range of addresses of which only allocated pages can be touched. An access past the
/// end of an allocation (to the next page), or to freed memory, faults, as on a GPU. Thread-safe.
class Arena {
 public:
  explicit Arena(std::size_t capacity_bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Page-aligned memory for `bytes`, or nullptr when less than that is free.
  void* Allocate(std::size_t bytes);
  /// False if `pointer` is not the start of an allocation.
  bool Free(void* pointer);
  /// True if [pointer, pointer + bytes) lies inside one allocation.
  bool Contains(const void* pointer, std::size_t bytes) const;
  /// True if `pointer` lies in this arena's address range, allocated or not.
  bool Owns(const void* pointer) const;

  std::size_t capacity_bytes() const { return capacity_; }
  std::size_t free_bytes() const;

 private:
  const std::size_t capacity_;
  const std::size_t range_;  // Twice the capacity: room for guard pages and holes.
  char* base_;
  mutable Mutex mutex_;
  std::size_t used_ TUNEONCE_GUARDED_BY(mutex_) = 0;
  std::map<char*, std::size_t> allocated_ TUNEONCE_GUARDED_BY(mutex_);  // Start -> rounded bytes.
  std::map<char*, std::size_t> holes_ TUNEONCE_GUARDED_BY(mutex_);      // Start -> bytes; neighbours are merged.
};

}  // namespace tuneonce::cpu_device

#endif  // TUNEONCE_CPU_DEVICE_ARENA_H_
