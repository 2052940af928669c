#ifndef TUNEONCE_COMPILED_KERNEL_H_
#define TUNEONCE_COMPILED_KERNEL_H_

#include <cuda.h>

#include <memory>

#include "tuneonce/geometry.h"
#include "tuneonce/hints.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

class Device;
class Runtime;

/// Code that is compiled, loaded and ready for cuLaunchKernelEx, for a program that itself launches what
/// exhaustive_search found. A TunedKernel does not need it.
///
/// Copies share the code, and the last copy unloads it. REQUIRES at that time: no launch of it is running, and no graph
/// captured from it will be instantiated again. A graph that was instantiated before may still be launched. Thread
/// rule: immutable, any thread may launch.
class TUNEONCE_API CompiledKernel {
 public:
  /// Compiles `source` with `hints` for the device of the current context, and prepares it for launches with
  /// `geometry`. `device` selects the driver. Code that a search of this process already compiled is reused. `runtime`
  /// provides compilers and artifacts; null means Runtime::Default(). Errors: those of Toolchain::Compile;
  /// FailedPrecondition without a context; InvalidArgument for a geometry that cannot be launched; the driver's.
  static Result<CompiledKernel> Create(const Device& device, const KernelSource& source, const Hints& hints,
                                       const Geometry& geometry, const std::shared_ptr<Runtime>& runtime = nullptr);

  /// Returns the function for cuLaunchKernelEx. It is a CUkernel, so it works in every context of the device.
  CUfunction function() const;
  const Geometry& geometry() const;
  /// Returns an attribute of the loaded code, as cuFuncGetAttribute reports it. Errors: the driver's.
  Result<int> Attribute(CUfunction_attribute attribute) const;
  /// Launches the kernel with its geometry by cuLaunchKernelEx. `parameters` has a pointer to each kernel parameter.
  /// Errors: the driver's.
  Status Launch(CUstream stream, void** parameters) const;

 private:
  struct Impl;
  explicit CompiledKernel(std::shared_ptr<const Impl> impl);

  std::shared_ptr<const Impl> impl_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_COMPILED_KERNEL_H_
