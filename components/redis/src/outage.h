#ifndef TUNEONCE_COMPONENTS_REDIS_OUTAGE_H_
#define TUNEONCE_COMPONENTS_REDIS_OUTAGE_H_

#include <algorithm>
#include <chrono>
#include <mutex>

namespace tuneonce {
inline namespace v0 {

/// When a server that did not answer is asked again: by one caller, after a pause that grows. Thread rule: any thread.
class Outage {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Outage(int first_retry_ms) : first_(first_retry_ms) {}

  /// Whether to ask now.
  bool MayAsk() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (pause_.count() == 0) return true;
    const Clock::time_point now = Clock::now();
    if (now < retry_at_) return false;
    retry_at_ = now + pause_;  // The others do not wait along.
    return true;
  }
  void Answered() {
    std::lock_guard<std::mutex> lock(mutex_);
    pause_ = std::chrono::milliseconds(0);
  }
  void Failed() {
    constexpr std::chrono::milliseconds kLongest(60000);
    std::lock_guard<std::mutex> lock(mutex_);
    pause_ = std::min(kLongest, std::max(first_, 2 * pause_));
    retry_at_ = Clock::now() + pause_;
  }

 private:
  const std::chrono::milliseconds first_;
  std::mutex mutex_;                    // Guards the members below.
  std::chrono::milliseconds pause_{0};  // Above 0: it did not answer.
  Clock::time_point retry_at_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_COMPONENTS_REDIS_OUTAGE_H_
