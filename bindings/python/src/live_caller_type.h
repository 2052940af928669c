#ifndef TUNEONCE_BINDINGS_PYTHON_LIVE_CALLER_TYPE_H_
#define TUNEONCE_BINDINGS_PYTHON_LIVE_CALLER_TYPE_H_

#include <pybind11/pybind11.h>

namespace tuneonce::python {

/// Adds the base classes of decorated kernels to the module: `_GridCaller` of tuneonce.triton.Autotuner, which is
/// called as `kernel[grid](...)`, and `_FunctionCaller` of tuneonce.cutile.Autotuner, which is called as `kernel(...)`.
void AddLiveCaller(pybind11::module_& module);

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_LIVE_CALLER_TYPE_H_
