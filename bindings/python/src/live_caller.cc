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

/// The kind of an int as the JITs of Triton and cuTile type it, or nothing beyond 64 bits.
std::optional<WordKind> KindOfInt(PyObject* value) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow == 0) return number >= INT32_MIN && number <= INT32_MAX ? kInt32 : kInt64;
  if (overflow < 0) return std::nullopt;
  PyLong_AsUnsignedLongLong(value);
  if (PyErr_Occurred() == nullptr) return kUInt64;
  PyErr_Clear();
  return std::nullopt;
}

}  // namespace

struct LiveCaller::BoundArguments {
  PyObject* values[kMaxParameters] = {};
  std::size_t num_positional = 0;
  py::object options;  // A dict, or null.
  std::optional<CUstream> stream;
  std::uint64_t words[kMostWords];
  std::size_t num_words = 0;
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  std::size_t tensor_parameters[kMaxParameters];

  void Add(std::uint64_t word) {
    words[num_words++] = word;
    hash = (hash ^ word) * 0x100000001b3;
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
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
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

std::optional<std::uint64_t> LiveCaller::WordOf(Parameter& parameter, PyObject* value, KernelCaller::Arguments& read) {
  if (value == nullptr) return kMissing;
  if (parameter.is_constant) {
    const std::optional<std::uint64_t> index = IndexIn(parameter.constants, value);
    return index ? std::optional<std::uint64_t>(kConstant | *index << 8) : std::nullopt;
  }
  if (value == Py_None) return kNone;
  if (PyBool_Check(value) != 0) return kBool;
  if (PyLong_CheckExact(value) != 0) return KindOfInt(value);
  if (PyFloat_CheckExact(value) != 0) return kFloat;
  if (PyTuple_Check(value) != 0 || PyUnicode_Check(value) != 0) return std::nullopt;
  TensorRef& tensor = read.AddTensor();
  if (!tensor.Read(value)) {
    PyErr_Clear();
    return std::nullopt;
  }
  // Triton's launches accept pinned memory of the host, and report other memory.
  const bool is_where_it_runs = is_cpu_device_ ? tensor.on_host() : tensor.on_cuda();
  if (tensor.view().dtype == DType::kAny || !is_where_it_runs) return std::nullopt;
  read.Add(Argument(tensor.view()));
  return kTensor | static_cast<std::uint64_t>(tensor.view().dtype) << 8;
}

bool LiveCaller::Identify(KernelCaller::Arguments& read, BoundArguments* bound) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (bound->num_words + kMostWordsOfParameter > kMostWords) return false;
    const std::size_t num_tensors = read.num_tensors;
    const std::optional<std::uint64_t> word = WordOf(parameters_[i], bound->values[i], read);
    if (!word) return false;
    bound->Add(*word);
    if (read.num_tensors > num_tensors) bound->tensor_parameters[num_tensors] = i;
    const IdentifiedBy identified_by = parameters_[i].identified_by;
    if (identified_by == IdentifiedBy::kType || parameters_[i].is_constant) continue;
    if (read.num_tensors > num_tensors) {
      const TensorView& tensor = read.tensor(num_tensors).view();
      bound->Add(static_cast<std::uint64_t>(tensor.rank));
      for (int d = 0; d < tensor.rank; ++d) {
        bound->Add(static_cast<std::uint64_t>(tensor.shape[d]));
        bound->Add(static_cast<std::uint64_t>(tensor.strides[d]));
      }
      continue;
    }
    PyObject* value = bound->values[i];
    if (value != nullptr && PyLong_Check(value) != 0) bound->Add(PyLong_AsUnsignedLongLongMask(value));
    if (value != nullptr && PyFloat_CheckExact(value) != 0 && identified_by == IdentifiedBy::kAnyValue) {
      const double real = PyFloat_AS_DOUBLE(value);
      std::uint64_t word_of = 0;
      std::memcpy(&word_of, &real, sizeof(real));
      bound->Add(word_of);
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

std::shared_ptr<LiveCaller::Entry> LiveCaller::Find(const BoundArguments& bound) const {
  const auto [begin, end] = entries_.equal_range(bound.hash);
  for (auto it = begin; it != end; ++it) {
    const std::vector<std::uint64_t>& words = it->second->words;
    if (std::equal(words.begin(), words.end(), bound.words, bound.words + bound.num_words)) return it->second;
  }
  return nullptr;
}

std::shared_ptr<LiveInstance> LiveCaller::InstanceOf(const py::object& description) {
  for (const auto& each : instances_) {
    if (each->description().is(description)) return each;
  }
  AutotunePolicy policy = keywords_.policy;
  policy.on_tune_error = AutotunePolicy::OnTuneError::kReturn;
  if (is_cpu_device_ && description.attr("has_hooks").cast<bool>() && policy.search.timer == nullptr) {
    static auto* const clock = MakeClockTimer().release();  // Hooks compute on the launching thread, and in no graph.
    policy.search.timer = clock;
  }
  instances_.push_back(ValueOrThrow(LiveInstance::Create(description, ValueOrThrow(OpenDevice(device_name_)), policy)));
  return instances_.back();
}

std::shared_ptr<LiveCaller::Entry> LiveCaller::Describe(const BoundArguments& bound,
                                                        const KernelCaller::Arguments& read) {
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
  auto entry = std::make_shared<Entry>();
  entry->words.assign(bound.words, bound.words + bound.num_words);
  if (!description.is_none()) {
    entry->instance = InstanceOf(description);
    entry->signature = entry->instance->SignatureOf(values);
  }
  if (std::shared_ptr<Entry> of_another_thread = Find(bound)) return of_another_thread;
  if (entries_.size() == kMostEntries) entries_.clear();
  return entries_.emplace(bound.hash, std::move(entry))->second;
}

PyObject* LiveCaller::Launch(PyObject* grid, const BoundArguments& bound, KernelCaller::Arguments& read, Entry& entry,
                             bool* is_refused) {
  LiveInstance& instance = *entry.instance;
  const int device = read.num_tensors > 0 ? read.tensor(0).device_id() : 0;
  LiveCall call(grid, bound.values, parameters_.size(), device, entry.signature);
  bool missed = false;
  PyObject* done = instance.Call(call, read, bound.stream, &missed);
  if (last_ != entry.instance) last_ = entry.instance;
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
    BoundArguments bound;
    KernelCaller::Arguments read;
    if (!Bind(arguments, count, keywords, &bound) || !Identify(read, &bound) || read.num_tensors == 0) {
      return CallOwner(grid, arguments, count, keywords);
    }
    std::shared_ptr<Entry> entry = Find(bound);
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
