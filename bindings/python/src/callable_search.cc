#include "callable_search.h"

#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <vector>

#include "measure/race.h"
#include "measure/statistics.h"
#include "python_status.h"
#include "tuned_kernel_type.h"
#include "tuneonce/context.h"
#include "tuneonce/device.h"
#include "tuneonce/search_options.h"
#include "tuneonce/stream.h"
#include "tuneonce/timer.h"

namespace tuneonce::python {
namespace {

namespace py = pybind11;

/// One config's launcher, and what became of it.
struct Entrant {
  std::size_t index = 0;
  std::unique_ptr<PreparedRun> prepared;
};

struct Search {
  Search(std::size_t num_configs, py::object its_launch, CUstream its_stream, const Device& device)
      : launch(std::move(its_launch)), stream(device.api(), its_stream), errors(num_configs) {}

  Status Launch(std::size_t index, CUstream on) {
    py::gil_scoped_acquire gil;
    try {
      launch(index, reinterpret_cast<std::uintptr_t>(on));
      return Status();
    } catch (const py::error_already_set& e) {
      if (e.matches(PyExc_Exception)) return InternalError(e.what());
      interrupt = e;  // KeyboardInterrupt, SystemExit: not this config's failure.
      return CancelledError("interrupted");
    }
  }

  /// Runs each once, so that its code is loaded and a failing one is known; leaves those that work in `entrants`.
  Status RunOnce() {
    for (std::size_t i = 0; i < errors.size(); ++i) {
      Status status = Launch(i, stream.get());
      if (status.ok()) status = stream.Synchronize();
      if (status.sticky() || interrupt) return status;
      errors[i] = status.ok() ? "" : status.message();
      if (status.ok()) entrants.push_back(Entrant{i, nullptr});
    }
    return Status();
  }

  /// Readies the entrants for timing; one that cannot be timed fails, and leaves.
  Status Prepare() {
    std::vector<Entrant> ready;
    for (Entrant& entrant : entrants) {
      TimedRun run;
      run.launch = [this, index = entrant.index](CUstream on) { return Launch(index, on); };
      Result<std::unique_ptr<PreparedRun>> prepared = session->Prepare(std::move(run));
      if (prepared.status().sticky() || interrupt) return prepared.status();
      errors[entrant.index] = prepared.status().message();
      if (prepared.ok()) ready.push_back(Entrant{entrant.index, *std::move(prepared)});
    }
    entrants = std::move(ready);
    return Status();
  }

  Status RaceWith(Timer* timer) {
    session = nullptr;  // One at a time has CUPTI.
    TUNEONCE_ASSIGN_OR_RETURN(session, timer->Open(stream, CacheState::kDefault));
    timer_name = timer->name();
    TUNEONCE_RETURN_IF_ERROR(Prepare());
    if (entrants.empty()) return Status();
    race.emplace(entrants.size());
    for (auto round = race->NextRound(); !round.empty(); round = race->NextRound()) {
      std::vector<PreparedRun*> runs;
      for (std::size_t place : round) runs.push_back(entrants[place].prepared.get());
      TUNEONCE_ASSIGN_OR_RETURN(std::vector<double> samples, session->Sample(runs));
      race->Record(samples);
    }
    return Status();
  }

  /// `timer`: null for CUPTI, or events where that cannot be had or cannot tell, as of a config of two kernels.
  Status Run(Timer* timer) {
    TUNEONCE_RETURN_IF_ERROR(RunOnce());
    if (entrants.empty()) return Status();
    Status raced = RaceWith(timer != nullptr ? timer : TimerNamed("cupti"));
    if (timer != nullptr || raced.code() != StatusCode::kUnavailable) return raced;
    return RaceWith(TimerNamed("events"));
  }

  py::object launch;
  std::optional<py::error_already_set> interrupt;
  StreamView stream;
  std::vector<std::string> errors;
  std::vector<Entrant> entrants;
  std::unique_ptr<TimingSession> session;
  std::string timer_name;
  std::optional<Race> race;
};

py::dict RaceCallables(std::size_t num_configs, const py::object& launch, const py::object& stream,
                       const std::string& device_name, const std::optional<std::string>& timer_name) {
  Device device = ValueOrThrow(OpenDevice(device_name));
  Context primary = ValueOrThrow(Context::RetainPrimary(device));
  std::optional<ScopedContext> current;
  if (!ContextView::Current(device.api()).ok()) current.emplace(primary.view());
  std::optional<Stream> own;  // A session wants a stream to itself; the legacy stream cannot be captured.
  CUstream where = StreamOf(stream);
  if (where == nullptr) where = own.emplace(ValueOrThrow(Stream::Create(device.api()))).get();
  Timer* timer = timer_name ? TimerNamed(*timer_name) : nullptr;
  Search search(num_configs, launch, where, device);
  Status status;
  {
    py::gil_scoped_release release;
    status = search.Run(timer);
    search.session = nullptr;
  }
  if (search.interrupt) throw *search.interrupt;
  ThrowIfError(status);
  py::list configs;
  for (const std::string& error : search.errors) {
    py::dict each;
    each["error"] = error;
    configs.append(each);
  }
  py::dict result;
  result["timer"] = search.timer_name;
  result["best"] = py::none();
  for (std::size_t place = 0; place < search.entrants.size(); ++place) {
    py::dict each = configs[search.entrants[place].index];
    const std::vector<double>& samples = search.race->samples_us(place);
    if (samples.empty()) {
      each["error"] = "the timer gave no time that is a positive number";
      continue;
    }
    Measurement m = SummarizeStoppedEarly(samples);
    each["mean_us"] = m.mean_us;
    each["error_margin_us"] = m.error_margin_us;
    each["num_samples"] = m.num_samples;
  }
  if (search.race && search.race->Choice()) result["best"] = search.entrants[*search.race->Choice()].index;
  result["configs"] = configs;
  return result;
}

}  // namespace

void AddCallableSearch(py::module_& module) {
  module.def("_race", &RaceCallables, py::arg("num_configs"), py::arg("launch"), py::arg("stream"), py::arg("device"),
             py::arg("timer"));
}

}  // namespace tuneonce::python
