#include "cuda/driver_api.h"
#include "cuda/event.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {

Status StreamView::Synchronize() const { return TUNEONCE_CUDA_STATUS(*api_, StreamSynchronize(stream_)); }

Status StreamView::Wait(const Event& event) const {
  return TUNEONCE_CUDA_STATUS(*api_, StreamWaitEvent(stream_, event.get(), 0));
}

Result<CUcontext> StreamView::Context() const {
  CUcontext context = nullptr;
  TUNEONCE_CUDA_RETURN_IF_ERROR(*api_, StreamGetCtx(stream_, &context));
  return context;
}

Result<bool> StreamView::IsCapturing() const {
  RelaxedDriver driver(*api_);
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  CUresult result = driver->StreamIsCapturing(stream_, &capture);
  // Asked about the legacy stream while another stream of its kind captures: treated as capturing.
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return true;
  if (result != CUDA_SUCCESS) return CudaStatus(*api_, result, "cuStreamIsCapturing");
  return capture != CU_STREAM_CAPTURE_STATUS_NONE;
}

Result<Stream> Stream::Create(const DriverApi& api) {
  CUstream stream = nullptr;
  TUNEONCE_CUDA_RETURN_IF_ERROR(api, StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return Stream(api, stream);
}

Stream::~Stream() {
  if (stream_ == nullptr) return;
  RelaxedDriver driver(*api_);
  driver->StreamDestroy(stream_);  // Fails only if the driver or context is gone, and the stream with it.
}

}  // namespace v0
}  // namespace tuneonce
