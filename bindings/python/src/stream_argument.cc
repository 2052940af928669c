#include "stream_argument.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <utility>

namespace tuneonce::python {

namespace py = pybind11;

CUstream StreamOf(py::handle object) {
  if (object.is_none()) return nullptr;
  if (PyLong_Check(object.ptr()) != 0 && PyBool_Check(object.ptr()) == 0) {
    void* stream = PyLong_AsVoidPtr(object.ptr());
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    return static_cast<CUstream>(stream);
  }
  if (py::hasattr(object, "__cuda_stream__")) {
    auto pair = object.attr("__cuda_stream__")().cast<std::pair<int, std::uintptr_t>>();
    return reinterpret_cast<CUstream>(pair.second);
  }
  if (py::hasattr(object, "cuda_stream")) {
    return StreamOf(object.attr("cuda_stream"));
  }
  throw py::type_error("a stream must be an int, or an object with __cuda_stream__ or cuda_stream");
}

}  // namespace tuneonce::python
