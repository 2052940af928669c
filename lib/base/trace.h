#ifndef TUNEONCE_LIB_BASE_TRACE_H_
#define TUNEONCE_LIB_BASE_TRACE_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Records what was done when and on which thread between Begin and End, as Chrome's trace event JSON. Code records an
/// event by a Span. Thread-safe. While it is off it costs one read of an atomic.
class Trace {
 public:
  using Clock = std::chrono::steady_clock;
  using Arguments = std::vector<std::pair<const char*, std::variant<std::int64_t, double, std::string>>>;
  /// One span of time on the line of a thread or of another track. Spans of one line follow or contain each other.
  struct Event {
    std::string name;
    const char* category = "";
    Clock::time_point begin;
    Clock::duration duration{};
    std::int64_t track = 0;
    Arguments arguments;
  };

  /// Discards earlier events and starts recording. At most `max_events` are kept, and further ones are only counted.
  void Begin(std::size_t max_events);
  bool is_on() const { return is_on_.load(std::memory_order_relaxed); }
  /// Stops, and gives all that ended since Begin: {"traceEvents": [...], "displayTimeUnit": "ms", "otherData": {...}}.
  /// Whatever names hold it is JSON, in UTF-8 and without controls.
  std::string End();

  /// Adds an event, if it is on and the event began after Begin.
  void Add(Event event);
  /// The calling thread's line.
  static std::int64_t ThreadTrack();
  /// Sets the name of the calling thread's line if it has none.
  void NameThread(const std::string& name);
  /// Returns the track called `name` of something that is not a thread and is identified by its address (a device's
  /// lock).
  std::int64_t TrackOf(const void* thing, const std::string& name);

 private:
  std::atomic<bool> is_on_{false};
  Mutex mutex_;
  Clock::time_point began_ TUNEONCE_GUARDED_BY(mutex_);
  std::size_t max_events_ TUNEONCE_GUARDED_BY(mutex_) = 0;
  std::size_t num_dropped_ TUNEONCE_GUARDED_BY(mutex_) = 0;
  std::vector<Event> events_ TUNEONCE_GUARDED_BY(mutex_);
  std::map<std::int64_t, std::string> names_ TUNEONCE_GUARDED_BY(mutex_);  // Names of tracks.
  std::map<const void*, std::int64_t> tracks_of_things_ TUNEONCE_GUARDED_BY(mutex_);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_TRACE_H_
