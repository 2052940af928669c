#ifndef TUNEONCE_LIB_BASE_DEADLINE_H_
#define TUNEONCE_LIB_BASE_DEADLINE_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tuneonce {
inline namespace v0 {

/// Returns the time point `limit` after `start`, for any limit that a host may give, `milliseconds::max()` included: no
/// limit is longer than a year.
inline std::chrono::steady_clock::time_point DeadlineIn(
    std::chrono::milliseconds limit, std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now()) {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);
  return start + std::clamp(limit, std::chrono::milliseconds(0), kLongest);
}

/// Returns the share of the remaining time for one key when `keys` are left to tune. Time that one key does not use is
/// available to the others. REQUIRES: keys > 0.
inline std::chrono::milliseconds ShareOf(std::chrono::steady_clock::duration left, std::size_t keys) {
  constexpr std::chrono::milliseconds kMost(std::numeric_limits<int>::max());
  const auto share = std::chrono::duration_cast<std::chrono::milliseconds>(left) / static_cast<std::int64_t>(keys);
  return std::clamp(share, std::chrono::milliseconds(0), kMost);
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_DEADLINE_H_
