#ifndef TUNEONCE_BINDINGS_PYTHON_PYTHON_STATUS_H_
#define TUNEONCE_BINDINGS_PYTHON_PYTHON_STATUS_H_

#include <pybind11/pybind11.h>

#include "tuneonce/result.h"

namespace tuneonce::python {

/// Adds tuneonce.Error and one subclass per StatusCode to the module.
void AddExceptions(pybind11::module_& module);

/// Sets the exception for an error. Always returns null, for C functions to return.
PyObject* SetException(const Status& status);

/// The exception itself. REQUIRES: it is an error, and the GIL.
pybind11::object ExceptionOf(const Status& status);

/// Throws pybind11's exception for an error.
inline void ThrowIfError(const Status& status) {
  if (status.ok()) return;
  SetException(status);
  throw pybind11::error_already_set();
}
template <typename T>
T ValueOrThrow(Result<T> result) {
  ThrowIfError(result.status());
  return *std::move(result);
}

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_PYTHON_STATUS_H_
