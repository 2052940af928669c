#ifndef TUNEONCE_BINDINGS_PYTHON_PYTHON_TEXT_H_
#define TUNEONCE_BINDINGS_PYTHON_PYTHON_TEXT_H_

#include <pybind11/pybind11.h>

#include <string>

namespace tuneonce::python {

// Texts of messages, which may name files whose names are not UTF-8. All functions need the GIL.

/// A text of the library as Python's. Bytes that are not UTF-8 become escapes, "\xe9".
pybind11::str TextFrom(const std::string& text);
/// A str of Python on one line, without surrounding space. Lone surrogates become escapes, "\udce9". Throws nothing.
std::string LineOf(pybind11::handle text);
/// "OSError: no library": what an exception states, on one line; its type alone if it states nothing. Throws nothing.
std::string LineOf(const pybind11::error_already_set& error);

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_PYTHON_TEXT_H_
