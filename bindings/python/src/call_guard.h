#ifndef TUNEONCE_BINDINGS_PYTHON_CALL_GUARD_H_
#define TUNEONCE_BINDINGS_PYTHON_CALL_GUARD_H_

#include <pybind11/pybind11.h>

#include <exception>

#include "python_status.h"

namespace tuneonce::python {

/// Runs what may throw pybind11's or C++ exceptions, for C functions of Python: null with the exception set then.
template <typename Function>
PyObject* Guarded(const Function& function) {
  try {
    return function().release().ptr();
  } catch (pybind11::error_already_set& e) {
    e.restore();
  } catch (const pybind11::builtin_exception& e) {
    e.set_error();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  return nullptr;
}

/// Runs `run` without the GIL. Throws its error, or what a signal's handler or a callback raised meanwhile.
template <typename Function>
void WithoutGil(const Function& run) {
  Status status;
  {
    pybind11::gil_scoped_release release;
    status = run();
  }
  if (PyErr_Occurred() != nullptr) throw pybind11::error_already_set();
  ThrowIfError(status);
}

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_CALL_GUARD_H_
