#include "launch_plan_object.h"

#include <pybind11/stl.h>

#include <limits>
#include <string>

#include "python_text.h"
#include "result_object.h"
#include "strict_value.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce::python {
namespace {

namespace py = pybind11;

const char* NameOf(RecordMatch match) {
  if (match == RecordMatch::kExact) return "exact";
  return match == RecordMatch::kOtherDriver ? "other_driver" : "other_device";
}

/// Returns None if nothing was missed.
py::object NameOf(RecordMiss miss) {
  switch (miss) {
    case RecordMiss::kNone:
      return py::none();
    case RecordMiss::kNoRecord:
      return py::str("no_record");
    case RecordMiss::kOtherDriver:
      return py::str("other_driver");
    case RecordMiss::kOtherDevice:
      return py::str("other_device");
    case RecordMiss::kOtherSource:
      return py::str("other_source");
    case RecordMiss::kRefused:
      break;
  }
  return py::str("refused");
}

}  // namespace

py::object LaunchPlanObject(const LaunchPlan& plan) {
  py::object config = py::none(), record = py::none(), match = py::none();
  if (plan.config) {
    py::dict values;
    for (std::size_t i = 0; i < plan.config->values().size(); ++i) {
      values[py::str(plan.config->AxisName(i))] = plan.config->values()[i];
    }
    config = std::move(values);
  }
  if (plan.record != nullptr) {
    match = py::str(NameOf(plan.match));
    record = RecordObject(*plan.record);
  }
  return py::module_::import("tuneonce.launch_plan")
      .attr("LaunchPlan")(py::arg("action") = std::string(LaunchPlanName(plan.action)),
                          py::arg("reason") = std::string(LaunchPlanName(plan.reason)),
                          py::arg("origin") = std::string(LaunchPlanName(plan.origin)), py::arg("match") = match,
                          py::arg("config") = config, py::arg("variant") = plan.variant, py::arg("key") = plan.key,
                          py::arg("detail") = TextFrom(plan.detail), py::arg("record") = record,
                          py::arg("miss") = NameOf(plan.miss));
}

TunedKernel::NamedConfig NamedConfigOf(const py::dict& config) {
  TunedKernel::NamedConfig named;
  for (const auto& [name, value] : config) {
    if (!py::isinstance<py::str>(name)) throw py::type_error("a config is a dict {axis: value}");
    auto axis = TextOf("an axis", name);
    if (py::isinstance<py::bool_>(value)) {  // Before int, which it is as well.
      named.emplace_back(std::move(axis), value.cast<bool>());
    } else if (py::isinstance<py::int_>(value)) {
      const std::int64_t number = IntegerOf(axis.c_str(), value, std::numeric_limits<std::int64_t>::min());
      named.emplace_back(std::move(axis), number);
    } else if (py::isinstance<py::float_>(value)) {
      named.emplace_back(std::move(axis), value.cast<double>());
    } else if (py::isinstance<py::str>(value)) {
      std::string text = TextOf(axis.c_str(), value);
      named.emplace_back(std::move(axis), std::move(text));
    } else {
      throw py::type_error("the axis '" + axis + "': the value must be an int, float, bool or str");
    }
  }
  return named;
}

}  // namespace tuneonce::python
