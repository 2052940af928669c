#include "kernel_call.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <new>

#include "cuda/driver_api.h"
#include "cuda/relaxed_driver.h"
#include "launch/device_table.h"
#include "python_signals.h"
#include "python_status.h"
#include "runtime/tuned_kernel_on.h"
#include "scalar_reader.h"
#include "staged_tensors.h"
#include "table_reader.h"
#include "tuneonce/context.h"
#include "tuneonce/device.h"
#include "tuneonce/stream.h"

namespace tuneonce::python {
namespace {

/// What a call ends with: None, or null with an exception set, be it the one that a signal's handler raised.
PyObject* Ended(const Status& status) {
  ForgetSignal();
  if (PyErr_Occurred() != nullptr) return nullptr;
  if (!status.ok()) return SetException(status);
  Py_RETURN_NONE;
}

}  // namespace

class KernelCaller::Arguments {
 public:
  Arguments() = default;
  ~Arguments() {
    for (std::size_t i = 0; i < num_tensors; ++i) tensor(i).~TensorRef();
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  /// Room for one more tensor: made as needed, since most kernels have few.
  TensorRef& AddTensor() { return *new (&storage[num_tensors++ * sizeof(TensorRef)]) TensorRef(); }
  TensorRef& tensor(std::size_t i) { return *reinterpret_cast<TensorRef*>(&storage[i * sizeof(TensorRef)]); }
  void Add(const Argument& argument) { new (&list_storage[count++ * sizeof(Argument)]) Argument(argument); }
  const Argument* list() const { return reinterpret_cast<const Argument*>(list_storage); }

  TableRef& AddTable() { return *tables.emplace_back(std::make_unique<TableRef>()); }

  /// Calls `use` with each tensor, and with those of tables, until one returns false.
  template <typename Use>
  bool ForEach(const Use& use) {
    for (std::size_t i = 0; i < num_tensors; ++i) {
      if (!use(tensor(i))) return false;
    }
    for (const auto& table : tables) {
      if (table->own() != nullptr && !use(*table->own())) return false;
      for (const TensorRef& each : table->tensors()) {
        if (!use(each)) return false;
      }
    }
    return true;
  }

  std::vector<std::unique_ptr<TableRef>> tables;
  std::size_t num_tensors = 0;
  std::size_t count = 0;
  Choice* choice = nullptr;  // Use::kChoice: where the answer goes.
  std::uint64_t words[kMaxParameters];
  alignas(TensorRef) unsigned char storage[kMaxParameters * sizeof(TensorRef)];
  alignas(Argument) unsigned char list_storage[kMaxParameters * sizeof(Argument)];
};

Result<std::unique_ptr<KernelCaller>> KernelCaller::Create(const KernelDefinition& definition, const Device& device,
                                                           AutotunePolicy policy) {
  unsigned long main_thread = MainThread();
  if (main_thread == 0) return InternalError("Python's main thread is not known");
  std::function<bool()> interrupted = [main_thread] { return SignalRaised(main_thread); };
  policy.search.interrupted = interrupted;
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel kernel, TunedKernelOn::Create(device, definition, std::move(policy)));
  TUNEONCE_ASSIGN_OR_RETURN(Context primary, Context::RetainPrimary(device));
  std::unique_ptr<KernelCaller> caller(new KernelCaller(std::move(kernel), device, std::move(primary)));
  caller->interrupted_ = std::move(interrupted);
  caller->is_cpu_ = device.api().is_cpu_device();
  TUNEONCE_ASSIGN_OR_RETURN(int num_devices, Device::Count(device.api()));
  caller->has_many_devices_ = num_devices > 1;
  for (const Parameter& parameter : caller->kernel_.definition().parameters()) {
    bool is_tensor = parameter.kind == ParameterKind::kTensor;
    if (is_tensor || parameter.kind == ParameterKind::kScalar) caller->expected_.push_back({&parameter, is_tensor});
  }
  if (caller->is_cpu_) {
    ScopedContext current(caller->primary_.view());
    TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
    caller->cpu_stream_.emplace(std::move(stream));
  }
  return caller;
}

bool KernelCaller::NameParameter(const Parameter& parameter) const {
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) return false;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_Format(PyExc_TypeError, "kernel '%s', parameter '%s': %S", kernel_.definition().name().c_str(),
               parameter.name.c_str(), value);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return false;
}

bool KernelCaller::IsWhereItRuns(const TensorRef& tensor, const Parameter& parameter) const {
  if (tensor.on_cuda() != is_cpu_) return true;
  PyErr_Format(PyExc_TypeError, "kernel '%s', parameter '%s': the tensor is in %s memory, the kernel runs on %s",
               kernel_.definition().name().c_str(), parameter.name.c_str(), is_cpu_ ? "CUDA" : "host",
               is_cpu_ ? "the CPU device" : "a CUDA device");
  return false;
}

bool KernelCaller::ReadTable(PyObject* object, const Parameter& parameter, Arguments* read) const {
  TableRef& table = read->AddTable();
  if (!table.Read(object, is_cpu_)) return NameParameter(parameter);
  if (table.own() != nullptr && !IsWhereItRuns(*table.own(), parameter)) return false;
  for (const TensorRef& tensor : table.tensors()) {
    if (!IsWhereItRuns(tensor, parameter)) return false;
  }
  read->Add(Argument(table.table()));
  return true;
}

bool KernelCaller::Read(PyObject* const* arguments, Py_ssize_t count, Arguments* read) const {
  if (static_cast<std::size_t>(count) != expected_.size()) {
    PyErr_Format(PyExc_TypeError, "kernel '%s' takes %zu arguments, got %zd", kernel_.definition().name().c_str(),
                 expected_.size(), count);
    return false;
  }
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    const Parameter& parameter = *expected_[i].parameter;
    if (!expected_[i].is_tensor) {
      if (!ReadScalar(kernel_.definition().name(), parameter, arguments[i], &read->words[i])) return false;
      read->Add(Argument::Scalar(parameter.dtype, &read->words[i]));
      continue;
    }
    if (parameter.by_pointers) {
      if (!ReadTable(arguments[i], parameter, read)) return false;
      continue;
    }
    TensorRef& tensor = read->AddTensor();
    if (!tensor.Read(arguments[i])) return NameParameter(parameter);
    if (!IsWhereItRuns(tensor, parameter)) return false;
    read->Add(Argument(tensor.view()));
  }
  return true;
}

Result<ContextView> KernelCaller::PrimaryOf(int device) {
  MutexLock lock(mutex_);
  auto it = contexts_.find(device);
  if (it == contexts_.end()) {
    TUNEONCE_ASSIGN_OR_RETURN(Device other, Device::Get(device_.api(), device));
    TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(other));
    it = contexts_.emplace(device, std::move(context)).first;
  }
  return it->second.view();
}

Status KernelCaller::Do(Use use, CUstream stream, const Argument* list, std::size_t count, Choice* choice) {
  switch (use) {
    case Use::kLaunch:
      return kernel_.LaunchArguments(stream, list, count);
    case Use::kWarmup:
      return kernel_.WarmupArguments(stream, list, count);
    case Use::kRetune:
      return kernel_.RetuneArguments(stream, list, count);
    case Use::kChoice:
      break;
  }
  TUNEONCE_ASSIGN_OR_RETURN(*choice, kernel_.ChoiceOfArguments(stream, list, count));
  return Status();
}

Status KernelCaller::UseIn(CUstream stream, Arguments& arguments, Use use) {
  Status status;
  if (use == Use::kLaunch) {
    bool missed = false;
    status = kernel_.LaunchIfResident(stream, arguments.list(), arguments.count, &missed);
    if (!missed) return status;
  }
  // A search, or a wait for another thread's: others may run meanwhile. The caller holds the tensors.
  Py_BEGIN_ALLOW_THREADS;
  status = Do(use, stream, arguments.list(), arguments.count, arguments.choice);
  Py_END_ALLOW_THREADS;
  return status;
}

PyObject* KernelCaller::CallOnCuda(Arguments& arguments, std::optional<CUstream> given, Use use) {
  int device = -1;
  void* stream = given.value_or(nullptr);
  const bool is_one_device = arguments.ForEach([&](const TensorRef& tensor) {
    if (tensor.device_id() < 0) return true;
    if (device < 0) {
      device = tensor.device_id();
      if (!given && !tensor.CurrentStream(&stream)) {
        if (PyErr_Occurred() != nullptr) return false;
        stream = nullptr;  // The legacy stream, which orders itself behind all others.
      }
      return true;
    }
    if (tensor.device_id() == device) return true;
    PyErr_Format(PyExc_TypeError, "kernel '%s': tensors are on different devices, %d and %d",
                 kernel_.definition().name().c_str(), device, tensor.device_id());
    return false;
  });
  if (!is_one_device) return nullptr;
  Status status;
  std::optional<ScopedContext> scoped;
  if (has_many_devices_ && device >= 0) {
    Result<Device> current = Device::OfCurrentContext(device_.api());
    if (!current.ok() || current->index() != device) {
      Result<ContextView> primary = PrimaryOf(device);
      if (!primary.ok()) return SetException(primary.status());
      scoped.emplace(*primary);
    }
  }
  status = UseIn(static_cast<CUstream>(stream), arguments, use);
  if (status.code() == StatusCode::kFailedPrecondition && !ContextView::Current(device_.api()).ok()) {
    // This thread has not used CUDA yet: as the CUDA runtime does, make the device's primary context its current one.
    Result<ContextView> primary = PrimaryOf(device < 0 ? device_.index() : device);
    if (!primary.ok()) return SetException(primary.status());
    RelaxedDriver driver(device_.api());
    driver->CtxSetCurrent(primary->get());
    status = UseIn(static_cast<CUstream>(stream), arguments, use);
  }
  return Ended(status);
}

Status KernelCaller::UseStaged(Arguments& arguments, Use use) {
  std::unique_lock<std::timed_mutex> lock(cpu_mutex_, std::defer_lock);
  while (!lock.try_lock_for(kSignalPoll)) {
    if (interrupted_()) return CancelledError("interrupted while another thread's call runs");
  }
  ScopedContext current(primary_.view());
  TUNEONCE_RETURN_IF_ERROR(current.status());
  // There is nothing to launch, or it says why not: it does not come to the tensors' memory.
  auto is_empty = [](const Argument& argument) { return argument.is_tensor() && !argument.tensor().HasElements(); };
  if (std::any_of(arguments.list(), arguments.list() + arguments.count, is_empty)) {
    return Do(use, cpu_stream_->get(), arguments.list(), arguments.count, arguments.choice);
  }
  // All tensors, those of tables in their place; without those that have no elements.
  std::vector<TensorView> host;
  for (std::size_t i = 0; i < arguments.count; ++i) {
    const Argument& argument = arguments.list()[i];
    const TensorView* views = argument.is_table() ? argument.table().tensors : &argument.tensor();
    const std::size_t count = argument.is_table() ? argument.table().count : argument.is_tensor() ? 1 : 0;
    std::copy_if(views, views + count, std::back_inserter(host), [](const TensorView& v) { return v.HasElements(); });
  }
  TUNEONCE_ASSIGN_OR_RETURN(StagedTensors staged, StagedTensors::Create(host, cpu_stream_->view()));
  std::vector<std::unique_ptr<DeviceTable>> tables;
  std::vector<Argument> list;
  std::vector<std::size_t> written;
  std::size_t next = 0;
  for (std::size_t i = 0; i < arguments.count; ++i) {
    const Argument& argument = arguments.list()[i];
    const std::size_t first = next;
    if (argument.is_table()) {
      std::vector<TensorView> tensors(argument.table().tensors, argument.table().tensors + argument.table().count);
      for (TensorView& tensor : tensors) {
        if (tensor.HasElements()) tensor = staged.view(next++);
      }
      TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<DeviceTable> table,
                                DeviceTable::Create(std::move(tensors), cpu_stream_->view()));
      list.emplace_back(table->table());
      tables.push_back(std::move(table));
    } else {
      list.push_back(argument.is_tensor() ? Argument(staged.view(next++)) : argument);
    }
    if (expected_[i].parameter->access == Access::kIn) continue;
    for (std::size_t tensor = first; tensor < next; ++tensor) written.push_back(tensor);
  }
  TUNEONCE_RETURN_IF_ERROR(Do(use, cpu_stream_->get(), list.data(), list.size(), arguments.choice));
  if (use != Use::kLaunch) return cpu_stream_->view().Synchronize();
  for (std::size_t tensor : written) TUNEONCE_RETURN_IF_ERROR(staged.CopyBack(tensor));
  return cpu_stream_->view().Synchronize();
}

PyObject* KernelCaller::CallOnCpuDevice(Arguments& arguments, Use use) {
  std::size_t next_tensor = 0, next_table = 0;
  for (const Expected& expected : expected_) {
    if (!expected.is_tensor) continue;
    bool is_writable = true;
    if (expected.parameter->by_pointers) {
      for (const TensorRef& tensor : arguments.tables[next_table++]->tensors()) is_writable &= tensor.is_writable();
    } else {
      is_writable = arguments.tensor(next_tensor++).is_writable();
    }
    if (is_writable || expected.parameter->access == Access::kIn) continue;
    PyErr_Format(PyExc_TypeError, "kernel '%s', parameter '%s': the array is read-only",
                 kernel_.definition().name().c_str(), expected.parameter->name.c_str());
    return nullptr;
  }
  Status status;
  Py_BEGIN_ALLOW_THREADS;
  status = UseStaged(arguments, use);
  Py_END_ALLOW_THREADS;
  return Ended(status);
}

PyObject* KernelCaller::Call(PyObject* const* arguments, Py_ssize_t count, std::optional<CUstream> stream) {
  Arguments read;
  if (!Read(arguments, count, &read)) return nullptr;
  return is_cpu_ ? CallOnCpuDevice(read, Use::kLaunch) : CallOnCuda(read, stream, Use::kLaunch);
}

PyObject* KernelCaller::WarmupWith(PyObject* const* arguments, Py_ssize_t count, std::optional<CUstream> stream) {
  Arguments read;
  if (!Read(arguments, count, &read)) return nullptr;
  return is_cpu_ ? CallOnCpuDevice(read, Use::kWarmup) : CallOnCuda(read, stream, Use::kWarmup);
}

PyObject* KernelCaller::RetuneWith(PyObject* const* arguments, Py_ssize_t count, std::optional<CUstream> stream) {
  Arguments read;
  if (!Read(arguments, count, &read)) return nullptr;
  return is_cpu_ ? CallOnCpuDevice(read, Use::kRetune) : CallOnCuda(read, stream, Use::kRetune);
}

bool KernelCaller::ChoiceOf(PyObject* const* arguments, Py_ssize_t count, std::optional<CUstream> stream,
                            Choice* choice) {
  Arguments read;
  if (!Read(arguments, count, &read)) return false;
  read.choice = choice;
  PyObject* none = is_cpu_ ? CallOnCpuDevice(read, Use::kChoice) : CallOnCuda(read, stream, Use::kChoice);
  Py_XDECREF(none);
  return none != nullptr;
}

int KernelCaller::IsTuned(PyObject* const* arguments, Py_ssize_t count) {
  Arguments read;
  if (!Read(arguments, count, &read)) return -1;
  std::optional<ScopedContext> current;
  if (is_cpu_) current.emplace(primary_.view());
  Result<bool> tuned = kernel_.IsTunedArguments(read.list(), read.count);
  if (!tuned.ok()) {
    SetException(tuned.status());
    return -1;
  }
  return *tuned ? 1 : 0;
}

template <typename Function>
Status KernelCaller::OnDevice(CUstream stream, const Function& run) {
  std::optional<ScopedContext> current;
  if (is_cpu_ || !ContextView::Current(device_.api()).ok()) current.emplace(primary_.view());
  Status status = run(is_cpu_ ? cpu_stream_->get() : stream);
  ForgetSignal();
  return status;
}

Status KernelCaller::Warmup(CUstream stream, const std::vector<TunedKernel::Shape>& shapes,
                            const std::function<void(std::size_t, const Status&)>& on_done) {
  return OnDevice(stream, [&](CUstream where) { return kernel_.Warmup(where, shapes, on_done); });
}

Status KernelCaller::Retune(CUstream stream, const TunedKernel::Shape& shape) {
  return OnDevice(stream, [&](CUstream where) { return kernel_.Retune(where, shape); });
}

Status KernelCaller::InContext(const std::function<Status(TunedKernel&)>& run) {
  return OnDevice(nullptr, [&](CUstream) { return run(kernel_); });
}

Status KernelCaller::ChoiceOf(CUstream stream, const TunedKernel::Shape& shape, Choice* choice) {
  return OnDevice(stream, [&](CUstream where) -> Status {
    TUNEONCE_ASSIGN_OR_RETURN(*choice, kernel_.ChoiceOf(where, shape));
    return Status();
  });
}

Result<std::vector<WarmedKey>> KernelCaller::WarmupAll(const std::vector<KernelCaller*>& callers, CUstream stream,
                                                       const std::vector<KernelShapes>& list,
                                                       const WarmupAllOptions& options) {
  KernelCaller& first = *callers.front();
  for (const KernelCaller* caller : callers) {
    bool is_same = &caller->device_.api() == &first.device_.api() && caller->device_.index() == first.device_.index();
    if (!is_same) return InvalidArgumentError("the kernels are for several devices: warm up those of each by a call");
  }
  Result<std::vector<WarmedKey>> warmed = std::vector<WarmedKey>();
  Status status = first.OnDevice(stream, [&](CUstream where) {
    warmed = tuneonce::WarmupAll(where, list, options);
    return warmed.status();
  });
  if (!status.ok()) return status;
  return warmed;
}

Status KernelCaller::AtSafePoint(CUstream stream) {
  return OnDevice(stream, [&](CUstream where) { return kernel_.AtSafePoint(where); });
}

}  // namespace tuneonce::python
