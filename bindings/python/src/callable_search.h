#ifndef TUNEONCE_BINDINGS_PYTHON_CALLABLE_SEARCH_H_
#define TUNEONCE_BINDINGS_PYTHON_CALLABLE_SEARCH_H_

#include <pybind11/pybind11.h>

namespace tuneonce::python {

/// Adds _search: the library's exhaustive_search over anything of Python's that launches. search.py calls it.
void AddCallableSearch(pybind11::module_& module);

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_CALLABLE_SEARCH_H_
