#ifndef TUNEONCE_BINDINGS_PYTHON_PYTHON_SIGNALS_H_
#define TUNEONCE_BINDINGS_PYTHON_PYTHON_SIGNALS_H_

#include <pybind11/pybind11.h>

#include <chrono>

namespace tuneonce::python {

/// How often a call that works without the GIL looks for signals: a person does not notice, nor do other threads, which
/// may hold the GIL for 5 ms.
inline constexpr std::chrono::milliseconds kSignalPoll(50);

/// The identity of Python's main thread. Needs the GIL; 0 with an exception set.
unsigned long MainThread();

/// SearchOptions::stop: true once a signal's handler raised in the call that this thread is in; the exception is
/// set then. Python runs handlers on its main thread, when that asks for it. Needs no GIL.
bool SignalRaised(unsigned long main_thread);

/// A callback raised `error`, which is to end the call that this thread is in: as if a signal's handler had raised it.
/// Needs the GIL.
void EndCallBy(pybind11::error_already_set& error);

/// Calls `callback` unless an exception was raised before. An exception from it ends the call that this thread is in,
/// like one of a signal handler. Needs the GIL.
template <typename Callback>
void CallBack(const Callback& callback) {
  if (PyErr_Occurred() != nullptr) return;
  try {
    callback();
  } catch (pybind11::error_already_set& error) {
    EndCallBy(error);
  }
}

/// The call that this thread is in ends.
void ForgetSignal();

/// Python ends: nothing of it may be used any more.
bool IsPythonOver();

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_PYTHON_SIGNALS_H_
