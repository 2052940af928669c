#ifndef TUNEONCE_LIB_CUDA_EVENT_H_
#define TUNEONCE_LIB_CUDA_EVENT_H_

#include <cuda.h>

#include "cuda/driver_handle.h"
#include "tuneonce/device.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Owns an event of the current context. Move-only. Thread rule: one owner.
class Event {
 public:
  enum class Timing { kEnabled, kDisabled };  ///< Disabled is cheaper, for ordering alone.

  static Result<Event> Create(const DriverApi& api, Timing timing);

  CUevent get() const { return event_.get(); }

  Status Record(CUstream stream) const;
  /// Records the event in `stream`. If the stream captures, the recording becomes part of the graph, so that each
  /// replay records the event again.
  Status RecordInGraph(CUstream stream) const;
  Status Synchronize() const;
  /// Microseconds from `start` to this event. REQUIRES: both were recorded with timing and are complete.
  Result<double> MicrosecondsSince(const Event& start) const;

 private:
  Event(const DriverApi& api, CUevent event) : event_(api, event) {}

  DriverHandle<CUevent, &DriverTable::EventDestroy> event_;
};

/// Makes work that is enqueued on `stream` from now on wait for all current work of `producer`, where null is the
/// legacy default stream. Does nothing if both are the same stream. Errors: FailedPrecondition if `stream` captures,
/// because a graph cannot contain another stream's work; the driver's.
Status OrderBehind(StreamView stream, CUstream producer);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_CUDA_EVENT_H_
