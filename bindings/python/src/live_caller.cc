#include "live_caller.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "call_guard.h"
#include "kernel_arguments.h"
#include "python_status.h"
#include "stream_argument.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/runtime.h"
#include "tuneonce/testing.h"
#include "tuning/kernel_on_device.h"

namespace tuneonce::python {

namespace py = pybind11;

namespace {

/// The kinds of a word of an instance's identity, in its lowest byte. The other bytes have a dtype or an index.
enum WordKind : std::uint64_t { kMissing, kNone, kBool, kInt32, kInt64, kUInt64, kFloat, kTensor, kConstant, kOption };

constexpr std::size_t kMostConstants = 4096;  // Per parameter. A kernel with more is not worth tuning for each.
constexpr std::size_t kMostEntries = 65536;   // Extents may change at each call. Entries can be made again.
constexpr std::size_t kMostWords = 1024;
constexpr std::size_t kMostWordsOfParameter = 2 + 2 * kMaxRank;

}  // namespace

struct LiveCaller::BoundArguments {
  PyObject* values[kMaxParameters];  // By parameter. Null: the config or a heuristic gives it.
  ArgumentWords passed;              // What launches pass for them.
  std::size_t num_positional = 0;
  py::object options;  // A dict, or null.
  std::optional<CUstream> stream;
  std::size_t num_words = 0;
  std::uint64_t words[kMostWords];
  std::size_t tensor_parameters[kMaxParameters];

  void Add(std::uint64_t word) { words[num_words++] = word; }
  std::uint64_t Hash() const {
    std::uint64_t hash = 0x9e3779b97f4a7c15;
    for (std::size_t i = 0; i < num_words; ++i) hash = (hash ^ words[i]) * 0x100000001b3;
    return hash;
  }
};

LiveCaller::LiveCaller(PyObject* owner, const py::list& parameters, const std::string& device, const py::dict& keywords,
                       bool is_function)
    : owner_(owner), device_name_(device), is_function_(is_function), is_cpu_device_(device.compare(0, 3, "cpu") == 0) {
  for (py::handle each : parameters) {
    auto [name, default_value, is_constant, identified_by] = each.cast<std::tuple<py::object, py::object, bool, int>>();
    PyObject* interned = name.inc_ref().ptr();
    PyUnicode_InternInPlace(&interned);
    parameters_.push_back({py::reinterpret_steal<py::object>(interned),
                           default_value.ptr() == Py_Ellipsis ? py::object() : default_value,
                           is_constant,
                           static_cast<IdentifiedBy>(identified_by),
                           {}});
  }
  if (parameters_.size() > kMaxParameters) throw py::value_error("a kernel has too many parameters");
  keywords_ = ReadKernelKeywords(keywords);
}

std::shared_ptr<RecordStore> LiveCaller::store() const {
  const AutotunePolicy& policy = keywords_.policy;
  return policy.store != nullptr ? policy.store : Runtime::OrDefault(policy.search.runtime)->store();
}

bool LiveCaller::is_disabled() const { return IsTuningDisabled(keywords_.policy); }

bool LiveCaller::Bind(PyObject* const* arguments, Py_ssize_t count, PyObject* keywords, BoundArguments* bound) const {
  if (static_cast<std::size_t>(count) > parameters_.size()) return false;
  std::copy(arguments, arguments + count, bound->values);
  std::fill(bound->values + count, bound->values + parameters_.size(), nullptr);
  bound->num_positional = static_cast<std::size_t>(count);
  const Py_ssize_t num_keywords = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t k = 0; k < num_keywords; ++k) {
    PyObject* name = PyTuple_GET_ITEM(keywords, k);
    auto is_it = [&](const Parameter& parameter) { return parameter.name.ptr() == name; };
    auto found = std::find_if(parameters_.begin(), parameters_.end(), is_it);
    if (found == parameters_.end()) {  // A name that was not interned.
      found = std::find_if(parameters_.begin(), parameters_.end(), [&](const Parameter& parameter) {
        return PyUnicode_Compare(parameter.name.ptr(), name) == 0;
      });
    }
    if (found == parameters_.end()) {
      if (is_function_ && PyUnicode_CompareWithASCIIString(name, "stream") == 0) {
        if (arguments[count + k] != Py_None) bound->stream = StreamOf(arguments[count + k]);
        continue;
      }
      if (!bound->options) bound->options = py::dict();
      bound->options[name] = py::reinterpret_borrow<py::object>(arguments[count + k]);
      continue;
    }
    PyObject*& value = bound->values[found - parameters_.begin()];
    if (value != nullptr) return false;
    value = arguments[count + k];
  }
  for (std::size_t i = bound->num_positional; i < parameters_.size(); ++i) {
    if (bound->values[i] == nullptr) bound->values[i] = parameters_[i].default_value.ptr();
  }
  return true;
}

std::optional<std::uint64_t> LiveCaller::IndexIn(std::vector<py::object>& values, PyObject* value) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].ptr() == value) return i;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (Py_TYPE(values[i].ptr()) != Py_TYPE(value)) continue;
    const int is_equal = PyObject_RichCompareBool(values[i].ptr(), value, Py_EQ);
    if (is_equal == 1) return i;
    if (is_equal < 0) PyErr_Clear();
  }
  if (PyObject_Hash(value) == -1) {  // A value that can change cannot be a constant.
    PyErr_Clear();
    return std::nullopt;
  }
  if (values.size() == kMostConstants) return std::nullopt;
  values.push_back(py::reinterpret_borrow<py::object>(value));
  return values.size() - 1;
}

bool LiveCaller::IdentifyTensor(std::size_t parameter, KernelCaller::Arguments& read, BoundArguments* bound) const {
  PyObject* value = bound->values[parameter];
  if (PyTuple_Check(value) != 0 || PyUnicode_Check(value) != 0) return false;
  bound->tensor_parameters[read.num_tensors] = parameter;
  TensorRef& tensor = read.AddTensor();
  if (!tensor.Read(value)) {
    PyErr_Clear();
    return false;
  }
  const TensorView& view = tensor.view();
  // Triton's launches accept pinned memory of the host, and report other memory.
  const bool is_where_it_runs = is_cpu_device_ ? tensor.on_host() : tensor.on_cuda();
  if (view.dtype == DType::kAny || !is_where_it_runs) return false;
  read.Add(Argument(view));
  bound->passed.SetAddress(parameter, view.data);
  bound->Add(kTensor | static_cast<std::uint64_t>(view.dtype) << 8);
  if (parameters_[parameter].identified_by == IdentifiedBy::kType) return true;
  bound->Add(static_cast<std::uint64_t>(view.rank));
  for (std::size_t d = 0; d < static_cast<std::size_t>(view.rank); ++d) {
    bound->Add(static_cast<std::uint64_t>(view.shape[d]));
    bound->Add(static_cast<std::uint64_t>(view.strides[d]));
  }
  return true;
}

bool LiveCaller::IdentifyInt(const Parameter& parameter, std::size_t index, BoundArguments* bound) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(bound->values[index], &overflow);
  auto word = static_cast<std::uint64_t>(number);
  if (overflow == 0) {  // As the JITs of Triton and cuTile type it.
    bound->Add(number >= INT32_MIN && number <= INT32_MAX ? kInt32 : kInt64);
  } else {
    if (overflow > 0) word = PyLong_AsUnsignedLongLong(bound->values[index]);
    if (overflow < 0 || PyErr_Occurred() != nullptr) {  // Beyond 64 bits.
      PyErr_Clear();
      return false;
    }
    bound->Add(kUInt64);
  }
  bound->passed.SetInt(index, word);
  if (parameter.identified_by != IdentifiedBy::kType) bound->Add(word);
  return true;
}

bool LiveCaller::Identify(KernelCaller::Arguments& read, BoundArguments* bound) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (bound->num_words + kMostWordsOfParameter > kMostWords) return false;
    Parameter& parameter = parameters_[i];
    PyObject* value = bound->values[i];
    if (value == nullptr) {
      bound->Add(kMissing);
    } else if (parameter.is_constant) {
      const std::optional<std::uint64_t> index = IndexIn(parameter.constants, value);
      if (!index) return false;
      bound->Add(kConstant | *index << 8);
    } else if (PyLong_CheckExact(value) != 0) {
      if (!IdentifyInt(parameter, i, bound)) return false;
    } else if (PyFloat_CheckExact(value) != 0) {
      bound->Add(kFloat);
      if (parameter.identified_by != IdentifiedBy::kAnyValue) continue;
      const double real = PyFloat_AS_DOUBLE(value);
      std::uint64_t word = 0;
      std::memcpy(&word, &real, sizeof(real));
      bound->Add(word);
    } else if (PyBool_Check(value) != 0) {
      bound->Add(kBool);
      bound->passed.values[i] = value == Py_True ? 1 : 0;
      if (parameter.identified_by != IdentifiedBy::kType) bound->Add(bound->passed.values[i]);
    } else if (value == Py_None) {
      bound->Add(kNone);
    } else if (!IdentifyTensor(i, read, bound)) {
      return false;
    }
  }
  if (!bound->options) return true;
  for (const auto& [name, value] : bound->options.cast<py::dict>()) {
    const std::optional<std::uint64_t> index = IndexIn(options_, py::make_tuple(name, value).ptr());
    if (!index || bound->num_words == kMostWords) return false;
    bound->Add(kOption | *index << 8);
  }
  return true;
}

LiveCaller::Entry* LiveCaller::Find(const BoundArguments& bound) {
  auto is_of_call = [&](const Entry& entry) {
    return std::equal(entry.words.begin(), entry.words.end(), bound.words, bound.words + bound.num_words);
  };
  if (last_entry_ != nullptr && is_of_call(*last_entry_)) return last_entry_;
  const auto [begin, end] = entries_.equal_range(bound.Hash());
  const auto found = std::find_if(begin, end, [&](const auto& each) { return is_of_call(*each.second); });
  if (found == end) return nullptr;
  last_entry_ = found->second.get();
  return last_entry_;
}

LiveInstance* LiveCaller::InstanceOf(const py::object& description) {
  for (const auto& each : instances_) {
    if (each->description().is(description)) return each.get();
  }
  AutotunePolicy policy = keywords_.policy;
  policy.on_tune_error = AutotunePolicy::OnTuneError::kReturn;
  if (is_cpu_device_ && description.attr("has_hooks").cast<bool>() && policy.search.timer == nullptr) {
    static auto* const clock = MakeClockTimer().release();  // Hooks compute on the launching thread, and in no graph.
    policy.search.timer = clock;
  }
  instances_.push_back(ValueOrThrow(LiveInstance::Create(description, ValueOrThrow(OpenDevice(device_name_)), policy)));
  return instances_.back().get();
}

LiveCaller::Entry* LiveCaller::Describe(const BoundArguments& bound, const KernelCaller::Arguments& read) {
  py::list values;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    values.append(bound.values[i] == nullptr ? py::ellipsis() : py::reinterpret_borrow<py::object>(bound.values[i]));
  }
  py::list tensors;
  for (std::size_t i = 0; i < read.num_tensors; ++i) {
    const DType dtype = read.list()[i].dtype();
    tensors.append(py::make_tuple(bound.tensor_parameters[i], static_cast<int>(dtype)));
  }
  py::object owner = py::reinterpret_borrow<py::object>(owner_);
  py::object description = owner.attr("_describe")(values, bound.options ? bound.options : py::object(py::dict()),
                                                   tensors, bound.num_positional);
  auto entry = std::make_unique<Entry>();
  entry->words.assign(bound.words, bound.words + bound.num_words);
  if (!description.is_none()) {
    entry->instance = InstanceOf(description);
    entry->signature = entry->instance->SignatureOf(values);
  }
  if (Entry* of_another_thread = Find(bound)) return of_another_thread;
  if (entries_.size() == kMostEntries) {
    last_entry_ = nullptr;
    dropped_.push_back(std::exchange(entries_, Entries()));
  }
  last_entry_ = entries_.emplace(bound.Hash(), std::move(entry))->second.get();
  return last_entry_;
}

PyObject* LiveCaller::Launch(PyObject* grid, const BoundArguments& bound, KernelCaller::Arguments& read, Entry& entry,
                             bool* is_refused) {
  LiveInstance& instance = *entry.instance;
  const int device = read.num_tensors > 0 ? read.tensor(0).device_id() : 0;
  LiveCall call(grid, bound.values, bound.passed, parameters_.size(), device, entry.signature);
  bool missed = false;
  PyObject* done = instance.Call(call, read, bound.stream, &missed);
  last_ = &instance;
  if (!missed) return done;
  py::object owner = py::reinterpret_borrow<py::object>(owner_);
  if (done != nullptr) {
    owner.attr("_note_tuned")(instance.description(), LiveInstance::ValuesOf(call), instance.last_config(),
                              grid == nullptr ? py::none() : py::reinterpret_borrow<py::object>(grid));
    return done;
  }
  py::error_already_set error;
  if (!error.matches(owner.attr("error_type"))) throw error;
  *is_refused = owner.attr("_is_refused")(error.value()).cast<bool>();
  if (!*is_refused) throw error;
  return nullptr;
}

PyObject* LiveCaller::Call(PyObject* grid, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  return Guarded([&]() -> py::object {
    const Running running(*this);
    BoundArguments bound;
    KernelCaller::Arguments read;
    if (!Bind(arguments, count, keywords, &bound) || !Identify(read, &bound) || read.num_tensors == 0) {
      return CallOwner(grid, arguments, count, keywords);
    }
    Entry* entry = Find(bound);
    if (entry == nullptr) entry = Describe(bound, read);
    if (entry->instance != nullptr) {
      bool is_refused = false;
      PyObject* done = Launch(grid, bound, read, *entry, &is_refused);
      if (done != nullptr) return py::reinterpret_steal<py::object>(done);
      if (!is_refused) throw py::error_already_set();
      entry->instance = nullptr;  // instances_ keeps it.
      last_ = nullptr;
    }
    return CallOwner(grid, arguments, count, keywords);
  });
}

int LiveCaller::Traverse(visitproc visit, void* arg) const {
  for (const auto& each : instances_) {
    Py_VISIT(each->description().ptr());
  }
  return 0;
}

py::object LiveCaller::CallOwner(PyObject* grid, PyObject* const* arguments, Py_ssize_t count,
                                 PyObject* keywords) const {
  py::tuple positional(static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    positional[static_cast<std::size_t>(i)] = py::reinterpret_borrow<py::object>(arguments[i]);
  }
  py::dict named;
  for (Py_ssize_t k = 0; keywords != nullptr && k < PyTuple_GET_SIZE(keywords); ++k) {
    named[PyTuple_GET_ITEM(keywords, k)] = py::reinterpret_borrow<py::object>(arguments[count + k]);
  }
  py::object given_grid = grid == nullptr ? py::none() : py::reinterpret_borrow<py::object>(grid);
  return py::reinterpret_borrow<py::object>(owner_).attr("_run_otherwise")(given_grid, positional, named);
}

}  // namespace tuneonce::python
