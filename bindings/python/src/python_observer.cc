#include "python_observer.h"

#include <utility>

#include "python_signals.h"
#include "python_status.h"
#include "python_text.h"
#include "result_object.h"
#include "strict_value.h"

namespace tuneonce::python {
namespace py = pybind11;

PythonObserver::PythonObserver(py::object observer) : observer_(std::move(observer)) {
  py::object type = py::module_::import("tuneonce.observer").attr("Observer");
  if (!py::isinstance(observer_, type)) ThrowWrongType("observer", "a tuneonce.Observer", observer_);
}

PythonObserver::~PythonObserver() {
  if (!observer_) return;
  if (IsPythonOver()) {
    observer_.release();
    return;
  }
  py::gil_scoped_acquire gil;
  observer_ = py::object();
}

template <typename MakeArguments>
void PythonObserver::Tell(const char* method, const MakeArguments& make_arguments) {
  if (IsPythonOver()) return;
  py::gil_scoped_acquire gil;
  if (!observer_ || PyErr_Occurred() != nullptr) return;  // Something was raised: that ends the call.
  try {
    observer_.attr(method)(*make_arguments());
  } catch (py::error_already_set& e) {
    if (e.matches(PyExc_Exception)) {
      e.discard_as_unraisable(method);
    } else {
      EndCallBy(e);
    }
  }
}

void PythonObserver::OnTuneBegin(const std::string& kernel, const std::string& key) {
  Tell("on_tune_begin", [&] { return py::make_tuple(kernel, key); });
}

void PythonObserver::OnTuned(const std::string& kernel, const std::string& key, const TuningRecord& record) {
  Tell("on_tuned", [&] { return py::make_tuple(kernel, key, RecordObject(record)); });
}

void PythonObserver::OnTuneFailed(const std::string& kernel, const std::string& key, const Status& why) {
  Tell("on_tune_failed", [&] { return py::make_tuple(kernel, key, ExceptionOf(why)); });
}

void PythonObserver::OnStoredHit(const std::string& kernel, const std::string& key, const std::string& config) {
  Tell("on_stored_hit", [&] { return py::make_tuple(kernel, key, config); });
}

void PythonObserver::OnRefusedMiss(const std::string& kernel, const std::string& key) {
  Tell("on_refused_miss", [&] { return py::make_tuple(kernel, key); });
}

void PythonObserver::OnWarning(const std::string& line) {
  Tell("on_warning", [&] { return py::make_tuple(TextFrom(line)); });
}

}  // namespace tuneonce::python
