#include "event.h"

namespace tuneonce::cpu_device {

std::uint64_t Event::Issue() {
  MutexLock lock(mutex_);
  return ++issued_;
}

void Event::Complete(std::uint64_t number) {
  MutexLock lock(mutex_);
  if (number > completed_) {
    completed_ = number;
    time_ = std::chrono::steady_clock::now();
  }
  completed_one_.NotifyAll();
}

bool Event::IsComplete() const {
  MutexLock lock(mutex_);
  return completed_ >= issued_;
}

void Event::Wait() const { Wait(last_issued()); }

void Event::Wait(std::uint64_t number) const {
  MutexLock lock(mutex_);
  while (completed_ < number) completed_one_.Wait(lock);
}

std::uint64_t Event::last_issued() const {
  MutexLock lock(mutex_);
  return issued_;
}

std::chrono::steady_clock::time_point Event::time() const {
  MutexLock lock(mutex_);
  return time_;
}

}  // namespace tuneonce::cpu_device
