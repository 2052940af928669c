#ifndef TUNEONCE_BINDINGS_PYTHON_WARMUP_ALL_H_
#define TUNEONCE_BINDINGS_PYTHON_WARMUP_ALL_H_

#include <pybind11/pybind11.h>

#include <vector>

#include "tuneonce/kernel_definition.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce::python {

/// Reads the shapes of a warm-up: each {name: extent, number, boolean or dtype's name}, or a sequence of the dims'
/// extents in their order. `dtypes` is None, or {tensor: dtype} for shapes without one. Throws.
std::vector<TunedKernel::Shape> ReadShapes(const KernelDefinition& definition, pybind11::handle shapes,
                                           pybind11::handle dtypes);

/// Adds the function warmup_all to the module.
void AddWarmupAll(pybind11::module_& module);

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_WARMUP_ALL_H_
