#ifndef TUNEONCE_LIB_CUDA_RELAXED_DRIVER_H_
#define TUNEONCE_LIB_CUDA_RELAXED_DRIVER_H_

#include "cuda/driver_api.h"

namespace tuneonce {
inline namespace v0 {

/// Calls the driver with the calling thread's stream-capture mode set to RELAXED for its lifetime.
///
/// While any thread captures a stream in GLOBAL mode, even cuEventQuery on an unrelated event in another thread
/// invalidates that capture, unless the calling thread is in RELAXED mode (measured: docs/internal/driver_rules.md). So
/// a function that needs the driver makes one of these and calls through it: `RelaxedDriver driver(api);
/// driver->MemAlloc(...)`. Objects may be nested; the destructor restores the previous mode. It costs two calls of 6
/// ns.
///
/// Three calls invalidate captures in any mode and are not used in lib/: cuCtxSynchronize, work on the legacy stream,
/// and synchronous copies while a blocking stream captures.
///
/// Thread rule: lives on one thread's stack.
class RelaxedDriver {
 public:
  explicit RelaxedDriver(const DriverApi& api) : table_(api.table_) {
    table_.ThreadExchangeStreamCaptureMode(&previous_);
  }
  ~RelaxedDriver() { table_.ThreadExchangeStreamCaptureMode(&previous_); }
  RelaxedDriver(const RelaxedDriver&) = delete;
  RelaxedDriver& operator=(const RelaxedDriver&) = delete;

  const DriverTable* operator->() const { return &table_; }

 private:
  const DriverTable& table_;
  CUstreamCaptureMode previous_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // After the exchange: the thread's own mode.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_CUDA_RELAXED_DRIVER_H_
