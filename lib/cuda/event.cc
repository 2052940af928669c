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

Status Event::BlockStream(CUstream stream) const {
  return TUNEONCE_CUDA_STATUS(event_.api(), StreamWaitEvent(stream, get(), 0));
}

Result<double> Event::MicrosecondsSince(const Event& start) const {
  float milliseconds = 0;
  TUNEONCE_CUDA_RETURN_IF_ERROR(event_.api(), EventElapsedTime(&milliseconds, start.get(), get()));
  return static_cast<double>(milliseconds) * 1000.0;
}

}  // namespace v0
}  // namespace tuneonce
