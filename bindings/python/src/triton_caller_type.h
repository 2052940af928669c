#ifndef TUNEONCE_BINDINGS_PYTHON_TRITON_CALLER_TYPE_H_
#define TUNEONCE_BINDINGS_PYTHON_TRITON_CALLER_TYPE_H_

#include <pybind11/pybind11.h>

namespace tuneonce::python {

/// Adds `_TritonCaller` to the module: the base class of tuneonce.triton.Autotuner, whose `kernel[grid](...)` it calls.
void AddTritonCaller(pybind11::module_& module);

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_TRITON_CALLER_TYPE_H_
