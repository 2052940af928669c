#ifndef TUNEONCE_CUDA_LIBRARY_H_
#define TUNEONCE_CUDA_LIBRARY_H_

#include <cuda.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tuneonce/base/result.h"
#include "tuneonce/cuda/driver_api.h"

namespace tuneonce {

/// One kernel of a loaded Library, ready to launch in the context that was current when it was got. Copyable view:
/// valid while its Library lives. Thread rule: a value; launches from any thread.
class TUNEONCE_API KernelHandle {
 public:
  KernelHandle(const DriverApi& api, CUfunction function) : api_(&api), function_(function) {}

  CUfunction get() const { return function_; }

  Result<int> Attribute(CUfunction_attribute attribute) const;
  Status SetAttribute(CUfunction_attribute attribute, int value) const;
  /// Size in bytes of each parameter, in order. Errors: Unimplemented where the driver cannot tell (before 12.4).
  Result<std::vector<std::size_t>> ParameterSizes() const;

 private:
  const DriverApi* api_;
  CUfunction function_;
};

/// Owns a loaded image (cubin, or the CPU device's shared object). Move-only.
///
/// Loaded as a CUlibrary, which does not wait for running kernels; as a CUmodule on drivers before 12.0, which does.
/// The first GetKernel of a library does wait for them (DRIVER_RULES), so it belongs to warm-up.
/// Unloading while a graph may be instantiated again from a capture of its kernels crashes inside the driver: whoever
/// owns a Library keeps it until no graph uses it. Thread rule: one owner.
class TUNEONCE_API Library {
 public:
  /// `image` is needed only during the call. Errors: InvalidArgument (not an image for this device), ResourceExhausted.
  static Result<Library> Load(const DriverApi& api, const std::string& image);
  ~Library() { Reset(); }
  Library(Library&& other) noexcept
      : api_(other.api_),
        library_(std::exchange(other.library_, nullptr)),
        module_(std::exchange(other.module_, nullptr)) {}
  Library& operator=(Library&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(library_, other.library_);
    std::swap(module_, other.module_);
    return *this;
  }

  /// The kernel `symbol`, loaded for real into the current context. Errors: NotFound.
  Result<KernelHandle> GetKernel(const std::string& symbol) const;

 private:
  Library(const DriverApi& api, CUlibrary library, CUmodule module) : api_(&api), library_(library), module_(module) {}
  void Reset();

  const DriverApi* api_;
  CUlibrary library_;
  CUmodule module_;
};

}  // namespace tuneonce

#endif  // TUNEONCE_CUDA_LIBRARY_H_
