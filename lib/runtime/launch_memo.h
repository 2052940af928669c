#ifndef TUNEONCE_LIB_RUNTIME_LAUNCH_MEMO_H_
#define TUNEONCE_LIB_RUNTIME_LAUNCH_MEMO_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tuneonce/dims.h"

namespace tuneonce {
inline namespace v0 {

/// What a thread found for its last launches of a key that rounds dims: at these dims guards and assumptions about
/// extents hold, and this is the grid. A key that does not round has the same in its entry, computed once.
/// Each thread has its own, so that threads with other dims do not take turns in a cache line, and nothing is locked,
/// allocated or freed: an entry that is gone leaves an id behind that none ever has again.
struct LaunchMemo {
  std::uint64_t id;             ///< Of a HitTable::Entry; 0 in one that was never used.
  std::int64_t dims[kMaxDims];  ///< As many as the kernel has.
  std::uint32_t grid[3];        ///< In blocks.

  /// An id that was not there before.
  static std::uint64_t NewId() { return last_id_.fetch_add(1, std::memory_order_relaxed) + 1; }
  /// The calling thread's place for an id, which others share.
  [[gnu::always_inline]] static LaunchMemo& Of(std::uint64_t id) { return of_thread_[id % kPlaces]; }

  [[gnu::always_inline]] bool IsFor(std::uint64_t its_id, const Dims& its_dims) const {
    if (id != its_id) return false;
    for (int i = 0; i < its_dims.count(); ++i) {
      if (dims[i] != its_dims[Dim{i}]) return false;
    }
    return true;
  }
  void Set(std::uint64_t its_id, const Dims& its_dims, const std::uint32_t (&its_grid)[3]) {
    id = its_id;
    for (int i = 0; i < its_dims.count(); ++i) dims[i] = its_dims[Dim{i}];
    std::copy(its_grid, its_grid + 3, grid);
  }

 private:
  static constexpr std::size_t kPlaces = 64;
  static thread_local LaunchMemo of_thread_[kPlaces];
  static std::atomic<std::uint64_t> last_id_;
};

inline thread_local LaunchMemo LaunchMemo::of_thread_[LaunchMemo::kPlaces] = {};
inline std::atomic<std::uint64_t> LaunchMemo::last_id_{0};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_LAUNCH_MEMO_H_
