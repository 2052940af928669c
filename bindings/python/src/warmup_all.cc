#include "warmup_all.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "kernel_call.h"
#include "python_signals.h"
#include "python_status.h"
#include "python_text.h"
#include "stream_argument.h"
#include "strict_value.h"
#include "tuned_kernel_type.h"

namespace tuneonce::python {
namespace {

namespace py = pybind11;

std::int64_t WholeNumberOf(const std::string& name, py::handle given) {
  return IntegerOf(name.c_str(), given, std::numeric_limits<std::int64_t>::min());
}

TunedKernel::Shape::Value ReadValue(const KernelDefinition& definition, const std::string& name, py::handle given) {
  if (py::isinstance<py::str>(given)) {
    std::optional<DType> dtype = DTypeNamed(LineOf(given));
    const std::vector<std::string>& dims = definition.dims();
    const bool is_dim = std::find(dims.begin(), dims.end(), name) != dims.end();
    const bool is_scalar =
        std::any_of(definition.parameters().begin(), definition.parameters().end(),
                    [&](const Parameter& each) { return each.kind == ParameterKind::kScalar && each.name == name; });
    if (!dtype && is_dim) ThrowWrongType(name.c_str(), "an int", given);
    if (!dtype && is_scalar) ThrowWrongType(name.c_str(), "an int, float or bool", given);
    if (!dtype) throw py::value_error("'" + name + "': unknown dtype " + ShownValue(given));
    return *dtype;
  }
  if (py::isinstance<py::bool_>(given)) return given.ptr() == Py_True;
  if (PyIndex_Check(given.ptr()) != 0) {  // numpy's integers too.
    const auto whole = py::reinterpret_steal<py::object>(PyNumber_Index(given.ptr()));
    const unsigned long long large = whole ? PyLong_AsUnsignedLongLong(whole.ptr()) : 0;
    if (PyErr_Occurred() == nullptr) return large;
    PyErr_Clear();  // Negative, or no number of 64 bits.
    return WholeNumberOf(name, given);
  }
  double value = PyFloat_AsDouble(given.ptr());
  if (PyErr_Occurred() == nullptr) return value;
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw py::error_already_set();
  PyErr_Clear();
  ThrowWrongType(name.c_str(), "an int, float, bool or the name of a dtype", given);
}

TunedKernel::Shape ReadShape(const KernelDefinition& definition, py::handle given) {
  TunedKernel::Shape shape;
  if (py::isinstance<py::dict>(given)) {
    for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(given)) {
      std::string name = TextOf("a name in a shape", key);
      shape.values.emplace_back(name, ReadValue(definition, name, value));
    }
    return shape;
  }
  if (PySequence_Check(given.ptr()) == 0) ThrowWrongType("a shape", "a dict or a sequence of extents", given);
  auto in_order = py::reinterpret_borrow<py::sequence>(given);
  if (in_order.size() != definition.dims().size()) {
    std::string dims;
    for (const std::string& dim : definition.dims()) dims += (dims.empty() ? "" : ", ") + dim;
    throw py::value_error("a shape needs one value per dim (" + dims + "), not " + ShownValue(given));
  }
  for (const std::string& dim : definition.dims()) {
    shape.values.emplace_back(dim, WholeNumberOf(dim, in_order[shape.values.size()]));
  }
  return shape;
}

const char* StateText(WarmedKey::State state) {
  switch (state) {
    case WarmedKey::State::kReady:
      return "ready";
    case WarmedKey::State::kFromStore:
      return "from_store";
    case WarmedKey::State::kFromRanks:
      return "from_ranks";
    case WarmedKey::State::kPredicted:
      return "predicted";
    case WarmedKey::State::kTuned:
      return "tuned";
    case WarmedKey::State::kFallback:
      return "fallback";
    case WarmedKey::State::kFailed:
      return "failed";
    case WarmedKey::State::kNotReached:
      break;
  }
  return "not_reached";
}

py::dict DictOf(const WarmedKey& key, const std::vector<py::object>& kernels) {
  py::dict dict;
  dict["kernel"] = kernels[key.kernel];
  dict["key"] = key.key;
  dict["shapes"] = key.shapes;
  dict["state"] = StateText(key.state);
  dict["complete"] = key.is_complete;
  dict["error"] = key.status.ok() ? py::object(py::none()) : py::object(TextFrom(key.status.message()));
  return dict;
}

/// Seconds as a deadline; none for None. Throws.
std::optional<std::chrono::milliseconds> DeadlineOf(py::handle seconds) {
  if (seconds.is_none()) return std::nullopt;
  double given = NumberOf("deadline", seconds);
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(std::min(std::ceil(given * 1e3), double{std::numeric_limits<int>::max()})));
}

py::list WarmupAllOf(const py::args& args, const py::kwargs& keywords) {
  std::vector<py::object> read =
      ReadCall("warmup_all", {"kernels", "deadline", "stream", "on_progress"}, 1, args, keywords);
  for (py::object& each : read) {
    if (!each) each = py::none();
  }
  const py::object &given = read[0], &deadline = read[1], &stream = read[2], &on_progress = read[3];
  std::vector<py::object> kernels;
  std::vector<KernelCaller*> callers;
  std::vector<KernelShapes> list;
  py::object pairs = py::hasattr(given, "items") ? given.attr("items")() : given;
  if (!py::isinstance<py::iterable>(pairs)) {
    ThrowWrongType("kernels", "a list of pairs (TunedKernel, shapes), or a dict of them", given);
  }
  for (py::handle pair : py::reinterpret_borrow<py::iterable>(pairs)) {
    const bool is_pair = py::isinstance<py::tuple>(pair) || py::isinstance<py::list>(pair);
    KernelCaller* caller = is_pair && py::len(pair) == 2 ? FindCaller(py::object(pair[py::int_(0)])) : nullptr;
    if (caller == nullptr) {
      throw py::type_error("warmup_all takes pairs (TunedKernel, shapes), not " + ShownValue(pair));
    }
    py::object kernel = pair[py::int_(0)], shapes = pair[py::int_(1)];
    list.push_back({&caller->kernel(), ReadShapes(caller->kernel().definition(), shapes, py::none())});
    kernels.push_back(std::move(kernel));
    callers.push_back(caller);
  }
  if (list.empty()) return py::list();
  WarmupAllOptions options;
  options.deadline = DeadlineOf(deadline);
  if (!on_progress.is_none()) {
    if (PyCallable_Check(on_progress.ptr()) == 0) {
      ThrowWrongType("on_progress", "a function (key, done, total, seconds_left)", on_progress);
    }
    options.on_progress = [&](const WarmupProgress& progress) {
      py::gil_scoped_acquire gil;
      CallBack(
          [&] { on_progress(DictOf(progress.key, kernels), progress.done, progress.total, progress.seconds_left); });
    };
  }
  CUstream where = StreamOf(stream);
  Result<std::vector<WarmedKey>> warmed = std::vector<WarmedKey>();
  {
    py::gil_scoped_release release;
    warmed = KernelCaller::WarmupAll(callers, where, list, options);
  }
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  py::list all;
  for (const WarmedKey& key : ValueOrThrow(std::move(warmed))) all.append(DictOf(key, kernels));
  return all;
}

}  // namespace

std::vector<TunedKernel::Shape> ReadShapes(const KernelDefinition& definition, py::handle shapes, py::handle dtypes) {
  const bool is_list = !py::isinstance<py::dict>(shapes) && !py::isinstance<py::str>(shapes);
  if (!is_list || !py::isinstance<py::iterable>(shapes)) ThrowWrongType("shapes", "a list of shapes", shapes);
  std::map<std::string, std::string> named;
  if (!dtypes.is_none()) {
    if (!py::hasattr(dtypes, "items")) ThrowWrongType("dtypes", "a dict {tensor: dtype}", dtypes);
    for (const auto& [name, text] : py::dict(py::reinterpret_borrow<py::object>(dtypes))) {
      named[TextOf("a name in dtypes", name)] = TextOf("a dtype", text);
    }
  }
  std::vector<TunedKernel::Shape> list;
  for (py::handle each : py::reinterpret_borrow<py::iterable>(shapes)) {
    list.push_back(ReadShape(definition, each));
    for (const auto& [name, text] : named) {
      auto is_it = [&, &tensor = name](const auto& value) { return value.first == tensor; };
      TunedKernel::Shape::Values& values = list.back().values;
      if (std::any_of(values.begin(), values.end(), is_it)) continue;  // The shape has its own value.
      values.emplace_back(name, ReadValue(definition, name, py::str(text)));
    }
  }
  return list;
}

void AddWarmupAll(py::module_& module) {
  py::options options;
  options.disable_function_signatures();
  module.def(
      "warmup_all", WarmupAllOf,
      "warmup_all(kernels, deadline=None, stream=None, on_progress=None)\n--\n\n"
      "Warms up many kernels in one call: `kernels` are pairs (kernel, shapes), or a dict of them, on one device. What "
      "is stored is loaded, the rest tuned in order; compiles overlap. `deadline`: seconds for all, "
      "or None. Returns for each key a dict: kernel, key, shapes (places in the kernel's list), state ('tuned', "
      "'from_store', 'ready', 'fallback', 'failed', 'not_reached'), complete, error (a text or None). "
      "`on_progress(key, done, total, seconds_left)` is called after each, and what it raises ends the warm-up. What "
      "fails stops nothing else.");
}

}  // namespace tuneonce::python
