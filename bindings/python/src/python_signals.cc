#include "python_signals.h"

#include <chrono>

namespace tuneonce::python {
namespace {

/// True once a signal's handler raised in the call that this thread is in; the exception is set then.
thread_local bool signal_raised = false;

}  // namespace

void EndCallBy(pybind11::error_already_set& error) {
  error.restore();
  signal_raised = true;
}

void ForgetSignal() { signal_raised = false; }

bool SignalRaised(unsigned long main_thread) {
  thread_local std::chrono::steady_clock::time_point next;
  if (signal_raised) return true;
  if (PyThread_get_thread_ident() != main_thread || std::chrono::steady_clock::now() < next) return false;
  next = std::chrono::steady_clock::now() + kSignalPoll;
  PyGILState_STATE gil = PyGILState_Ensure();
  signal_raised = PyErr_CheckSignals() != 0;
  PyGILState_Release(gil);
  return signal_raised;
}

unsigned long MainThread() {
  PyObject* threading = PyImport_ImportModule("threading");
  PyObject* main = threading == nullptr ? nullptr : PyObject_CallMethod(threading, "main_thread", nullptr);
  PyObject* identity = main == nullptr ? nullptr : PyObject_GetAttrString(main, "ident");
  unsigned long result = identity == nullptr ? 0 : PyLong_AsUnsignedLong(identity);
  Py_XDECREF(identity);
  Py_XDECREF(main);
  Py_XDECREF(threading);
  return PyErr_Occurred() != nullptr ? 0 : result;
}

bool IsPythonOver() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsInitialized() == 0 || Py_IsFinalizing() != 0;
#else
  return Py_IsInitialized() == 0 || _Py_IsFinalizing() != 0;
#endif
}

}  // namespace tuneonce::python
