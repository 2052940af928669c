#ifndef TUNEONCE_LIB_MEASURE_EVENT_TIMER_H_
#define TUNEONCE_LIB_MEASURE_EVENT_TIMER_H_

#include <optional>

#include "tuneonce/device.h"
#include "tuneonce/plugin/timer.h"

namespace tuneonce {
inline namespace v0 {

/// Empties the L2 cache of what a kernel could reuse, by writing as much other memory as it holds. Nothing for a warm
/// cache. Thread rule: one thread.
class CacheFlush {
 public:
  /// In the current context. `stream` outlives the object.
  static Result<CacheFlush> Create(StreamView stream, CacheState cache);

  /// Puts the flush into `stream`, in order.
  Status Run(CUstream stream) const;
  bool is_cold() const { return buffer_.has_value(); }
  std::size_t memory_bytes() const { return buffer_ ? buffer_->bytes() : 0; }

 private:
  std::optional<DeviceBuffer> buffer_;
};

/// Times each run by a pair of events in a graph that is built once and replayed: preparation, flush, event, launch,
/// event. The overhead of such a pair (2.1 to 2.8 us on an H200) is measured with an empty kernel when the session
/// opens, and subtracted; the time of the empty kernel itself is measured by many launches in a row. A warm run under
/// 20 us that needs no preparation is launched ten times between two events. On the CPU device the overhead is below
/// the noise, and nothing is subtracted.
class EventTimer final : public Timer {
 public:
  /// How a run is repeated: by its graph, or by its calls, for where no graph may be launched. The stream is held until
  /// all calls were made (HeldStream). A call that waits for the device, or takes longer than the stream is held, adds
  /// the host's time. Times by calls are 1 us longer than by graphs, whose launches have no gaps between them (H200).
  enum class Replay { kGraph, kCalls };
  explicit EventTimer(Replay replay = Replay::kGraph) : replay_(replay) {}

  std::string_view name() const override { return "events"; }
  Result<std::unique_ptr<TimingSession>> Open(StreamView stream, CacheState cache) override;

 private:
  const Replay replay_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_MEASURE_EVENT_TIMER_H_
