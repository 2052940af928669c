#ifndef TUNEONCE_LIB_CUDA_DRIVER_API_H_
#define TUNEONCE_LIB_CUDA_DRIVER_API_H_

#include <cuda.h>
#include <cudaTypedefs.h>

#include <memory>
#include <string>

#include "base/mutex.h"
#include "cuda/driver_functions.h"
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
/// Duty: own the function table and say which library it came from. It leaves to RelaxedDriver how the functions may
/// be called: the table is private, so that no call of ours can spoil another thread's stream capture. Only the launch
/// of a hit (`launch_path()`) and tests of the driver itself (`UnguardedTable`) go round that guard.
///
/// Thread rule: immutable; any thread. A loaded driver is never unloaded.
class TUNEONCE_API DriverApi {
 public:
  /// What TunedKernel calls on a hit. None of them can spoil a capture (docs/internal/driver_rules.md).
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
  /// Held while something is measured on the device: what others would run there meanwhile would be timed with it. It
  /// belongs to the driver, since whoever measures on a device, by whichever Runtime, means the same device.
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
TUNEONCE_API const DriverTable& UnguardedTable(const DriverApi& api);

/// Loads the CUDA driver: `Environment::cuda_driver`, else "libcuda.so.1" from the system's places and then from those
/// in which containers and WSL mount it. Loaded once per library; the result lives for ever.
/// Errors: Unavailable, naming every path tried and why each failed, or the first function that is missing.
TUNEONCE_API Result<const DriverApi*> LoadCudaDriver(const Environment& environment);

/// Loads the CPU device (libtuneonce_cpu_driver.so): `Environment::cpu_driver`, else beside this library or program, in
/// the folder for libraries that lies beside theirs, or where the loader finds it: by the run path that the package's
/// target gives to what it is linked into, LD_LIBRARY_PATH, the system's folders. It has as many devices, with as much
/// memory, as the environment says that it is first loaded with. Errors: as for LoadCudaDriver; FailedPrecondition if
/// it runs already, with fewer devices or another size of memory.
TUNEONCE_API Result<const DriverApi*> LoadCpuDriver(const Environment& environment);

/// The driver whose context is current on this thread: the CPU device's where one of its contexts is (a host gets one
/// only by naming it), else the CUDA driver, whether or not it has one; where there is none, the CPU device's if that
/// is loaded. Errors: those of LoadCudaDriver.
TUNEONCE_API Result<const DriverApi*> DriverOfCurrentContext(const Environment& environment);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_CUDA_DRIVER_API_H_
