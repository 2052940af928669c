#include "measure/cache_flush.h"

#include "cuda/cuda_status.h"
#include "cuda/driver_api.h"
#include "cuda/relaxed_driver.h"
#include "tuneonce/device.h"
#include "tuneonce/device_buffer.h"
#include "tuneonce/timer.h"

namespace tuneonce {
inline namespace v0 {

Result<CacheFlush> CacheFlush::Create(StreamView stream, CacheState cache) {
  CacheFlush flush;
  bool cold = cache == CacheState::kCold || (cache == CacheState::kDefault && !stream.api().is_cpu_device());
  if (!cold) return flush;
  TUNEONCE_ASSIGN_OR_RETURN(Device device, Device::OfCurrentContext(stream.api()));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  TUNEONCE_ASSIGN_OR_RETURN(flush.buffer_, DeviceBuffer::Allocate(stream, identity.l2_bytes));
  return flush;
}

Status CacheFlush::Run(CUstream stream) const {
  if (!buffer_ || buffer_->bytes() == 0) return Status();
  StreamView owner = buffer_->stream();
  const DriverApi& api = owner.api();
  RelaxedDriver driver(api);
  TUNEONCE_CUDA_RETURN_IF_ERROR(api, driver, MemsetD8Async(buffer_->get(), 0, buffer_->bytes(), stream));
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
