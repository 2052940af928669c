#ifndef TUNEONCE_BINDINGS_PYTHON_PYTHON_OBSERVER_H_
#define TUNEONCE_BINDINGS_PYTHON_PYTHON_OBSERVER_H_

#include <pybind11/pybind11.h>

#include <string>

#include "tuneonce/plugin/autotune_observer.h"

namespace tuneonce::python {

/// A tuneonce.Observer as the library's. An exception that it raises goes to sys.unraisablehook and stops nothing; but
/// KeyboardInterrupt, SystemExit and the like end the call that the thread is in. Thread rule: any thread, with or
/// without the GIL, but for the constructor and object(), which need it.
class PythonObserver final : public AutotuneObserver {
 public:
  /// Throws a TypeError if the object is not an observer.
  explicit PythonObserver(pybind11::object observer);
  ~PythonObserver() override;

  void OnTuneBegin(const std::string& kernel, const std::string& key) override;
  void OnTuned(const std::string& kernel, const std::string& key, const TuningRecord& record) override;
  void OnTuneFailed(const std::string& kernel, const std::string& key, const Status& why) override;
  void OnStoredHit(const std::string& kernel, const std::string& key, const std::string& config) override;
  void OnRefusedMiss(const std::string& kernel, const std::string& key) override;
  void OnWarning(const std::string& line) override;

  /// Returns the object for Python's cycle collector; null after Clear.
  PyObject* object() const { return observer_.ptr(); }
  /// Releases the observer, which receives no further notifications.
  void Clear() { observer_ = pybind11::object(); }

 private:
  /// Calls a method with what `make_arguments` makes, with the GIL.
  template <typename MakeArguments>
  void Tell(const char* method, const MakeArguments& make_arguments);

  pybind11::object observer_;
};

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_PYTHON_OBSERVER_H_
