#ifndef TUNEONCE_BINDINGS_PYTHON_PYTHON_SIGNALS_H_
#define TUNEONCE_BINDINGS_PYTHON_PYTHON_SIGNALS_H_

#include <chrono>

namespace tuneonce::python {

/// How often a call that works without the GIL looks for signals: a person does not notice, nor do other threads, which
/// may hold the GIL for 5 ms.
inline constexpr std::chrono::milliseconds kSignalPoll(50);

/// The identity of Python's main thread. Needs the GIL; 0 with an exception set.
unsigned long MainThread();

/// SearchOptions::interrupted: true once a signal's handler raised in the call that this thread is in; the exception is
/// set then. Python runs handlers on its main thread, when that asks for it. Needs no GIL.
bool SignalRaised(unsigned long main_thread);

/// The call that this thread is in ends.
void ForgetSignal();

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_PYTHON_SIGNALS_H_
