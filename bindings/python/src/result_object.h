#ifndef TUNEONCE_BINDINGS_PYTHON_RESULT_OBJECT_H_
#define TUNEONCE_BINDINGS_PYTHON_RESULT_OBJECT_H_

#include <pybind11/pybind11.h>

#include <functional>

#include "tuneonce/tuning_record.h"

namespace tuneonce::python {

/// {axis: value}.
pybind11::object ConfigDict(const Config& config);

/// Makes a tuneonce.TuningRecord. `config_of` converts a config to Python. Throws Python's exceptions. Needs the GIL.
pybind11::object ResultObject(const TuningRecord& result,
                              const std::function<pybind11::object(const Config&)>& config_of);

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_RESULT_OBJECT_H_
