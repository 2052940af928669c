#ifndef TUNEONCE_LIB_CUDA_LIBRARY_H_
#define TUNEONCE_LIB_CUDA_LIBRARY_H_

#include <cuda.h>

#include <cstddef>
#include <string>
#include <vector>

#include "cuda/driver_handle.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// One kernel of a loaded Library, which is loaded in the context that was current in GetKernel. A copyable view that
/// is valid while its Library lives. Thread rule: a value; launches from any thread.
class KernelHandle {
 public:
  KernelHandle(const DriverApi& api, CUkernel kernel, CUfunction function)
      : api_(&api), kernel_(kernel), function_(function) {}

  /// Returns the CUkernel for cuLaunchKernelEx, which works in every context of every device and outlives contexts. In
  /// a context other than that of GetKernel, the driver loads it at the first launch, after the kernels that run there.
  CUfunction get() const { return reinterpret_cast<CUfunction>(kernel_); }

  /// In the context in which it was got.
  Result<int> Attribute(CUfunction_attribute attribute) const;
  /// In all contexts of the current one's device.
  Status SetAttribute(CUfunction_attribute attribute, int value) const;
  /// Size in bytes of each parameter, in order. Errors: Unimplemented where the driver cannot tell (before 12.4).
  Result<std::vector<std::size_t>> ParameterSizes() const;

 private:
  const DriverApi* api_;
  CUkernel kernel_;
  CUfunction function_;  // The function in the context of GetKernel.
};

/// Owns a loaded image (cubin, or the CPU device's shared object). Move-only.
///
/// It is loaded as a CUlibrary, which does not wait for running kernels. The first GetKernel of a library does wait for
/// them (docs/internal/driver_rules.md), so it belongs to warm-up. Unloading crashes inside the driver if a graph that
/// captured its kernels is instantiated again later, so the owner keeps a Library until no graph uses it. Thread rule:
/// one owner.
class Library {
 public:
  /// `image` is needed only during the call. Errors: InvalidArgument (not an image for this device), ResourceExhausted.
  static Result<Library> Load(const DriverApi& api, const std::string& image);

  /// The kernel `symbol`, loaded for real into the current context. Errors: NotFound.
  Result<KernelHandle> GetKernel(const std::string& symbol) const;

 private:
  Library(const DriverApi& api, CUlibrary library) : library_(api, library) {}

  DriverHandle<CUlibrary, &DriverTable::LibraryUnload> library_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_CUDA_LIBRARY_H_
