#ifndef TUNEONCE_BINDINGS_PYTHON_STREAM_ARGUMENT_H_
#define TUNEONCE_BINDINGS_PYTHON_STREAM_ARGUMENT_H_

#include <cuda.h>
#include <pybind11/pybind11.h>

namespace tuneonce::python {

/// A stream argument: None, an int, or an object with `__cuda_stream__` or `cuda_stream` (torch). Throws TypeError.
CUstream StreamOf(pybind11::handle object);

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_STREAM_ARGUMENT_H_
