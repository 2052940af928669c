#ifndef TUNEONCE_LIB_BASE_DEADLINE_H_
#define TUNEONCE_LIB_BASE_DEADLINE_H_

#include <algorithm>
#include <chrono>

namespace tuneonce {
inline namespace v0 {

/// Returns the time point `limit` after `start`, for any limit that a host may give, `milliseconds::max()` included: no
/// limit is longer than a year.
inline std::chrono::steady_clock::time_point DeadlineIn(
    std::chrono::milliseconds limit, std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now()) {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);
  return start + std::clamp(limit, std::chrono::milliseconds(0), kLongest);
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_DEADLINE_H_
