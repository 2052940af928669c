#ifndef TUNEONCE_BINDINGS_PYTHON_CALLABLE_SEARCH_H_
#define TUNEONCE_BINDINGS_PYTHON_CALLABLE_SEARCH_H_

#include <pybind11/pybind11.h>

namespace tuneonce::python {

/// Adds _race(num_configs, launch, stream, device, timer) -> list of dicts: the search of exhaustive_search over
/// anything that launches.
void AddCallableSearch(pybind11::module_& module);

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_CALLABLE_SEARCH_H_
