#include "stream_argument.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <utility>

#include "strict_value.h"

namespace tuneonce::python {

namespace py = pybind11;

CUstream StreamOf(py::handle object) {
  if (object.is_none()) return nullptr;
  if (PyLong_Check(object.ptr()) != 0 && PyBool_Check(object.ptr()) == 0) {
    void* stream = PyLong_AsVoidPtr(object.ptr());
    if (PyErr_Occurred() == nullptr) return static_cast<CUstream>(stream);
    PyErr_Clear();
    throw py::value_error("a stream is the address of a CUDA stream, not " + ShownValue(object));
  }
  if (py::hasattr(object, "__cuda_stream__")) {
    const py::object pair = object.attr("__cuda_stream__")();
    try {
      return reinterpret_cast<CUstream>(pair.cast<std::pair<int, std::uintptr_t>>().second);
    } catch (const py::cast_error&) {
      ThrowWrongType("the result of __cuda_stream__", "a pair of ints (version, address)", pair);
    }
  }
  if (py::hasattr(object, "cuda_stream")) {
    return StreamOf(object.attr("cuda_stream"));
  }
  throw py::type_error("a stream must be an int, or an object with __cuda_stream__ or cuda_stream");
}

}  // namespace tuneonce::python
