#include "live_instance.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>
#include <variant>

#include "call_guard.h"
#include "kernel_arguments.h"
#include "python_signals.h"
#include "python_status.h"
#include "tuneonce/parameters.h"

namespace tuneonce::python {

namespace py = pybind11;

namespace {

constexpr char kCallName[] = "tuneonce_call";

/// Holds the GIL, which a hit's thread has already and a search's thread has not.
class GilHold {
 public:
  GilHold() : is_held_(PyGILState_Check() == 1) {
    if (!is_held_) state_ = PyGILState_Ensure();
  }
  ~GilHold() {
    if (!is_held_) PyGILState_Release(state_);
  }
  bool was_held() const { return is_held_; }
  GilHold(const GilHold&) = delete;
  GilHold& operator=(const GilHold&) = delete;

 private:
  bool is_held_;
  PyGILState_STATE state_{};
};

/// Moves the exception that is set into `call` and returns "OSError: no library". One that ends the search
/// (KeyboardInterrupt) stays set.
Status TakeException(const LiveCall& call) {
  if (PyErr_ExceptionMatches(PyExc_Exception) == 0) return CancelledError("interrupted");
  const py::error_already_set& error = call.exception.emplace();
  return InternalError(py::str(error.type().attr("__name__")).cast<std::string>() + ": " +
                       py::str(error.value()).cast<std::string>());
}

DType ScalarDTypeNamed(const std::string& name) {
  return name == "int" ? DType::kInt64 : name == "float" ? DType::kFloat64 : DType::kBool;
}

}  // namespace

/// One launch, of a call or of a trial of it.
struct LiveInstance::Launching {
  const LiveCall& call;
  const ArgumentWords& words;  ///< Those of the call. A trial's have the addresses of its own tensors.
  CUstream stream;
  std::size_t label;
  bool is_grid_called;  ///< The grid is a function.
  py::object meta;  ///< The arguments by name, for the grid, heuristics and hooks. Null where nothing asks for them.
  LiveSignature::Specialization specialization;

  Launching(const LiveCall& of, const ArgumentWords& passed, CUstream launch_stream, std::size_t config)
      : call(of), words(passed), stream(launch_stream), label(config), is_grid_called(PyCallable_Check(of.grid) != 0) {
    specialization.device = of.device;
    for (std::size_t i = 0; i < LiveSignature::kNumBits; ++i) {
      specialization.bits[i] = words.bits[i] & of.signature.specialized[i];
    }
  }
};

Result<std::unique_ptr<LiveInstance>> LiveInstance::Create(const py::object& description, const Device& device,
                                                           const AutotunePolicy& policy) {
  std::unique_ptr<LiveInstance> made(new LiveInstance(device));
  made->description_ = description;
  for (py::handle name : description.attr("parameters")) made->names_.push_back(py::reinterpret_borrow<py::str>(name));
  made->is_specialized_ = description.attr("is_specialized").cast<std::vector<bool>>();
  made->labels_ = description.attr("labels").cast<std::vector<std::string>>();
  made->config_indices_ = description.attr("config_indices").cast<std::vector<int>>();
  made->constants_ = description.attr("constants").cast<std::vector<py::object>>();
  made->has_heuristics_ = description.attr("has_heuristics").cast<bool>();
  made->has_hooks_ = description.attr("has_hooks").cast<bool>();
  TUNEONCE_ASSIGN_OR_RETURN(KernelDefinition definition, made->Define());
  TUNEONCE_ASSIGN_OR_RETURN(made->caller_, KernelCaller::Create(std::move(definition), device, policy));
  return made;
}

Result<KernelDefinition> LiveInstance::Define() {
  std::vector<Parameter> parameters;
  using Described = std::tuple<std::size_t, std::string, int>;
  for (const auto& [parameter, access, dtype] : description_.attr("tensors").cast<std::vector<Described>>()) {
    Parameter tensor;
    tensor.name = names_[parameter].cast<std::string>();
    tensor.dtype = static_cast<DType>(dtype);
    tensor.access = access == "in" ? Access::kIn : access == "out" ? Access::kOut : Access::kInOut;
    tensor.may_be_partial = access == "out";
    tensors_.push_back({parameter, parameters.size()});
    parameters.push_back(std::move(tensor));
  }
  std::vector<KeyPart> key;
  using DescribedScalar = std::pair<std::size_t, std::string>;
  for (const auto& [parameter, kind] : description_.attr("key_scalars").cast<std::vector<DescribedScalar>>()) {
    Parameter scalar;
    scalar.kind = ParameterKind::kScalar;
    scalar.name = names_[parameter].cast<std::string>();
    scalar.dtype = ScalarDTypeNamed(kind);
    key_scalars_.push_back({parameter, scalar.dtype});
    key.push_back(tuneonce::ValueOf(scalar.name));
    parameters.push_back(std::move(scalar));
  }
  for (const auto& name : description_.attr("key_names").cast<std::vector<std::string>>()) {
    Parameter scalar;
    scalar.kind = ParameterKind::kScalar;
    scalar.name = name;
    scalar.dtype = DType::kInt64;
    key.push_back(tuneonce::ValueOf(name));
    parameters.push_back(std::move(scalar));
  }
  Parameter call;
  call.kind = ParameterKind::kScalar;
  call.name = kCallName;
  call.dtype = DType::kUInt64;
  call_parameter_ = parameters.size();
  parameters.push_back(std::move(call));
  SearchSpace space;
  Axis<std::string> axis = space.AddStringAxis("config", labels_);
  space.MaxConfigs(static_cast<int>(labels_.size()));
  space.SetBaseline({{axis, labels_.front()}});
  KernelDefinition definition(description_.attr("name").cast<std::string>());
  definition.Version(description_.attr("version").cast<std::string>())
      .Parameters(std::move(parameters))
      .Space(std::move(space))
      .Key(std::move(key))
      .AddVariant(Callable([this](CUstream stream, const Config& config,
                                  const CallArguments& arguments) { return Launch(stream, config, arguments); },
                           description_.attr("language").cast<std::string>()));
  if (description_.attr("is_unordered").cast<bool>()) definition.Unordered();
  return definition;
}

void LiveInstance::AddScalars(const LiveCall& call, KernelCaller::Arguments& read) const {
  for (const Scalar& scalar : key_scalars_) {
    const std::uint64_t* word = &call.words.values[scalar.parameter];
    if (scalar.dtype == DType::kFloat64) {
      const double real = PyFloat_AS_DOUBLE(call.values[scalar.parameter]);
      std::memcpy(&read.words[read.count], &real, sizeof(real));
      word = &read.words[read.count];
    }
    read.Add(Argument::Scalar(scalar.dtype, word));
  }
  for (const std::int64_t& value : call.signature.key) read.Add(Argument::Scalar(DType::kInt64, &value));
  std::uint64_t& address = read.words[read.count];
  address = reinterpret_cast<std::uintptr_t>(&call);
  read.Add(Argument::Scalar(DType::kUInt64, &address));
}

LiveSignature LiveInstance::SignatureOf(const py::list& values) const {
  LiveSignature signature;
  signature.key = description_.attr("key_of")(values).cast<std::vector<std::int64_t>>();
  signature.codes.resize(labels_.size());
  signature.named.resize(labels_.size());
  auto may_decide = [&](std::size_t parameter) {
    constexpr std::size_t kPerWord = ArgumentWords::kPerWord;
    signature.specialized[parameter / kPerWord] |= std::uint64_t{3} << parameter % kPerWord * 2;
  };
  for (std::size_t i = 0; i < is_specialized_.size(); ++i) {
    if (is_specialized_[i]) may_decide(i);
  }
  for (const Tensor& tensor : tensors_) may_decide(tensor.parameter);
  return signature;
}

PyObject* LiveInstance::Call(const LiveCall& call, KernelCaller::Arguments& read, std::optional<CUstream> stream,
                             bool* missed) {
  AddScalars(call, read);
  *missed = false;
  PyObject* done;
  if (device_.is_cpu_device()) {
    done = caller_->CallRead(read, stream, missed);
  } else {
    const LiveCall::Hit hit(call);
    done = caller_->CallRead(read, stream, missed);
  }
  if (done == nullptr && !*missed && call.exception) call.exception->restore();
  if (done == nullptr || !*missed) return done;
  Py_DECREF(done);
  return Tune(call, read, stream, missed);
}

bool LiveInstance::IsInCapture(KernelCaller::Arguments& read, std::optional<CUstream> given) const {
  py::error_already_set why;  // Takes the exception, which is set again below.
  void* stream = given.value_or(nullptr);
  Result<bool> is_capturing = false;
  if (given || read.tensor(0).CurrentStream(&stream)) {
    is_capturing = StreamView(device_.api(), static_cast<CUstream>(stream)).IsCapturing();
  }
  PyErr_Clear();
  why.restore();
  return is_capturing.ok() && *is_capturing;
}

PyObject* LiveInstance::LaunchInCapture(const LiveCall& call, KernelCaller::Arguments& read,
                                        std::optional<CUstream> given) {
  void* stream = given.value_or(nullptr);
  if (!given && !read.tensor(0).CurrentStream(&stream) && PyErr_Occurred() != nullptr) return nullptr;
  Launching launch(call, call.words, static_cast<CUstream>(stream), 0);
  return Ended(LaunchIn(launch));
}

PyObject* LiveInstance::Tune(const LiveCall& call, KernelCaller::Arguments& read, std::optional<CUstream> stream,
                             bool* missed) {
  // What is compiled here, in parallel, the search's trials find. A launch that captures, or that a record serves,
  // needs the code of one config, which its launcher compiles or finds in the store.
  return Guarded([&]() -> py::object {
    LaunchPlan plan;
    read.plan = &plan;
    const bool is_explained = caller_->ExplainRead(read, stream);
    if (!is_explained && !IsInCapture(read, stream)) throw py::error_already_set();
    if (!is_explained || plan.reason == LaunchPlan::Reason::kCapture) {
      PyErr_Clear();  // That no code is loaded, which this loads.
      *missed = false;
      description_.attr("note_capture")();
      py::object done = py::reinterpret_steal<py::object>(LaunchInCapture(call, read, stream));
      if (!done) throw py::error_already_set();
      return done;
    }
    if (plan.action == LaunchPlan::Action::kSearch) {
      description_.attr("prepare")(ValuesOf(call));
    }
    py::object done = py::reinterpret_steal<py::object>(caller_->CallRead(read, stream, nullptr));
    if (!done) throw py::error_already_set();
    return done;
  });
}

Result<std::size_t> LiveInstance::IndexOf(const Config& config) {
  const auto* label = config.values().empty() ? nullptr : std::get_if<std::string>(&config.values().front());
  if (label == nullptr) return InternalError("the config has no label");
  if (labels_[last_label_] == *label) return last_label_;
  const auto found = std::find(labels_.begin(), labels_.end(), *label);
  if (found == labels_.end()) return InternalError("the kernel does not have the config '" + *label + "'");
  last_label_ = static_cast<std::size_t>(found - labels_.begin());
  return last_label_;
}

Status LiveInstance::Launch(CUstream stream, const Config& config, const CallArguments& arguments) {
  const auto address = arguments.scalar<std::uint64_t>(call_parameter_);
  if (const LiveCall* hit = LiveCall::FindHit(address)) return LaunchConfig(*hit, hit->words, stream, config);
  GilHold gil;
  if (PyErr_Occurred() != nullptr) return CancelledError("interrupted");
  const LiveCall* call = LiveCall::Find(address);
  if (call == nullptr) return FailedPreconditionError("the call that the launch is for has ended");
  ArgumentWords words = call->words;
  for (const Tensor& tensor : tensors_) words.SetAddress(tensor.parameter, arguments.tensor(tensor.index).data);
  const Status status = LaunchConfig(*call, words, stream, config);
  // An exception in a search is the config's failure. A hit raises it.
  return status.ok() || gil.was_held() || PyErr_Occurred() == nullptr ? status : TakeException(*call);
}

Status LiveInstance::LaunchConfig(const LiveCall& call, const ArgumentWords& words, CUstream stream,
                                  const Config& config) {
  TUNEONCE_ASSIGN_OR_RETURN(std::size_t label, IndexOf(config));
  Launching launch(call, words, stream, label);
  Status status;
  try {
    status = LaunchIn(launch);
  } catch (py::error_already_set& error) {
    error.restore();
    status = InternalError("Python raised an exception");
  }
  if (status.ok()) last_config_ = config_indices_[label];
  return status;
}

py::object LiveInstance::ArgumentsByName(const Launching& launch) const {
  LiveSignature::NamedArguments& named = launch.call.signature.named[launch.label];
  if (!named.dict) {
    py::dict made = constants_[launch.label].attr("copy")();
    named.of_call.clear();
    for (std::size_t i = 0; i < launch.call.count; ++i) {
      // A config's value replaces a parameter's default.
      if (launch.call.values[i] == nullptr || made.contains(names_[i])) continue;
      made[names_[i]] = py::none();
      named.of_call.push_back(i);
    }
    named.dict = std::move(made);
  }
  py::object arguments = py::reinterpret_steal<py::object>(PyDict_Copy(named.dict.ptr()));
  if (!arguments) throw py::error_already_set();
  for (const std::size_t i : named.of_call) {
    if (PyDict_SetItem(arguments.ptr(), names_[i].ptr(), launch.call.values[i]) != 0) throw py::error_already_set();
  }
  return arguments;
}

void LiveInstance::AddHeuristics(Launching& launch) {
  py::tuple values = description_.attr("apply_heuristics")(launch.meta);
  for (py::handle value : values) {
    auto is_same = [&](const py::object& known) {
      return known.is(value) || (py::type::of(known).is(py::type::of(value)) && known.equal(value));
    };
    const auto found = std::find_if(heuristic_values_.begin(), heuristic_values_.end(), is_same);
    launch.specialization.heuristics.push_back(static_cast<std::size_t>(found - heuristic_values_.begin()));
    if (found == heuristic_values_.end()) {
      heuristic_values_.push_back(py::reinterpret_borrow<py::object>(value));
    }
  }
}

py::list LiveInstance::ValuesOf(const LiveCall& call) {
  py::list values;
  for (std::size_t i = 0; i < call.count; ++i) {
    values.append(call.values[i] == nullptr ? py::ellipsis() : py::reinterpret_borrow<py::object>(call.values[i]));
  }
  return values;
}

Result<const LiveCode*> LiveInstance::CodeFor(const Launching& launch) {
  std::vector<LiveSignature::LoadedCode>& loaded = launch.call.signature.codes[launch.label];
  for (const LiveSignature::LoadedCode& each : loaded) {
    if (each.of == launch.specialization) return each.code.get();
  }
  auto [name, parts] =
      description_.attr("code_for")(launch.label, ValuesOf(launch.call)).cast<std::pair<std::string, py::tuple>>();
  auto kernel = kernels_.find(name);
  if (kernel == kernels_.end()) {
    TUNEONCE_ASSIGN_OR_RETURN(CompiledKernel made, LiveCode::Load(device_, parts));
    kernel = kernels_.emplace(name, std::move(made)).first;
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<const LiveCode> code,
                            LiveCode::Create(kernel->second, parts, launch.call.values));
  loaded.push_back({launch.specialization, std::move(code)});
  return loaded.back().code.get();
}

bool LiveInstance::ReadGrid(const Launching& launch, std::uint32_t (&grid)[3]) const {
  py::object value = py::reinterpret_borrow<py::object>(launch.call.grid);
  if (launch.meta) value = launch.is_grid_called ? value(launch.meta) : value;
  PyObject* items = PySequence_Fast(value.ptr(), "the grid of a Triton kernel is a tuple of up to three ints");
  if (items == nullptr) return false;
  const py::object holder = py::reinterpret_steal<py::object>(items);
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(items);
  if (size < 1 || size > 3) {
    PyErr_Format(PyExc_ValueError, "the grid of a Triton kernel has 1 to 3 extents, not %zd", size);
    return false;
  }
  for (Py_ssize_t i = 0; i < 3; ++i) {
    grid[i] = 1;
    if (i >= size) continue;
    const long extent = PyLong_AsLong(PySequence_Fast_GET_ITEM(items, i));
    if (extent == -1 && PyErr_Occurred() != nullptr) return false;
    if (extent < 0 || extent > std::numeric_limits<std::int32_t>::max()) {
      PyErr_Format(PyExc_ValueError, "the grid of a Triton kernel has the extent %ld, which is out of range", extent);
      return false;
    }
    grid[i] = static_cast<std::uint32_t>(extent);
  }
  return true;
}

Status LiveInstance::FinishOnCpuDevice(CUstream stream) const {
  if (!device_.is_cpu_device()) return Status();
  StreamView view(device_.api(), stream);
  TUNEONCE_ASSIGN_OR_RETURN(bool is_capturing, view.IsCapturing());
  return is_capturing ? Status() : view.Synchronize();
}

Status LiveInstance::LaunchIn(Launching& launch) {
  if (launch.is_grid_called || has_heuristics_ || has_hooks_) launch.meta = ArgumentsByName(launch);
  if (has_hooks_) {
    TUNEONCE_RETURN_IF_ERROR(FinishOnCpuDevice(launch.stream));
    py::dict addresses;
    for (const Tensor& tensor : tensors_) addresses[py::int_(tensor.parameter)] = launch.words.values[tensor.parameter];
    description_.attr("run_hooks")(launch.label, launch.meta, addresses,
                                   reinterpret_cast<std::uintptr_t>(launch.stream));
  }
  if (has_heuristics_) AddHeuristics(launch);
  TUNEONCE_ASSIGN_OR_RETURN(const LiveCode* code, CodeFor(launch));
  std::uint32_t grid[3];
  if (code->grid()) {
    std::copy(code->grid()->begin(), code->grid()->end(), grid);
  } else if (!ReadGrid(launch, grid)) {
    return InvalidArgumentError("the grid cannot be read");
  }
  return code->Launch(grid, launch.stream, launch.call.values, launch.words);
}

}  // namespace tuneonce::python
