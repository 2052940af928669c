#include "python_status.h"

#include <map>
#include <string>

#include "python_text.h"

namespace tuneonce::python {
namespace {

/// By code. The module owns them and is never unloaded.
std::map<StatusCode, PyObject*>& Exceptions() {
  static auto* const exceptions = new std::map<StatusCode, PyObject*>;
  return *exceptions;
}

}  // namespace

void AddExceptions(pybind11::module_& module) {
  PyObject* base = PyErr_NewExceptionWithDoc("tuneonce.Error", "An error of the tuneonce library; the base of all.",
                                             PyExc_RuntimeError, nullptr);
  module.add_object("Error", pybind11::reinterpret_borrow<pybind11::object>(base));
  auto add = [&](StatusCode code, PyObject* also, const char* doc) {
    std::string name = std::string(StatusCodeName(code)) + "Error";
    pybind11::tuple bases = pybind11::make_tuple(pybind11::handle(base));
    if (also != nullptr) bases = pybind11::make_tuple(pybind11::handle(base), pybind11::handle(also));
    PyObject* exception = PyErr_NewExceptionWithDoc(("tuneonce." + name).c_str(), doc, bases.ptr(), nullptr);
    module.add_object(name.c_str(), pybind11::reinterpret_borrow<pybind11::object>(exception));
    Exceptions()[code] = exception;
  };
  add(StatusCode::kCancelled, nullptr, "The call was cancelled.");
  add(StatusCode::kInvalidArgument, PyExc_ValueError, "An argument, a declaration or a file is invalid.");
  add(StatusCode::kDeadlineExceeded, PyExc_TimeoutError, "The deadline passed.");
  add(StatusCode::kNotFound, PyExc_LookupError, "There is no such bundle, store or key.");
  add(StatusCode::kResourceExhausted, PyExc_MemoryError, "Memory, processes or disk space are exhausted.");
  add(StatusCode::kFailedPrecondition, nullptr,
      "The current state forbids the call, for example while a stream captures.");
  add(StatusCode::kUnimplemented, PyExc_NotImplementedError, "This build or driver does not have it.");
  add(StatusCode::kInternal, nullptr, "No config worked, or the library has an internal error.");
  add(StatusCode::kUnavailable, nullptr, "A driver, a compiler or another requirement is missing now.");
  add(StatusCode::kDataLoss, nullptr, "Data of the caller was overwritten; the message names the tensors.");
}

PyObject* SetException(const Status& status) {
  PyErr_SetObject(Exceptions().at(status.code()), TextFrom(status.message()).ptr());
  return nullptr;
}

pybind11::object ExceptionOf(const Status& status) {
  return pybind11::handle(Exceptions().at(status.code()))(TextFrom(status.message()));
}

}  // namespace tuneonce::python
