#ifndef TUNEONCE_BINDINGS_PYTHON_BUNDLE_TYPE_H_
#define TUNEONCE_BINDINGS_PYTHON_BUNDLE_TYPE_H_

#include <pybind11/pybind11.h>

#include "initialized_caster.h"
#include "tuneonce/bundle.h"

template <>
class pybind11::detail::type_caster<tuneonce::Bundle> : public tuneonce::python::InitializedCaster<tuneonce::Bundle> {};

namespace tuneonce::python {

/// Adds the class Bundle to the module.
void AddBundle(pybind11::module_& module);

/// The bundle that Python names: a text as Bundle::Load takes it, a path (os.PathLike) as a folder, never as a name.
/// Throws.
Bundle LoadBundle(const pybind11::object& folder_or_name);

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_BUNDLE_TYPE_H_
