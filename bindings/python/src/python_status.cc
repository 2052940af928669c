#include "python_status.h"

#include <map>
#include <string>

namespace tuneonce::python {
namespace {

/// By code; owned by the module, which is never unloaded.
std::map<StatusCode, PyObject*>& Exceptions() {
  static auto* const exceptions = new std::map<StatusCode, PyObject*>;
  return *exceptions;
}

}  // namespace

void AddExceptions(pybind11::module_& module) {
  PyObject* base = PyErr_NewExceptionWithDoc("tuneonce.Error", "An error of the tuneonce library; the base of all.",
                                             PyExc_RuntimeError, nullptr);
  module.add_object("Error", pybind11::reinterpret_borrow<pybind11::object>(base));
  auto add = [&](StatusCode code, PyObject* also) {
    std::string name = std::string(StatusCodeName(code)) + "Error";
    pybind11::tuple bases = pybind11::make_tuple(pybind11::handle(base));
    if (also != nullptr) bases = pybind11::make_tuple(pybind11::handle(base), pybind11::handle(also));
    PyObject* exception = PyErr_NewException(("tuneonce." + name).c_str(), bases.ptr(), nullptr);
    module.add_object(name.c_str(), pybind11::reinterpret_borrow<pybind11::object>(exception));
    Exceptions()[code] = exception;
  };
  add(StatusCode::kCancelled, nullptr);
  add(StatusCode::kInvalidArgument, PyExc_ValueError);
  add(StatusCode::kDeadlineExceeded, PyExc_TimeoutError);
  add(StatusCode::kNotFound, PyExc_LookupError);
  add(StatusCode::kResourceExhausted, PyExc_MemoryError);
  add(StatusCode::kFailedPrecondition, nullptr);
  add(StatusCode::kUnimplemented, PyExc_NotImplementedError);
  add(StatusCode::kInternal, nullptr);
  add(StatusCode::kUnavailable, nullptr);
}

PyObject* SetException(const Status& status) {
  PyErr_SetString(Exceptions().at(status.code()), status.message().c_str());
  return nullptr;
}

pybind11::object ExceptionOf(const Status& status) {
  return pybind11::handle(Exceptions().at(status.code()))(status.message());
}

}  // namespace tuneonce::python
