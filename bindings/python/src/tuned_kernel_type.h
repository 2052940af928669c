#ifndef TUNEONCE_BINDINGS_PYTHON_TUNED_KERNEL_TYPE_H_
#define TUNEONCE_BINDINGS_PYTHON_TUNED_KERNEL_TYPE_H_

#include <cuda.h>
#include <pybind11/pybind11.h>

#include <string>

#include "tuneonce/bundle.h"
#include "tuneonce/timer.h"

namespace tuneonce::python {

/// Adds the class TunedKernel to the module: a C type of its own, not pybind11's, since its call is the hot path
/// (vectorcall: no argument tuple, no dictionary).
void AddTunedKernel(pybind11::module_& module);

class KernelCaller;
/// What a TunedKernel of Python's calls; null if the object is none.
KernelCaller* FindCaller(pybind11::handle object);

/// The bundle that Python names: a text as Bundle::Load takes it, a path (os.PathLike) as a folder, never as a name.
/// Throws.
Bundle LoadBundle(const pybind11::object& folder_or_name);

/// A stream argument: None, an int, or an object with `__cuda_stream__` or `cuda_stream` (torch). Throws TypeError.
CUstream StreamOf(pybind11::handle object);

/// Whether kernels that are made from now on, and do not say themselves, are disabled; before the first call the
/// environment says so (DISABLE_AUTOTUNE). With the GIL.
void DisableAutotune(bool disable);

/// "cupti" or "events"; it lives as long as the process. Throws ValueError.
Timer* TimerNamed(const std::string& name);

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_TUNED_KERNEL_TYPE_H_
