#include "strict_value.h"

#include <algorithm>
#include <cmath>

#include "python_text.h"

namespace tuneonce::python {
namespace {

namespace py = pybind11;

/// More of a value than this is not shown.
constexpr std::size_t kLongestShown = 60;

}  // namespace

std::string ShownValue(py::handle given) {
  const std::string of_type = "one of the type " + std::string(Py_TYPE(given.ptr())->tp_name);
  PyObject* repr = PyObject_Repr(given.ptr());  // ValueError for an int of thousands of digits.
  if (repr == nullptr) PyErr_Clear();
  const auto shown = py::reinterpret_steal<py::object>(repr);
  const std::string text = shown ? LineOf(shown) : of_type;
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
  Py_ssize_t size = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(given.ptr(), &size);
  if (utf8 != nullptr) return {utf8, static_cast<std::size_t>(size)};
  PyErr_Clear();
  throw py::value_error(std::string(name) + " is a str without lone surrogates, not " + ShownValue(given));
}

std::string PathOf(const char* name, py::handle given) {
  bool is_path = PyUnicode_Check(given.ptr()) != 0 || py::hasattr(given, "__fspath__");
  if (!is_path) ThrowWrongType(name, "a path (str or os.PathLike)", given);
  return py::module_::import("os").attr("fsencode")(given).cast<std::string>();
}

std::size_t WordOf(const char* name, py::handle given, const std::vector<std::string>& words) {
  std::string all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    all += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + ("'" + words[i] + "'");
  }
  if (PyUnicode_Check(given.ptr()) == 0) ThrowWrongType(name, all, given);
  auto found = std::find(words.begin(), words.end(), LineOf(given));
  if (found == words.end()) throw py::value_error(std::string(name) + " is " + all + ", not " + ShownValue(given));
  return static_cast<std::size_t>(found - words.begin());
}

std::vector<py::object> ReadCall(const char* function, const std::vector<const char*>& names, std::size_t num_required,
                                 const py::args& args, const py::kwargs& keywords) {
  std::vector<py::object> values(names.size());
  std::string all;
  for (const char* name : names) all += (all.empty() ? "" : ", ") + std::string(name);
  const std::string takes = std::string(function) + " takes (" + all + ")";
  if (args.size() > names.size()) throw py::type_error(takes + ", not " + std::to_string(args.size()) + " arguments");
  for (std::size_t i = 0; i < args.size(); ++i) values[i] = args[i];
  for (const auto& [key, value] : keywords) {
    const std::string name = LineOf(key);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) throw py::type_error(takes + ", and has no keyword '" + name + "'");
    py::object& place = values[static_cast<std::size_t>(found - names.begin())];
    if (place) throw py::type_error(std::string(function) + " got two values for " + name);
    place = py::reinterpret_borrow<py::object>(value);
  }
  for (std::size_t i = 0; i < num_required; ++i) {
    if (!values[i]) throw py::type_error(takes + ", and " + names[i] + " is missing");
  }
  return values;
}

}  // namespace tuneonce::python
