#ifndef TUNEONCE_LIB_CUDA_RELAXED_DRIVER_H_
#define TUNEONCE_LIB_CUDA_RELAXED_DRIVER_H_

#include "cuda/driver_api.h"

namespace tuneonce {
inline namespace v0 {

/// The way to call the driver: for its lifetime the calling thread's stream-capture mode is RELAXED.
///
/// While any thread captures a stream in GLOBAL mode, even cuEventQuery on an unrelated event of another thread spoils
/// that capture, unless the caller's thread is in RELAXED mode (measured: docs/internal/driver_rules.md). So a function
/// that needs the driver makes one of these and calls through it: `RelaxedDriver driver(api); driver->MemAlloc(...)`.
/// Nesting is fine; the previous mode comes back at the end. Costs two calls of 6 ns.
///
/// Even under it three things stay forbidden, since they spoil captures in any mode: cuCtxSynchronize, the legacy
/// stream, and synchronous copies beside a blocking capturing stream. Nothing in lib/ uses them.
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
