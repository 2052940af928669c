#include "cuda/event.h"

#include "cuda/driver_api.h"

namespace tuneonce {
inline namespace v0 {

Result<Event> Event::Create(const DriverApi& api, Timing timing) {
  CUevent event = nullptr;
  unsigned flags = timing == Timing::kEnabled ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING;
  TUNEONCE_CUDA_RETURN_IF_ERROR(api, EventCreate(&event, flags));
  return Event(api, event);
}

Status Event::Record(CUstream stream) const { return TUNEONCE_CUDA_STATUS(event_.api(), EventRecord(get(), stream)); }

Status Event::RecordInGraph(CUstream stream) const {
  return TUNEONCE_CUDA_STATUS(event_.api(), EventRecordWithFlags(get(), stream, CU_EVENT_RECORD_EXTERNAL));
}

Status Event::Synchronize() const { return TUNEONCE_CUDA_STATUS(event_.api(), EventSynchronize(get())); }

Result<double> Event::MicrosecondsSince(const Event& start) const {
  float milliseconds = 0;
  TUNEONCE_CUDA_RETURN_IF_ERROR(event_.api(), EventElapsedTime(&milliseconds, start.get(), get()));
  return static_cast<double>(milliseconds) * 1000.0;
}

Status OrderBehind(StreamView stream, CUstream producer) {
  auto named = [](CUstream handle) { return handle == nullptr ? CU_STREAM_LEGACY : handle; };
  if (named(stream.get()) == named(producer)) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(bool is_capturing, stream.IsCapturing());
  if (is_capturing) {
    return FailedPreconditionError(
        "a tensor is written on another stream than the capturing one, and the graph cannot wait for it: synchronize "
        "before the capture and pass tensors without a stream, or capture on the tensor's stream");
  }
  TUNEONCE_ASSIGN_OR_RETURN(Event event, Event::Create(stream.api(), Event::Timing::kDisabled));
  TUNEONCE_RETURN_IF_ERROR(event.Record(producer));
  return stream.Wait(event);
}

}  // namespace v0
}  // namespace tuneonce
