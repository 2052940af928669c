// The extension module tuneonce._tuneonce.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>
#include <string>
#include <vector>

#include "base/environment.h"
#include "callable_search.h"
#include "python_status.h"
#include "report/doctor.h"
#include "report/records_json.h"
#include "store/default_store.h"
#include "tuned_kernel_type.h"
#include "warmup_all.h"
#include "tuneonce/bundle.h"
#include "tuneonce/grid.h"
#include "tuneonce/report.h"
#include "tuneonce/runtime.h"
#include "tuneonce/sqlite_store.h"

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
      each["dims"] = parameter.dims;
      each["access"] = parameter.access == Access::kIn ? "in" : parameter.access == Access::kOut ? "out" : "inout";
    }
    parameters[parameter.name.c_str()] = each;
  }
  return parameters;
}

void CheckGrid(const std::string& pattern, const std::vector<std::string>& fields, std::size_t num_tiles) {
  const GridFields* used = ValueOrThrow(GridFields::Of(pattern));
  for (const std::string& field : fields) ThrowIfError(used->CheckField(field));
  ThrowIfError(used->CheckTiles(num_tiles));
}

std::string RecordsJson(const std::string& path) {
  SqliteStoreOptions options;
  options.path = path.empty() ? ValueOrThrow(DefaultStorePath(Runtime::Default()->environment())) : path;
  options.read_only = true;
  Result<std::shared_ptr<SqliteStore>> store = SqliteStore::Open(options);
  // The user's own store is made by the first tune.
  if (path.empty() && store.status().code() == StatusCode::kNotFound) return RecordsToJson({});
  return RecordsToJson(ValueOrThrow(ValueOrThrow(std::move(store))->List()));
}

}  // namespace

PYBIND11_MODULE(_tuneonce, module) {
  module.doc() = "The C++ part of tuneonce.";
  AddExceptions(module);
  py::class_<Bundle>(module, "Bundle", "A kernel with its space and code, as a folder with a manifest.json.")
      .def(py::init([](const py::object& folder) { return LoadBundle(folder); }),
           py::arg("folder"))
      .def_property_readonly("name", [](const Bundle& bundle) { return bundle.definition().name(); })
      .def_property_readonly("dims",
                             [](const Bundle& bundle) { return py::tuple(py::cast(bundle.definition().dims())); })
      .def_property_readonly(
          "parameters", [](const Bundle& bundle) { return ParametersOf(bundle.definition()); },
          "What a call takes, in order: {name: {kind, dtype, dims, access}}.")
      .def_property_readonly("variants",
                             [](const Bundle& bundle) {
                               std::vector<std::string> names;
                               for (const Variant& variant : bundle.definition().variants())
                                 names.push_back(variant.name);
                               return names;
                             })
      .def_property_readonly("example", [](const Bundle& bundle) {
        py::dict example;
        example["dims"] = bundle.example().dims;
        example["scalars"] = bundle.example().scalars;
        return example;
      });
  AddTunedKernel(module);
  AddWarmupAll(module);
  AddCallableSearch(module);
  module.def("_doctor_json", [] {
    py::gil_scoped_release release;
    return DoctorJson(RunDoctor(*Runtime::Default()));
  });
  module.def("_check_grid", &CheckGrid, py::arg("pattern"), py::arg("fields"), py::arg("num_tiles"));
  module.def("_records_json", &RecordsJson, py::arg("path"), py::call_guard<py::gil_scoped_release>());
  module.def("disable_autotune", &DisableAutotune, py::arg("disable") = true,
             "Kernels made from now on launch their baselines: nothing is measured or stored.");
}

}  // namespace tuneonce::python
