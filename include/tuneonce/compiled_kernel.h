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

/// Code that is compiled, loaded and ready for cuLaunchKernelEx: for a program that launches what exhaustive_search
/// found by itself. TunedKernel needs none.
///
/// Copyable; all copies share the code, which is unloaded with the last of them. REQUIRES then: no launch of it is
/// under way, and no graph captured from it will be instantiated again. Thread rule: immutable; launches from any
/// thread.
class TUNEONCE_API CompiledKernel {
 public:
  /// Compiles `source` with `hints` for the device of the current context (`device` names the driver) and prepares it
  /// for launches of `geometry`. What a search of this process compiled is not compiled again. `runtime`: whose
  /// compilers and artifacts; null for Runtime::Default(). Errors: as Toolchain::Compile; FailedPrecondition without a
  /// context; InvalidArgument for a geometry that cannot be launched; the driver's.
  static Result<CompiledKernel> Create(const Device& device, const KernelSource& source, const Hints& hints,
                                       const Geometry& geometry, const std::shared_ptr<Runtime>& runtime = nullptr);

  /// For cuLaunchKernelEx, in every context of the device: a CUkernel.
  CUfunction function() const;
  const Geometry& geometry() const;
  /// Of the loaded code, as the driver says.
  Result<int> Attribute(CUfunction_attribute attribute) const;
  /// cuLaunchKernelEx with the geometry; `parameters` as there: a pointer to each of the kernel's. Errors: the
  /// driver's.
  Status Launch(CUstream stream, void** parameters) const;

 private:
  struct Impl;
  explicit CompiledKernel(std::shared_ptr<const Impl> impl);

  std::shared_ptr<const Impl> impl_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_COMPILED_KERNEL_H_
