#ifndef TUNEONCE_BINDINGS_PYTHON_STORE_ARGUMENT_H_
#define TUNEONCE_BINDINGS_PYTHON_STORE_ARGUMENT_H_

#include <pybind11/pybind11.h>

#include <memory>

#include "tuneonce/plugin/record_store.h"

namespace tuneonce::python {

/// The store that `store=` names: None (null: the user's own), "memory", a file's path, or a list of these, of which
/// the first is written and the others are files that an application ships, the first of them over the others. Throws.
std::shared_ptr<RecordStore> StoreOf(pybind11::handle given);

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_STORE_ARGUMENT_H_
