#ifndef TUNEONCE_LIB_CUDA_DRIVER_API_H_
#define TUNEONCE_LIB_CUDA_DRIVER_API_H_

#include <cuda.h>
#include <cudaTypedefs.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "cuda/driver_functions.h"
#include "tuneonce/device.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

struct Environment;

/// The driver's functions as plain pointers, one member per line of driver_functions.h (`table.MemAlloc`).
struct DriverTable {
#define TUNEONCE_DECLARE_FUNCTION(name, version, need) PFN_cu##name##_v##version name = nullptr;
  TUNEONCE_DRIVER_FUNCTIONS(TUNEONCE_DECLARE_FUNCTION)
#undef TUNEONCE_DECLARE_FUNCTION
};

/// One loaded driver: the CUDA driver, or the CPU device's library.
///
/// It owns the function table and states which library it came from. The table is private, because only RelaxedDriver
/// may call the functions: a call without it can invalidate another thread's stream capture. Only the launch of a hit
/// (`launch_path()`) and tests of the driver itself (`UnguardedTable`) bypass that guard.
///
/// Thread rule: immutable; any thread. A loaded driver is never unloaded.
class DriverApi {
 public:
  /// The functions that TunedKernel calls in a hit. None of them can invalidate a capture
  /// (docs/internal/driver_rules.md).
  struct LaunchPath {
    PFN_cuLaunchKernelEx_v11060 LaunchKernelEx;
    PFN_cuCtxGetDevice_v2000 CtxGetDevice;
    PFN_cuStreamIsCapturing_v10000 StreamIsCapturing;
  };

  DriverApi(const DriverTable& table, std::string library_path, bool is_cpu_device);
  ~DriverApi();
  DriverApi(const DriverApi&) = delete;
  DriverApi& operator=(const DriverApi&) = delete;

  const LaunchPath& launch_path() const { return launch_path_; }
  /// The library as it was loaded, for messages.
  const std::string& library_path() const { return library_path_; }
  /// True for the CPU device's library: its figures are never GPU figures.
  bool is_cpu_device() const { return is_cpu_device_; }
  /// Returns the lock that is held while something is measured on the device, because other work on it would change the
  /// measured times. It belongs to the driver, so that all Runtimes share one lock per device.
  Mutex& measuring_lock(CUdevice device) const;

 private:
  friend class RelaxedDriver;
  friend const DriverTable& UnguardedTable(const DriverApi& api);

  DriverTable table_;
  LaunchPath launch_path_;
  std::string library_path_;
  bool is_cpu_device_;
  struct MeasuringLocks;
  const std::unique_ptr<MeasuringLocks> measuring_locks_;
};

/// The bare table, for decorators and for tests of the driver itself. Everything else uses RelaxedDriver.
const DriverTable& UnguardedTable(const DriverApi& api);

/// Loads the CUDA driver from `Environment::cuda_driver`, else "libcuda.so.1" from the system's places and then from
/// the folders in which containers and WSL mount it. Each library is loaded once and never unloaded. Errors:
/// Unavailable, naming every path that was tried and why it failed, or the first missing function.
Result<const DriverApi*> LoadCudaDriver(const Environment& environment);

/// Loads the CPU device (libtuneonce_cpu_driver.so) from `Environment::cpu_driver`, else from the folder of this
/// library or program, from the folder for libraries next to that one, or where the loader finds it: by the run path
/// that the package's CMake target sets, by LD_LIBRARY_PATH, or in the system's folders. The environment of the first
/// load decides its number of devices and their memory. Errors: as for LoadCudaDriver; FailedPrecondition if it is
/// already running with fewer devices or another size of memory.
Result<const DriverApi*> LoadCpuDriver(const Environment& environment);

/// Returns the driver whose context is current on this thread. It is the CPU device if one of its contexts is current,
/// which needs a host that opened it by name. Where no context is current, it is the CPU device if that is loaded, and
/// else the CUDA driver. Errors: those of LoadCudaDriver.
Result<const DriverApi*> DriverOfCurrentContext(const Environment& environment);

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

/// Implements the public OpenDevice with the drivers that this environment names.
Result<Device> OpenDevice(const std::string& name, const Environment& environment);

/// True if `result` leaves the context unusable: every later call on it fails the same way until the context, or the
/// process, is gone (CUDA driver API, descriptions of 700, 702, 714-719 and 710).
bool IsSticky(CUresult result);

/// Converts a driver's result to a Status. It keeps the number, marks sticky errors, and names the call: "cuMemAlloc:
/// CUDA_ERROR_OUT_OF_MEMORY (2): out of memory".
Status CudaStatus(const DriverApi& api, CUresult result, std::string_view call);

}  // namespace v0
}  // namespace tuneonce

/// Returns the Status of one driver call, made by a RelaxedDriver: TUNEONCE_CUDA_STATUS(api, EventQuery(e)). The name
/// of the call appears in the message.
#define TUNEONCE_CUDA_STATUS(api, call) \
  ::tuneonce::CudaStatus((api), ::tuneonce::RelaxedDriver((api))->call, "cu" #call)

/// Returns from the enclosing function if a driver call fails: TUNEONCE_CUDA_RETURN_IF_ERROR(api, EventQuery(e)).
#define TUNEONCE_CUDA_RETURN_IF_ERROR(api, call) TUNEONCE_RETURN_IF_ERROR(TUNEONCE_CUDA_STATUS(api, call))

#endif  // TUNEONCE_LIB_CUDA_DRIVER_API_H_
