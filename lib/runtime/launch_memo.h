#ifndef TUNEONCE_LIB_RUNTIME_LAUNCH_MEMO_H_
#define TUNEONCE_LIB_RUNTIME_LAUNCH_MEMO_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tuneonce/arguments.h"

namespace tuneonce {
inline namespace v0 {

/// What a thread computed for its last launches of a key that rounds dims: at these dims the guards and the assumptions
/// about extents hold, and this is the grid. A key that does not round has this in its entry, computed once. Each
/// thread has its own memo, so that threads with different dims do not share a cache line, and nothing is locked,
/// allocated or freed. An entry that was dropped leaves an id that is never used again.
struct LaunchMemo {
  std::uint64_t id;             ///< The id of a HitTable::Entry; 0 if the memo was never used.
  std::int64_t dims[kMaxDims];  ///< The first dims().count() are set.
  std::uint32_t grid[3];        ///< In blocks.

  /// Returns an id that was never used.
  static std::uint64_t NewId() { return last_id_.fetch_add(1, std::memory_order_relaxed) + 1; }
  /// Returns the calling thread's memo for an id. Several ids share a memo.
  [[gnu::always_inline]] static LaunchMemo& Of(std::uint64_t id) { return of_thread_[id % kPlaces]; }

  [[gnu::always_inline]] bool IsFor(std::uint64_t entry_id, const Dims& launch_dims) const {
    if (id != entry_id) return false;
    for (int i = 0; i < launch_dims.count(); ++i) {
      if (dims[i] != launch_dims[Dim{i}]) return false;
    }
    return true;
  }
  void Set(std::uint64_t entry_id, const Dims& launch_dims, const std::uint32_t (&launch_grid)[3]) {
    id = entry_id;
    for (int i = 0; i < launch_dims.count(); ++i) dims[i] = launch_dims[Dim{i}];
    std::copy(launch_grid, launch_grid + 3, grid);
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
