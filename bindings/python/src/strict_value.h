#ifndef TUNEONCE_BINDINGS_PYTHON_STRICT_VALUE_H_
#define TUNEONCE_BINDINGS_PYTHON_STRICT_VALUE_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tuneonce::python {

// Reads an argument that must have a certain type, without conversions that may not be intended. All functions throw a
// TypeError or ValueError of one line, "`name` is ..., not ...", and need the GIL.

/// True or False, and nothing that is merely true or false.
bool BoolOf(const char* name, pybind11::handle given);
/// An int, or what counts as one (numpy's), but no truth value.
std::int64_t IntegerOf(const char* name, pybind11::handle given, std::int64_t least = 0,
                       std::int64_t most = std::numeric_limits<std::int64_t>::max());
/// A finite number from 0 on: an int or float, but no truth value.
double NumberOf(const char* name, pybind11::handle given);
/// A text that has a form in UTF-8.
std::string TextOf(const char* name, pybind11::handle given);
/// A text, or a path (os.PathLike), as the bytes of a file's name.
std::string PathOf(const char* name, pybind11::handle given);
/// The place of a text in `words`.
std::size_t WordOf(const char* name, pybind11::handle given, const std::vector<std::string>& words);

/// Reads the arguments of a function, whose first `num_required` names need a value. Those without a value are null.
std::vector<pybind11::object> ReadCall(const char* function, const std::vector<const char*>& names,
                                       std::size_t num_required, const pybind11::args& args,
                                       const pybind11::kwargs& keywords);

/// A value as a message shows it: its repr, or "one of the type T" where that is long or fails. Throws nothing.
std::string ShownValue(pybind11::handle given);
/// Throws the TypeError "`name` is `expected`, not `given`".
[[noreturn]] void ThrowWrongType(const char* name, const std::string& expected, pybind11::handle given);

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_STRICT_VALUE_H_
