#include "event.h"

namespace tuneonce::cpu_device {

std::uint64_t Event::Issue() {
  std::lock_guard<std::mutex> lock(mutex_);
  return ++issued_;
}

void Event::Complete(std::uint64_t number) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (number > completed_) {
    completed_ = number;
    time_ = std::chrono::steady_clock::now();
  }
  completed_one_.notify_all();
}

bool Event::IsComplete() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return completed_ >= issued_;
}

void Event::Wait() const { Wait(last_issued()); }

void Event::Wait(std::uint64_t number) const {
  std::unique_lock<std::mutex> lock(mutex_);
  completed_one_.wait(lock, [&] { return completed_ >= number; });
}

std::uint64_t Event::last_issued() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return issued_;
}

std::chrono::steady_clock::time_point Event::time() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return time_;
}

}  // namespace tuneonce::cpu_device
