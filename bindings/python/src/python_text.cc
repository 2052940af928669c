#include "python_text.h"

#include <algorithm>

namespace tuneonce::python {
namespace {

namespace py = pybind11;

constexpr char kSpace[] = " \t\r\n";

}  // namespace

py::str TextFrom(const std::string& text) {
  PyObject* decoded = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (decoded == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(decoded);
}

std::string LineOf(py::handle text) {
  PyObject* encoded = PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace");
  if (encoded == nullptr) {
    PyErr_Clear();
    return "";
  }
  const auto bytes = py::reinterpret_steal<py::bytes>(encoded);
  std::string line(PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr())));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  line.erase(0, line.find_first_not_of(kSpace));
  line.erase(line.find_last_not_of(kSpace) + 1);
  return line;
}

std::string LineOf(const py::error_already_set& error) {
  const std::string type = reinterpret_cast<PyTypeObject*>(error.type().ptr())->tp_name;
  const std::string name = type.substr(type.rfind('.') + 1);
  PyObject* stated = PyObject_Str(error.value().ptr());
  if (stated == nullptr) {  // Its __str__ raised.
    PyErr_Clear();
    return name;
  }
  const auto text = py::reinterpret_steal<py::object>(stated);
  const std::string line = LineOf(text);
  return line.empty() ? name : name + ": " + line;
}

}  // namespace tuneonce::python
