// The extension module tuneonce._tuneonce.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bundle_type.h"
#include "callable_search.h"
#include "config_set_type.h"
#include "inspect/classified_bundle.h"
#include "inspect/doctor.h"
#include "inspect/runtime_settings.h"
#include "inspect/shown_family.h"
#include "live_caller_type.h"
#include "policy_keywords.h"
#include "python_status.h"
#include "report/records_json.h"
#include "report_text.h"
#include "strict_value.h"
#include "tile_ir_compile.h"
#include "tuned_kernel_type.h"
#include "tuneonce/geometry.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/report.h"
#include "tuneonce/runtime.h"
#include "warmup_all.h"

namespace tuneonce::python {
namespace {

namespace py = pybind11;

void CheckGrid(const std::string& pattern, const std::vector<std::string>& fields, std::size_t num_tiles) {
  const GridFields* used = ValueOrThrow(GridFields::Of(pattern));
  for (const std::string& field : fields) ThrowIfError(used->CheckField(field));
  ThrowIfError(used->CheckTiles(num_tiles));
}

std::map<std::string, std::int64_t> ExtentsOf(const py::dict& given) {
  std::map<std::string, std::int64_t> extents;
  for (const auto& [key, extent] : given) {
    const std::string dim = TextOf("the name of an extent", key);
    extents[dim] = IntegerOf(dim.c_str(), extent, std::numeric_limits<std::int64_t>::min());
  }
  return extents;
}

/// `targets`: empty for all that are known.
std::string FamilyJson(const py::object& family, const py::list& targets, const py::dict& extents) {
  std::vector<Target> named;
  for (py::handle target : targets) named.push_back(ValueOrThrow(Target::Named(TextOf("target", target))));
  return ValueOrThrow(ShownFamily::Of(TextOf("family", family), std::move(named), ExtentsOf(extents))).Json();
}

/// `target`: empty for ClassifiedBundle's selection.
std::string ClassifyJson(const py::object& bundle, const py::object& target, const py::dict& extents,
                         const std::map<std::string, std::vector<std::string>>& ptx) {
  ClassifiedBundle::Options options;
  const std::string on = TextOf("target", target);
  if (!on.empty()) options.target = ValueOrThrow(Target::Named(on));
  options.dims = ExtentsOf(extents);
  options.ptx = ptx;
  options.runtime = Runtime::Default();
  return ValueOrThrow(ClassifiedBundle::Of(ValueOrThrow(Bundle::Load(PathOf("bundle", bundle))), options)).Json();
}

Result<std::string> RecordsAsJson(const std::string& path) {
  SqliteStoreOptions options;
  options.path = path;
  if (path.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(options.path, UserStorePath(*Runtime::Default()));
  }
  options.read_only = true;
  Result<std::shared_ptr<SqliteStore>> store = SqliteStore::Open(options);
  // The user's own store is made by the first tune.
  if (path.empty() && store.status().code() == StatusCode::kNotFound) return RecordsToJson({});
  TUNEONCE_RETURN_IF_ERROR(store.status());
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> records, (*store)->List());
  return RecordsToJson(records);
}

std::string RecordsJson(const py::object& file) {
  std::string path = file.is_none() ? "" : PathOf("path", file);
  std::optional<Result<std::string>> json;
  {
    py::gil_scoped_release release;
    json.emplace(RecordsAsJson(path));
  }
  return ValueOrThrow(*std::move(json));
}

}  // namespace

PYBIND11_MODULE(_tuneonce, module) {
  module.doc() = "The C++ part of tuneonce.";
  module.attr("__version__") = TUNEONCE_PYTHON_VERSION;
  AddExceptions(module);
  AddBundle(module);
  AddTunedKernel(module);
  AddWarmupAll(module);
  AddCallableSearch(module);
  AddConfigSet(module);
  AddTileIrCompile(module);
  AddLiveCaller(module);
  AddReportText(module);
  module.def("_doctor_json", [] {
    py::gil_scoped_release release;
    return DoctorJson(RunDoctor(*Runtime::Default()));
  });
  module.def("_check_grid", &CheckGrid, py::arg("pattern"), py::arg("fields"), py::arg("num_tiles"));
  module.def("_classify_json", &ClassifyJson, py::arg("bundle"), py::arg("target"), py::arg("extents"), py::arg("ptx"));
  module.def("_family_json", &FamilyJson, py::arg("name"), py::arg("targets"), py::arg("extents"));
  module.def("_begin_trace", [] { Runtime::Default()->BeginTrace(); });
  module.def("_end_trace", [] { return Runtime::Default()->EndTrace(); });
  module.def("_records_json", &RecordsJson, py::arg("path"));
  py::options options;
  options.disable_function_signatures();
  module.def(
      "disable_autotune",
      [](const py::args& args, const py::kwargs& keywords) {
        const py::object disable = ReadCall("disable_autotune", {"disable"}, 0, args, keywords)[0];
        DisableAutotune(disable ? disable : py::bool_(true));
      },
      "disable_autotune(disable=True)\n--\n\nKernels made from now on launch their baselines: nothing is measured or "
      "stored.");
}

}  // namespace tuneonce::python
