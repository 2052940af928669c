#include "callable_search.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy_keywords.h"
#include "python_signals.h"
#include "python_status.h"
#include "python_text.h"
#include "store_argument.h"
#include "stream_argument.h"
#include "strict_value.h"
#include "tensor_reader.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/timer.h"
#include "tuneonce/report.h"
#include "tuneonce/runtime.h"
#include "tuneonce/testing.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce::python {
namespace {

namespace py = pybind11;

/// The configs as a space of one axis, whose values are what messages call them, and what launches each. Lives on the
/// stack of one search. Thread rule: the thread that searches; but for the constructor it needs no GIL.
class CallableSearch {
 public:
  /// `outputs` has the tensors that each config writes. Throws TypeError for an object that is not a tensor, or a
  /// tensor with gaps.
  CallableSearch(std::vector<std::string> labels, py::object launch, const std::vector<py::list>& outputs,
                 const Device& device)
      : labels_(std::move(labels)), launch_(std::move(launch)), device_(device) {
    axis_ = space_.AddStringAxis("config", labels_);
    space_.MaxConfigs(static_cast<int>(labels_.size()));
    for (const py::list& of_config : outputs) {
      outputs_.emplace_back();
      for (py::handle output : of_config) outputs_.back().push_back(Read(output));
    }
  }

  void SetBaseline(std::size_t index) { space_.SetBaseline({{axis_, labels_.at(index)}}); }

  Result<TuningRecord> Run(StreamView stream, const SearchOptions& options) {
    auto launch = [this](CUstream on, const Config& config, const CallArguments& arguments) {
      return Launch(on, IndexOf(config), arguments);
    };
    auto arguments = [this](const Config& config) { return outputs_[IndexOf(config)]; };
    return exhaustive_search(space_, stream.get(), launch, arguments, options);
  }

  std::size_t IndexOf(const Config& config) const {
    return static_cast<std::size_t>(std::find(labels_.begin(), labels_.end(), config[axis_]) - labels_.begin());
  }
  bool is_interrupted() const { return interrupt_.has_value(); }
  /// Throws what interrupted the search, if anything did: raised by a launch, or by a signal's handler. Needs the GIL.
  void ThrowInterrupt() const {
    ForgetSignal();
    if (interrupt_) throw *interrupt_;
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  }

 private:
  TrialArgument Read(py::handle output) {
    TensorRef& tensor = tensors_.emplace_back();
    if (!tensor.Read(output.ptr())) throw py::error_already_set();
    if (tensor.read_only() != nullptr) throw py::type_error(std::string("an output: ") + tensor.read_only());
    const bool is_cpu = device_.is_cpu_device();
    if (is_cpu ? !tensor.on_host() : !tensor.on_cuda()) {
      throw py::type_error("an output is in " + tensor.MemoryName() + " memory, the search runs on " +
                           (is_cpu ? "the CPU device" : "a CUDA device"));
    }
    const TensorView& view = tensor.view();
    TensorView dense = TensorView::Contiguous(view.data, view.dtype, view.shape.data(), view.rank);
    if (view.bytes != dense.bytes) throw py::type_error("an output with gaps between its elements cannot be verified");
    return TrialArgument::Out(view.data, view.bytes, view.dtype);
  }

  Status Launch(CUstream on, std::size_t index, const CallArguments& arguments) {
    StreamView stream(device_.api(), on);
    // The CPU device's memory is the host's. The callable may compute on this thread, so earlier work must end first.
    if (device_.is_cpu_device()) {
      TUNEONCE_ASSIGN_OR_RETURN(bool is_capturing, stream.IsCapturing());
      if (!is_capturing) TUNEONCE_RETURN_IF_ERROR(stream.Synchronize());
    }
    py::gil_scoped_acquire gil;
    if (interrupt_ || PyErr_Occurred() != nullptr) return CancelledError("interrupted");
    try {
      py::list addresses;
      for (std::size_t i = 0; i < outputs_[index].size(); ++i) {
        addresses.append(reinterpret_cast<std::uintptr_t>(arguments.tensor(i).data));
      }
      launch_(index, reinterpret_cast<std::uintptr_t>(on), addresses);
      return Status();
    } catch (const py::error_already_set& e) {
      if (e.matches(PyExc_Exception)) return InternalError(LineOf(e));
      interrupt_ = e;  // KeyboardInterrupt, SystemExit: not this config's failure.
      return CancelledError("interrupted");
    }
  }

  std::vector<std::string> labels_;
  py::object launch_;
  Device device_;
  SearchSpace space_;
  Axis<std::string> axis_;
  std::deque<TensorRef> tensors_;  // Keep the memory of the outputs.
  std::vector<std::vector<TrialArgument>> outputs_;
  std::optional<py::error_already_set> interrupt_;
};

/// Where a search is remembered: the store, and the key but for the device.
struct SearchMemory {
  std::shared_ptr<RecordStore> store;
  TuningKey key;
};

/// Reads (store, kernel, what identifies the kernel and its configs, key). Throws.
SearchMemory MemoryOf(const py::tuple& given) {
  SearchMemory memory;
  memory.store = StoreOf(given[0]);
  if (memory.store == nullptr) memory.store = Runtime::Default()->store();
  memory.key.kernel = TextOf("name", given[1]);
  memory.key.kernel_fingerprint =
      Fingerprinter().Add("callables").Add(memory.key.kernel).Add(given[2].cast<std::string>()).Finish();
  memory.key.key_text = LineOf(given[3]);
  const Fingerprint of_key = Fingerprinter().Add(memory.key.key_text).Finish();
  memory.key.key_words = {of_key.high, of_key.low};
  return memory;
}

/// Returns the record of an earlier search as JSON, or None. `memory`: as MemoryOf. `keywords`: those of the search,
/// which must be valid also where it has a record. Throws where the store cannot be read.
py::object FindSearch(const py::object& device_name, const py::tuple& memory, const py::dict& keywords) {
  ReadSearchKeywords(keywords);
  SearchMemory found = MemoryOf(memory);
  const Device device = ValueOrThrow(OpenDevice(TextOf("device", device_name)));
  const DeviceIdentity identity = ValueOrThrow(device.Identity());
  found.key.device_name = identity.name;
  found.key.capability = Target::Of(identity).capability();
  found.key.num_sms = identity.num_sms;
  found.key.driver_version = identity.driver_version;
  std::optional<Result<RecordLookup>> lookup;
  {
    py::gil_scoped_release release;
    lookup.emplace(found.store->Lookup(found.key));
  }
  const RecordLookup record = ValueOrThrow(*std::move(lookup));
  if (record.match != RecordMatch::kExact || !record.record || !record.record->is_complete) return py::none();
  return py::str(RecordsToJson({*record.record}));
}

/// Returns the record as JSON. `labels`: what messages and the record call the configs. `keywords`: as
/// ReadSearchKeywords. `memory`: as MemoryOf, or None.
std::string SearchCallables(const std::vector<std::string>& labels, const py::object& launch,
                            const std::vector<py::list>& outputs, const py::object& stream,
                            const py::object& device_name, const std::optional<std::size_t>& baseline,
                            const py::dict& keywords, const std::optional<py::tuple>& memory) {
  SearchOptions options = ReadSearchKeywords(keywords);
  Device device = ValueOrThrow(OpenDevice(TextOf("device", device_name)));
  const std::unique_ptr<Timer> clock = MakeClockTimer();
  if (options.timer == nullptr && device.is_cpu_device()) options.timer = clock.get();
  Context primary = ValueOrThrow(Context::RetainPrimary(device));
  std::optional<ScopedContext> current;
  if (!ContextView::Current(device.api()).ok()) current.emplace(primary.view());
  CallableSearch search(labels, launch, outputs, device);
  if (baseline) search.SetBaseline(*baseline);
  unsigned long main_thread = MainThread();
  if (main_thread == 0) throw py::error_already_set();
  options.stop = StopToken([&] { return search.is_interrupted() || SignalRaised(main_thread); });
  StreamView where(device.api(), StreamOf(stream));
  std::optional<SearchMemory> remembered;
  if (memory) remembered = MemoryOf(*memory);
  std::optional<Result<TuningRecord>> found;
  {
    py::gil_scoped_release release;
    found.emplace(search.Run(where, options));
  }
  search.ThrowInterrupt();
  TuningRecord record = ValueOrThrow(*std::move(found));
  if (!remembered) return RecordsToJson({record});
  record.key.kernel = remembered->key.kernel;
  record.key.kernel_fingerprint = remembered->key.kernel_fingerprint;
  record.key.key_words = remembered->key.key_words;
  record.key.key_text = remembered->key.key_text;
  Status put;
  {
    py::gil_scoped_release release;
    put = remembered->store->Put(record);
  }
  ThrowIfError(put);
  return RecordsToJson({record});
}

}  // namespace

void AddCallableSearch(py::module_& module) {
  module.def("_search", &SearchCallables, py::arg("labels"), py::arg("launch"), py::arg("outputs"), py::arg("stream"),
             py::arg("device"), py::arg("baseline"), py::arg("keywords"), py::arg("memory"));
  module.def("_find_search", &FindSearch, py::arg("device"), py::arg("memory"), py::arg("keywords"));
}

}  // namespace tuneonce::python
