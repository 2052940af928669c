#ifndef TUNEONCE_BINDINGS_PYTHON_TUNED_KERNEL_OBJECT_H_
#define TUNEONCE_BINDINGS_PYTHON_TUNED_KERNEL_OBJECT_H_

#include <cuda.h>
#include <pybind11/pybind11.h>

#include <optional>

#include "kernel_call.h"
#include "python_observer.h"

namespace tuneonce::python {

/// The memory of a TunedKernel of Python's.
struct TunedKernelObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  KernelCaller* caller;
  PythonObserver* observer;  ///< The observer of the caller's policy, or null.
};

inline KernelCaller& CallerOf(PyObject* self) { return *reinterpret_cast<TunedKernelObject*>(self)->caller; }

/// The stream of `what(*args, stream=...)`, if one is given. False with an exception set.
bool ReadStream(const char* what, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords,
                std::optional<CUstream>* stream);

/// TunedKernel's methods and properties.
extern PyMethodDef tuned_kernel_methods[];
extern PyGetSetDef tuned_kernel_properties[];

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_TUNED_KERNEL_OBJECT_H_
