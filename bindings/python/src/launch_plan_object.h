#ifndef TUNEONCE_BINDINGS_PYTHON_LAUNCH_PLAN_OBJECT_H_
#define TUNEONCE_BINDINGS_PYTHON_LAUNCH_PLAN_OBJECT_H_

#include <pybind11/pybind11.h>

#include "tuneonce/tuned_kernel.h"

namespace tuneonce::python {

/// A tuneonce.LaunchPlan. Throws what Python raises.
pybind11::object LaunchPlanObject(const LaunchPlan& plan);

/// The config of {axis: value}. Throws a TypeError, naming the axis, for a value of another type.
TunedKernel::NamedConfig NamedConfigOf(const pybind11::dict& config);

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_LAUNCH_PLAN_OBJECT_H_
