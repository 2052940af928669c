#ifndef TUNEONCE_BINDINGS_PYTHON_TUNED_KERNEL_TYPE_H_
#define TUNEONCE_BINDINGS_PYTHON_TUNED_KERNEL_TYPE_H_

#include <pybind11/pybind11.h>

namespace tuneonce::python {

/// Adds the class TunedKernel to the module: a C type of its own, not pybind11's, since its call is the hot path
/// (vectorcall: no argument tuple, no dictionary).
void AddTunedKernel(pybind11::module_& module);

class KernelCaller;
/// Returns the caller of a Python TunedKernel, or null for any other object.
KernelCaller* FindCaller(pybind11::handle object);

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_TUNED_KERNEL_TYPE_H_
