#include "result_object.h"

#include <pybind11/stl.h>

#include <string>

#include "report/reading_fields.h"
#include "store/stored_enums.h"

namespace tuneonce::python {
namespace {

namespace py = pybind11;
using ConfigOf = std::function<py::object(const Config&)>;

/// The classes of tuneonce/result.py.
py::object ClassNamed(const char* name) { return py::module_::import("tuneonce.result").attr(name); }

template <typename Items, typename Function>
py::tuple TupleOf(const Items& items, const Function& make) {
  py::tuple tuple(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) tuple[i] = make(items[i]);
  return tuple;
}

py::object SuccessObject(const CandidateOutcome& success, const ConfigOf& config_of) {
  const Measurement& measured = success.measurement;
  return ClassNamed("Success")(py::arg("config") = config_of(success.config), py::arg("mean_us") = measured.mean_us,
                               py::arg("error_margin_us") = measured.error_margin_us,
                               py::arg("num_samples") = measured.num_samples, py::arg("std_us") = measured.std_us,
                               py::arg("median_us") = measured.median_us, py::arg("min_us") = measured.min_us,
                               py::arg("max_us") = measured.max_us, py::arg("variant") = success.variant,
                               py::arg("ties_with_fastest") = success.ties_with_fastest);
}

py::object CostObject(const TuningCost& cost) {
  return ClassNamed("TuningCost")(
      py::arg("compile_seconds") = cost.compile_seconds, py::arg("compile_wall_seconds") = cost.compile_wall_seconds,
      py::arg("num_compiled") = cost.num_compiled, py::arg("gpu_seconds") = cost.gpu_seconds,
      py::arg("wall_seconds") = cost.wall_seconds, py::arg("num_launches") = cost.num_launches,
      py::arg("num_rounds") = cost.num_rounds, py::arg("peak_bytes") = cost.peak_bytes,
      py::arg("workers_replaced") = cost.workers_replaced);
}

/// Omits unknown values.
py::object ReadingDict(const std::optional<DeviceReading>& reading) {
  if (!reading) return py::none();
  py::dict known;
  ForEachKnown(*reading, [&](const char* name, const auto& value) { known[name] = value; });
  return py::object(std::move(known));
}

}  // namespace

py::object ConfigDict(const Config& config) {
  py::dict values;
  for (std::size_t i = 0; i < config.values().size(); ++i) {
    values[py::str(config.AxisName(i))] = py::cast(config.values()[i]);
  }
  return py::object(std::move(values));
}

py::object ResultObject(const TuningRecord& result, const ConfigOf& config_of) {
  auto success = [&](const CandidateOutcome& each) { return SuccessObject(each, config_of); };
  auto failure = [&](const CandidateOutcome& each) {
    return ClassNamed("Failure")(config_of(each.config), std::string(OutcomeName(each.kind)), each.message,
                                 each.is_transient);
  };
  auto duplicate = [&](const CandidateOutcome& each) {
    return ClassNamed("Duplicate")(config_of(each.config), config_of(*each.same_as));
  };
  return ClassNamed("TuningRecord")(
      py::arg("kernel") = result.key.kernel, py::arg("best") = success(result.best),
      py::arg("successes") = TupleOf(result.successes(), success),
      py::arg("failures") = TupleOf(result.failures(), failure),
      py::arg("duplicates") = TupleOf(result.duplicates(), duplicate),
      py::arg("not_measured") = TupleOf(result.not_measured(), [&](const CandidateOutcome& each) { return config_of(each.config); }),
      py::arg("baseline") = result.baseline ? success(*result.baseline) : py::object(py::none()),
      py::arg("speedup_over_baseline") = result.speedup_over_baseline, py::arg("is_conclusive") = result.is_conclusive,
      py::arg("is_isolated") = result.is_isolated, py::arg("timer") = result.timer, py::arg("drift") = result.drift,
      py::arg("notes") = py::tuple(py::cast(result.notes)), py::arg("cost") = CostObject(result.cost),
      py::arg("reason") = std::string(FindStored(result.reason)->word),
      py::arg("device_before") = ReadingDict(result.device_before),
      py::arg("device_after") = ReadingDict(result.device_after));
}

}  // namespace tuneonce::python
