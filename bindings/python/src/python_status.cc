#include "python_status.h"

#include <map>
#include <string>

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
  add(StatusCode::kCancelled, nullptr, "It was ended before it was done.");
  add(StatusCode::kInvalidArgument, PyExc_ValueError, "An argument, a declaration or a file does not fit.");
  add(StatusCode::kDeadlineExceeded, PyExc_TimeoutError, "It took too long.");
  add(StatusCode::kNotFound, PyExc_LookupError, "There is no such bundle, store or key.");
  add(StatusCode::kResourceExhausted, PyExc_MemoryError, "No memory, no process or no room for it.");
  add(StatusCode::kFailedPrecondition, nullptr, "Not in this state: while a stream captures, say.");
  add(StatusCode::kUnimplemented, PyExc_NotImplementedError, "This build or driver does not have it.");
  add(StatusCode::kInternal, nullptr, "No config worked, or the library is wrong.");
  add(StatusCode::kUnavailable, nullptr, "What it needs is not there now: a driver, a compiler.");
  add(StatusCode::kDataLoss, nullptr, "Data of the caller's were overwritten; the message names them.");
}

PyObject* SetException(const Status& status) {
  PyErr_SetString(Exceptions().at(status.code()), status.message().c_str());
  return nullptr;
}

pybind11::object ExceptionOf(const Status& status) {
  return pybind11::handle(Exceptions().at(status.code()))(status.message());
}

}  // namespace tuneonce::python
