#include "config_set_type.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "initialized_caster.h"
#include "python_status.h"
#include "tuneonce/config.h"
#include "tuneonce/search_space.h"

template <>
class pybind11::detail::type_caster<tuneonce::ConfigSet>
    : public tuneonce::python::InitializedCaster<tuneonce::ConfigSet> {};

namespace tuneonce::python {
namespace {

namespace py = pybind11;

using Values = std::variant<std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>>;

ConfigSet MakeConfigSet(const std::vector<std::pair<std::string, Values>>& axes,
                        const std::vector<std::string>& conditions) {
  SearchSpace space;
  for (const auto& [name, values] : axes) {
    if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&values)) {
      space.AddAxis(name, *ints);
    } else if (const auto* reals = std::get_if<std::vector<double>>(&values)) {
      space.AddDoubleAxis(name, *reals);
    } else {
      space.AddStringAxis(name, std::get<std::vector<std::string>>(values));
    }
  }
  for (const std::string& text : conditions) {
    Condition condition = ValueOrThrow(Condition::Parse(text));
    space.Where(text, condition);
    ThrowIfError(space.status());
  }
  ThrowIfError(space.Resolve(TermNames()));
  for (const NamedCondition& each : space.conditions()) {
    if (each.condition.reads().target) {
      ThrowIfError(
          InvalidArgumentError(each.ToString() + " reads the device, but this space has none: use axes alone"));
    }
  }
  py::gil_scoped_release release;
  Result<ConfigSet> set = space.Configs(Target());
  py::gil_scoped_acquire acquire;
  return ValueOrThrow(std::move(set));
}

std::vector<AxisValue> ValuesAt(const ConfigSet& set, std::int64_t index) { return set.At(index).values(); }

}  // namespace

void AddConfigSet(py::module_& module) {
  py::class_<ConfigSet>(module, "_ConfigSet")
      .def(py::init(&MakeConfigSet), py::arg("axes"), py::arg("conditions"))
      .def("size", &ConfigSet::size)
      .def("values_at", &ValuesAt, py::arg("index"));
}

}  // namespace tuneonce::python
