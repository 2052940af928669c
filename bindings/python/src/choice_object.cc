#include "choice_object.h"

#include <pybind11/stl.h>

#include <limits>
#include <string>

#include "report/records_json.h"
#include "strict_value.h"
#include "tuneonce/record_store.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce::python {
namespace {

namespace py = pybind11;

const char* NameOf(Choice::Runs runs) {
  switch (runs) {
    case Choice::Runs::kNothing:
      return "nothing";
    case Choice::Runs::kChoice:
      return "choice";
    case Choice::Runs::kStandIn:
      return "stand_in";
    case Choice::Runs::kSearch:
      break;
  }
  return "search";
}

const char* NameOf(Choice::Because because) {
  switch (because) {
    case Choice::Because::kEmpty:
      return "empty";
    case Choice::Because::kResident:
      return "resident";
    case Choice::Because::kStored:
      return "stored";
    case Choice::Because::kNoRecord:
      return "no_record";
    case Choice::Because::kGuard:
      return "guard";
    case Choice::Because::kUnverified:
      return "unverified";
    case Choice::Because::kWaits:
      return "waits";
    case Choice::Because::kNotAgreed:
      return "not_agreed";
    case Choice::Because::kFailedTune:
      return "failed_tune";
    case Choice::Because::kCapture:
      return "capture";
    case Choice::Because::kSealed:
      return "sealed";
    case Choice::Because::kMode:
      break;
  }
  return "mode";
}

const char* NameOf(Choice::From from) {
  switch (from) {
    case Choice::From::kNowhere:
      return "nowhere";
    case Choice::From::kSearch:
      return "search";
    case Choice::From::kStore:
      return "store";
    case Choice::From::kShipped:
      return "shipped";
    case Choice::From::kPinned:
      return "pinned";
    case Choice::From::kImported:
      return "imported";
    case Choice::From::kRanks:
      break;
  }
  return "ranks";
}

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
    case RecordMiss::kIncomplete:
      return py::str("incomplete");
    case RecordMiss::kRefused:
      break;
  }
  return py::str("refused");
}

}  // namespace

py::object ChoiceObject(const Choice& choice) {
  py::object config = py::none(), record = py::none(), match = py::none();
  if (choice.config) {
    py::dict values;
    for (std::size_t i = 0; i < choice.config->values().size(); ++i) {
      values[py::str(choice.config->AxisName(i))] = choice.config->values()[i];
    }
    config = std::move(values);
  }
  if (choice.record != nullptr) {
    match = py::str(NameOf(choice.match));
    record = py::module_::import("json").attr("loads")(RecordsToJson({*choice.record}))["records"][py::int_(0)];
  }
  return py::module_::import("tuneonce.choice")
      .attr("Choice")(py::arg("runs") = NameOf(choice.runs), py::arg("because") = NameOf(choice.because),
                      py::arg("origin") = NameOf(choice.from), py::arg("match") = match, py::arg("config") = config,
                      py::arg("variant") = choice.variant, py::arg("key") = choice.key,
                      py::arg("detail") = choice.detail, py::arg("record") = record,
                      py::arg("miss") = NameOf(choice.miss));
}

TunedKernel::NamedConfig NamedConfigOf(const py::dict& config) {
  TunedKernel::NamedConfig named;
  for (const auto& [name, value] : config) {
    if (!py::isinstance<py::str>(name)) throw py::type_error("a config is a dict {axis: value}");
    auto axis = name.cast<std::string>();
    if (py::isinstance<py::bool_>(value)) {  // Before int, which it is as well.
      named.emplace_back(std::move(axis), value.cast<bool>());
    } else if (py::isinstance<py::int_>(value)) {
      const std::int64_t number = IntegerOf(axis.c_str(), value, std::numeric_limits<std::int64_t>::min());
      named.emplace_back(std::move(axis), number);
    } else if (py::isinstance<py::float_>(value)) {
      named.emplace_back(std::move(axis), value.cast<double>());
    } else if (py::isinstance<py::str>(value)) {
      named.emplace_back(std::move(axis), value.cast<std::string>());
    } else {
      throw py::type_error("the axis '" + axis + "': a value is an int, float, bool or str");
    }
  }
  return named;
}

}  // namespace tuneonce::python
