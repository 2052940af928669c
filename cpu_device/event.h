#ifndef TUNEONCE_CPU_DEVICE_EVENT_H_
#define TUNEONCE_CPU_DEVICE_EVENT_H_

#include <chrono>
#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "capture_mutex.h"

namespace tuneonce::cpu_device {

struct Capture;
struct Context;

/// An event: the time at which a stream got past its last record. Records are numbered, so that a query right after a
/// new record is not answered by an older one. Thread-safe.
class Event {
 public:
  Event(std::shared_ptr<Context> context, bool has_timing) : context_(std::move(context)), has_timing_(has_timing) {}

  /// A record was put into a stream; returns its number.
  std::uint64_t Issue();
  /// The stream got to record `number`.
  void Complete(std::uint64_t number);
  bool IsComplete() const;
  void Wait() const;
  /// Waits until record `number` is complete.
  void Wait(std::uint64_t number) const;
  /// Returns the number of the last record issued, or 0.
  std::uint64_t last_issued() const;
  std::chrono::steady_clock::time_point time() const;

  const std::shared_ptr<Context>& context() const { return context_; }
  bool has_timing() const { return has_timing_; }

  /// The capture whose stream recorded this event last, if it did so while capturing.
  std::shared_ptr<Capture> capture TUNEONCE_GUARDED_BY(capture_mutex);

 private:
  const std::shared_ptr<Context> context_;
  const bool has_timing_;
  mutable Mutex mutex_;
  mutable ConditionVariable completed_one_;
  std::uint64_t issued_ TUNEONCE_GUARDED_BY(mutex_) = 0;
  std::uint64_t completed_ TUNEONCE_GUARDED_BY(mutex_) = 0;
  std::chrono::steady_clock::time_point time_ TUNEONCE_GUARDED_BY(mutex_){};
};

}  // namespace tuneonce::cpu_device

#endif  // TUNEONCE_CPU_DEVICE_EVENT_H_
