#include "strict_value.h"

#include <algorithm>
#include <cmath>

namespace tuneonce::python {
namespace {

namespace py = pybind11;

/// More of a value than this is not shown.
constexpr std::size_t kLongestShown = 60;

}  // namespace

std::string ShownValue(py::handle given) {
  const std::string of_type = "one of the type " + std::string(Py_TYPE(given.ptr())->tp_name);
  PyObject* shown = PyObject_Repr(given.ptr());  // ValueError for an int of thousands of digits.
  const char* utf8 = shown == nullptr ? nullptr : PyUnicode_AsUTF8(shown);
  std::string text = utf8 == nullptr ? of_type : utf8;
  Py_XDECREF(shown);
  PyErr_Clear();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.size() > kLongestShown ? of_type : text;
}

void ThrowWrongType(const char* name, const std::string& expected, py::handle given) {
  throw py::type_error(std::string(name) + " is " + expected + ", not " + ShownValue(given));
}

bool BoolOf(const char* name, py::handle given) {
  if (PyBool_Check(given.ptr()) == 0) ThrowWrongType(name, "True or False", given);
  return given.ptr() == Py_True;
}

std::int64_t IntegerOf(const char* name, py::handle given, std::int64_t least, std::int64_t most) {
  if (PyBool_Check(given.ptr()) != 0 || PyIndex_Check(given.ptr()) == 0) ThrowWrongType(name, "an int", given);
  py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(given.ptr()));
  if (!index) throw py::error_already_set();
  int overflow = 0;
  std::int64_t value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0 || value < least || value > most) {
    std::string range = "from " + std::to_string(least);
    const bool is_open = most == std::numeric_limits<std::int64_t>::max() && overflow <= 0;
    range += is_open ? " on" : " to " + std::to_string(most);
    throw py::value_error(std::string(name) + " is a number " + range + ", not " + ShownValue(given));
  }
  return value;
}

double NumberOf(const char* name, py::handle given) {
  bool is_number = PyFloat_Check(given.ptr()) != 0 || PyIndex_Check(given.ptr()) != 0;
  if (PyBool_Check(given.ptr()) != 0 || !is_number) ThrowWrongType(name, "a number", given);
  double value = PyFloat_AsDouble(given.ptr());
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  if (!std::isfinite(value) || value < 0) {
    throw py::value_error(std::string(name) + " is a number from 0 on, not " + ShownValue(given));
  }
  return value;
}

std::string TextOf(const char* name, py::handle given) {
  if (PyUnicode_Check(given.ptr()) == 0) ThrowWrongType(name, "a str", given);
  return given.cast<std::string>();
}

std::string PathOf(const char* name, py::handle given) {
  bool is_path = PyUnicode_Check(given.ptr()) != 0 || py::hasattr(given, "__fspath__");
  if (!is_path) ThrowWrongType(name, "a path (str or os.PathLike)", given);
  return py::module_::import("os").attr("fsdecode")(given).cast<std::string>();
}

std::size_t WordOf(const char* name, py::handle given, const std::vector<std::string>& words) {
  std::string all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    all += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + ("'" + words[i] + "'");
  }
  if (PyUnicode_Check(given.ptr()) == 0) ThrowWrongType(name, all, given);
  auto found = std::find(words.begin(), words.end(), given.cast<std::string>());
  if (found == words.end()) throw py::value_error(std::string(name) + " is " + all + ", not " + ShownValue(given));
  return static_cast<std::size_t>(found - words.begin());
}

}  // namespace tuneonce::python
