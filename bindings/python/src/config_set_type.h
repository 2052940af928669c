#ifndef TUNEONCE_BINDINGS_PYTHON_CONFIG_SET_TYPE_H_
#define TUNEONCE_BINDINGS_PYTHON_CONFIG_SET_TYPE_H_

#include <pybind11/pybind11.h>

namespace tuneonce::python {

/// Adds _ConfigSet to the module: the configs of a search space that is made from axes and texts of conditions.
void AddConfigSet(pybind11::module_& module);

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_CONFIG_SET_TYPE_H_
