#ifndef TUNEONCE_LIB_MEASURE_DEVICE_KERNELS_H_
#define TUNEONCE_LIB_MEASURE_DEVICE_KERNELS_H_

#include "cuda/library.h"

namespace tuneonce {
inline namespace v0 {

/// The library's own kernels (verify_kernels.cu), in the current context. PTX, which the driver compiles (and caches).
/// Not for the CPU device, which has no use for them. Move-only.
struct DeviceKernels {
  Library library;
  KernelHandle empty;         ///< Does nothing.
  KernelHandle compare;       ///< Compares two arrays.
  KernelHandle checksum;      ///< Adds up memory.
  KernelHandle find_changes;  ///< Finds bytes that were written outside of some elements.
  KernelHandle describe;      ///< Counts an array's elements by class.

  /// Errors: as Library::Load.
  static Result<DeviceKernels> Load(const DriverApi& api);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_MEASURE_DEVICE_KERNELS_H_
