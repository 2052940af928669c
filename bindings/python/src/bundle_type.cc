#include "bundle_type.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "python_status.h"
#include "strict_value.h"

namespace tuneonce::python {
namespace {

namespace py = pybind11;

py::dict ParametersOf(const KernelDefinition& definition) {
  py::dict parameters;
  for (const Parameter& parameter : definition.parameters()) {
    if (parameter.kind != ParameterKind::kTensor && parameter.kind != ParameterKind::kScalar) continue;
    py::dict each;
    each["kind"] = parameter.kind == ParameterKind::kTensor ? "tensor" : "scalar";
    each["dtype"] = std::string(DTypeName(parameter.dtype));
    if (parameter.kind == ParameterKind::kTensor) {
      py::list dims;
      for (const std::string& dim : parameter.dims) {
        const bool is_constant = dim.rfind('=', 0) == 0;  // "=4": Parameter::dims.
        dims.append(is_constant ? py::object(py::int_(std::stoll(dim.substr(1)))) : py::object(py::str(dim)));
      }
      each["dims"] = dims;
      if (parameter.by_pointers) each["by_pointers"] = true;
      if (!parameter.same_dtype_as.empty()) each["same_dtype_as"] = parameter.same_dtype_as;
      each["access"] = parameter.access == Access::kIn ? "in" : parameter.access == Access::kOut ? "out" : "inout";
    }
    parameters[parameter.name.c_str()] = each;
  }
  return parameters;
}

std::vector<std::string> VariantsOf(const Bundle& bundle) {
  std::vector<std::string> names;
  for (const Variant& variant : bundle.definition().variants()) names.push_back(variant.name);
  return names;
}

py::dict ExampleOf(const Bundle& bundle) {
  py::dict example;
  example["dims"] = bundle.example().dims;
  example["scalars"] = bundle.example().scalars;
  return example;
}

}  // namespace

Bundle LoadBundle(const py::object& folder_or_name) {
  std::string folder = PathOf("bundle", folder_or_name);
  const bool is_text = py::isinstance<py::str>(folder_or_name);
  if (!is_text && folder.find('/') == std::string::npos) folder.insert(0, "./");  // pathlib drops it.
  return ValueOrThrow(Bundle::Load(folder));
}

void AddBundle(py::module_& module) {
  py::class_<Bundle>(
      module, "Bundle",
      "A kernel with its space and code, in a folder with a manifest.json. `folder` is as in tuneonce.load.")
      .def(
          py::init([](const py::args& args, const py::kwargs& keywords) {
            return LoadBundle(ReadCall("Bundle", {"folder"}, 1, args, keywords)[0]);
          }),
          "Bundle(folder) reads a bundle. Raises LookupError for a missing one and ValueError for an invalid manifest.")
      .def_property_readonly(
          "name", [](const Bundle& bundle) { return bundle.definition().name(); }, "The kernel's name.")
      .def_property_readonly(
          "dims", [](const Bundle& bundle) { return py::tuple(py::cast(bundle.definition().dims())); },
          "The names of its dims.")
      .def_property_readonly(
          "parameters", [](const Bundle& bundle) { return ParametersOf(bundle.definition()); },
          "What a call takes, in order: {name: {kind, dtype, dims, access}}; a tensor that has another's "
          "dtype also has same_dtype_as, one by a table of pointers by_pointers.")
      .def_property_readonly("variants", VariantsOf, "The names of its variants, the preferred one first.")
      .def_property_readonly("example", ExampleOf, "A shape to try it with: {dims: {...}, scalars: {...}}.")
      .def(
          "check", [](const Bundle& bundle) { ThrowIfError(bundle.CheckSources()); },
          "Looks into every artifact: that it has the kernel, with parameters as declared. Raises ValueError for the "
          "first that is wrong.")
      .def("__repr__", [](const Bundle& bundle) { return "<tuneonce.Bundle '" + bundle.definition().name() + "'>"; });
}

}  // namespace tuneonce::python
