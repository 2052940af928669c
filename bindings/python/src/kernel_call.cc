#include "kernel_call.h"

#include <cudaTypedefs.h>

#include <algorithm>
#include <iterator>

#include "kernel_arguments.h"
#include "python_signals.h"
#include "python_status.h"
#include "scalar_reader.h"
#include "tuneonce/device.h"
#include "tuning/kernel_on_device.h"

namespace tuneonce::python {

Result<std::unique_ptr<KernelCaller>> KernelCaller::Create(const Bundle& bundle, const Device& device,
                                                           AutotunePolicy policy) {
  return Create(device, std::move(policy),
                [&](AutotunePolicy of_calls) { return KernelOnDevice(device, bundle, std::move(of_calls)); });
}

Result<std::unique_ptr<KernelCaller>> KernelCaller::Create(KernelDefinition definition, const Device& device,
                                                           AutotunePolicy policy) {
  return Create(device, std::move(policy), [&](AutotunePolicy of_calls) {
    return KernelOnDevice(device, std::move(definition), std::move(of_calls));
  });
}

Result<std::unique_ptr<KernelCaller>> KernelCaller::Create(
    const Device& device, AutotunePolicy policy, const std::function<Result<TunedKernel>(AutotunePolicy)>& make) {
  unsigned long main_thread = MainThread();
  if (main_thread == 0) return InternalError("Python's main thread is not known");
  std::function<bool()> interrupted = [main_thread] { return SignalRaised(main_thread); };
  policy.search.stop = StopToken(interrupted);
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel kernel, make(std::move(policy)));
  TUNEONCE_ASSIGN_OR_RETURN(Context primary, Context::RetainPrimary(device));
  std::unique_ptr<KernelCaller> caller(new KernelCaller(std::move(kernel), device, std::move(primary)));
  caller->interrupted_ = std::move(interrupted);
  caller->is_cpu_ = device.is_cpu_device();
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
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const std::string where = "kernel '" + kernel_.definition().name() + "', parameter '" + parameter.name + "'";
  // An exception of a type that is made of a text has the name before its own; others get a note, from Python 3.11 on.
  PyObject* const made_of_text[] = {PyExc_TypeError, PyExc_ValueError, PyExc_BufferError, PyExc_RuntimeError};
  if (std::find(std::begin(made_of_text), std::end(made_of_text), type) != std::end(made_of_text)) {
    PyErr_Format(type, "%s: %S", where.c_str(), value);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return false;
  }
  PyObject* noted = PyObject_CallMethod(value, "add_note", "s", where.c_str());
  if (noted == nullptr) PyErr_Clear();
  Py_XDECREF(noted);
  PyErr_Restore(type, value, trace);
  return false;
}

bool KernelCaller::IsWhereItRuns(const TensorRef& tensor, const Parameter& parameter) const {
  if (is_cpu_ ? tensor.on_host() : tensor.on_cuda()) return true;
  PyErr_Format(PyExc_TypeError, "kernel '%s', parameter '%s': the tensor is in %s memory, the kernel runs on %s",
               kernel_.definition().name().c_str(), parameter.name.c_str(), tensor.MemoryName().c_str(),
               is_cpu_ ? "the CPU device" : "a CUDA device");
  return false;
}

bool KernelCaller::IsWritable(const TensorRef& tensor, const Parameter& parameter) const {
  if (parameter.access == Access::kIn || tensor.read_only() == nullptr) return true;
  PyErr_Format(PyExc_TypeError, "kernel '%s', parameter '%s': %s", kernel_.definition().name().c_str(),
               parameter.name.c_str(), tensor.read_only());
  return false;
}

bool KernelCaller::ReadTable(PyObject* object, const Parameter& parameter, Arguments* read) const {
  TableRef& table = read->AddTable();
  if (!table.Read(object, is_cpu_)) return NameParameter(parameter);
  if (table.own() != nullptr && !IsWhereItRuns(*table.own(), parameter)) return false;
  for (const TensorRef& tensor : table.tensors()) {
    if (!IsWhereItRuns(tensor, parameter) || !IsWritable(tensor, parameter)) return false;
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
    if (!IsWhereItRuns(tensor, parameter) || !IsWritable(tensor, parameter)) return false;
    read->Add(Argument(tensor.view()));
  }
  return true;
}

Result<ContextView> KernelCaller::PrimaryOf(int device) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = contexts_.find(device);
  if (it == contexts_.end()) {
    TUNEONCE_ASSIGN_OR_RETURN(Device other, Device::Get(device_.api(), device));
    TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(other));
    it = contexts_.emplace(device, std::move(context)).first;
  }
  return it->second.view();
}

Status KernelCaller::Do(Use use, CUstream stream, const Argument* list, std::size_t count, LaunchPlan* plan) {
  switch (use) {
    case Use::kLaunch:
      return kernel_.Launch(stream, ArgumentSpan(list, count));
    case Use::kWarmup:
      return kernel_.Warmup(stream, ArgumentSpan(list, count));
    case Use::kRetune:
      return kernel_.Retune(stream, ArgumentSpan(list, count));
    case Use::kExplain:
      break;
  }
  TUNEONCE_ASSIGN_OR_RETURN(*plan, kernel_.Explain(stream, ArgumentSpan(list, count)));
  return Status();
}

Status KernelCaller::UseIn(CUstream stream, Arguments& arguments, Use use) {
  Status status;
  if (use != Use::kExplain) {
    arguments.ForEach([&](const TensorRef& tensor) {
      if (tensor.producer_stream() == nullptr) return true;
      status = StreamView(device_.api(), stream).WaitFor(tensor.producer_stream());
      return status.ok();
    });
    if (!status.ok()) return status;
  }
  if (use == Use::kLaunch) {
    bool missed = false;
    status = kernel_.Launch(stream, ArgumentSpan(arguments.list(), arguments.count), &missed);
    if (arguments.missed != nullptr) *arguments.missed = missed;
    if (!missed || arguments.missed != nullptr) return status;
  }
  // A search, or a wait for another thread's: others may run meanwhile. The caller holds the tensors.
  Py_BEGIN_ALLOW_THREADS;
  status = Do(use, stream, arguments.list(), arguments.count, arguments.plan);
  Py_END_ALLOW_THREADS;
  return status;
}

PyObject* KernelCaller::CallOnCuda(Arguments& arguments, std::optional<CUstream> given, Use use) {
  int device = -1;
  void* stream = given.value_or(nullptr);
  bool has_stream = given.has_value();
  CUstream producer = nullptr;
  const bool is_one_device = arguments.ForEach([&](const TensorRef& tensor) {
    if (producer == nullptr) producer = tensor.producer_stream();
    if (tensor.device_id() < 0 || tensor.device_id() == device) return true;
    if (device < 0) {
      device = tensor.device_id();
      if (!has_stream) has_stream = tensor.CurrentStream(&stream);
      return PyErr_Occurred() == nullptr;
    }
    PyErr_Format(PyExc_TypeError, "kernel '%s': tensors are on different devices, %d and %d",
                 kernel_.definition().name().c_str(), device, tensor.device_id());
    return false;
  });
  if (!is_one_device) return nullptr;
  if (!has_stream) stream = producer;  // Null is the legacy stream, which orders itself behind all blocking ones.
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
    Result<void*> set_current = device_.DriverFunction("cuCtxSetCurrent", 4000);
    if (!set_current.ok()) return SetException(set_current.status());
    reinterpret_cast<PFN_cuCtxSetCurrent_v4000> (*set_current)(primary->get());
    status = UseIn(static_cast<CUstream>(stream), arguments, use);
  }
  return Ended(status);
}

PyObject* KernelCaller::Call(PyObject* const* arguments, Py_ssize_t count, std::optional<CUstream> stream) {
  Arguments read;
  if (!Read(arguments, count, &read)) return nullptr;
  return is_cpu_ ? CallOnCpuDevice(read, Use::kLaunch) : CallOnCuda(read, stream, Use::kLaunch);
}

PyObject* KernelCaller::CallRead(Arguments& read, std::optional<CUstream> stream, bool* missed) {
  for (std::size_t i = 0; i < read.num_tensors; ++i) {  // The definition's tensors come first.
    if (read.tensor(i).read_only() != nullptr && !IsWritable(read.tensor(i), *expected_[i].parameter)) return nullptr;
  }
  if (is_cpu_ && missed != nullptr) {
    ScopedContext current(primary_.view());
    Result<bool> is_ready = kernel_.IsReady(ArgumentSpan(read.list(), read.count));
    if (!is_ready.ok()) return SetException(is_ready.status());
    *missed = !*is_ready;
    if (*missed) Py_RETURN_NONE;
  }
  read.missed = is_cpu_ ? nullptr : missed;
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

bool KernelCaller::ExplainRead(Arguments& read, std::optional<CUstream> stream) {
  PyObject* none = is_cpu_ ? CallOnCpuDevice(read, Use::kExplain) : CallOnCuda(read, stream, Use::kExplain);
  Py_XDECREF(none);
  return none != nullptr;
}

bool KernelCaller::Explain(PyObject* const* arguments, Py_ssize_t count, std::optional<CUstream> stream,
                           LaunchPlan* plan) {
  Arguments read;
  if (!Read(arguments, count, &read)) return false;
  read.plan = plan;
  return ExplainRead(read, stream);
}

int KernelCaller::IsReady(PyObject* const* arguments, Py_ssize_t count) {
  Arguments read;
  if (!Read(arguments, count, &read)) return -1;
  std::optional<ScopedContext> current;
  if (is_cpu_) current.emplace(primary_.view());
  Result<bool> tuned = kernel_.IsReady(ArgumentSpan(read.list(), read.count));
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

Status KernelCaller::Explain(CUstream stream, const TunedKernel::Shape& shape, LaunchPlan* plan) {
  return OnDevice(stream, [&](CUstream where) -> Status {
    TUNEONCE_ASSIGN_OR_RETURN(*plan, kernel_.Explain(where, shape));
    return Status();
  });
}

Result<std::vector<WarmedKey>> KernelCaller::WarmupAll(const std::vector<KernelCaller*>& callers, CUstream stream,
                                                       const std::vector<KernelShapes>& list,
                                                       const WarmupAllOptions& options) {
  KernelCaller& first = *callers.front();
  for (const KernelCaller* caller : callers) {
    bool is_same = &caller->device_.api() == &first.device_.api() && caller->device_.index() == first.device_.index();
    if (!is_same)
      return InvalidArgumentError("the kernels are for several devices: call warmup_all once for each device");
  }
  Result<std::vector<WarmedKey>> warmed = std::vector<WarmedKey>();
  Status status = first.OnDevice(stream, [&](CUstream where) {
    warmed = tuneonce::WarmupAll(where, list, options);
    return warmed.status();
  });
  if (!status.ok()) return status;
  return warmed;
}

Status KernelCaller::TunePending(CUstream stream) {
  return OnDevice(stream, [&](CUstream where) { return kernel_.TunePending(where); });
}

}  // namespace tuneonce::python
