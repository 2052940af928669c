#ifndef TUNEONCE_BINDINGS_PYTHON_KERNEL_CALL_H_
#define TUNEONCE_BINDINGS_PYTHON_KERNEL_CALL_H_

#include <Python.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tensor_reader.h"
#include "tuneonce/device.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce::python {

/// A TunedKernel and what its calls from Python need. Thread rule: any thread that holds the GIL.
class KernelCaller {
 public:
  static Result<std::unique_ptr<KernelCaller>> Create(const Bundle& bundle, const Device& device,
                                                      AutotunePolicy policy);
  /// Makes one of a definition that was not loaded from a bundle.
  static Result<std::unique_ptr<KernelCaller>> Create(KernelDefinition definition, const Device& device,
                                                      AutotunePolicy policy);

  /// One call's arguments. Not movable, because its list points into it.
  class Arguments;

  /// Launches once. `stream` is the caller's, or empty for the framework's current one. Returns a new reference to
  /// None, or null with a Python exception set.
  PyObject* Call(PyObject* const* arguments, Py_ssize_t count, std::optional<CUstream> stream);
  /// Launches once on arguments that were read already: the definition's tensors, which are in memory of its device,
  /// then its scalars. `missed`: null, or where a launch whose code is not loaded sets true, having launched nothing
  /// (TunedKernel::Launch). As Call.
  PyObject* CallRead(Arguments& read, std::optional<CUstream> stream, bool* missed);
  /// Sets `*read.plan` to what such a launch would run (TunedKernel::Explain). False with an exception set.
  bool ExplainRead(Arguments& read, std::optional<CUstream> stream = std::nullopt);
  /// True if Call would be a hit. -1 with an exception set.
  int IsReady(PyObject* const* arguments, Py_ssize_t count);
  /// To be called without the GIL. Where a signal's handler raised meanwhile, its exception is set afterwards.
  Status Warmup(CUstream stream, const std::vector<TunedKernel::Shape>& shapes,
                const std::function<void(std::size_t, const Status&)>& on_done);
  /// tuneonce::WarmupAll of kernels for one device, likewise. `list` names theirs, in order; it is not empty. Errors:
  /// InvalidArgument where the devices differ.
  static Result<std::vector<WarmedKey>> WarmupAll(const std::vector<KernelCaller*>& callers, CUstream stream,
                                                  const std::vector<KernelShapes>& list,
                                                  const WarmupAllOptions& options);
  /// TunedKernel::TunePending, likewise.
  Status TunePending(CUstream stream);
  /// TunedKernel::Retune, of a shape; likewise.
  Status Retune(CUstream stream, const TunedKernel::Shape& shape);
  /// Calls `run` with the kernel in a context of the device, and returns its status.
  Status InContext(const std::function<Status(TunedKernel&)>& run);
  /// A warm-up on a call's arguments, which is not launched. As Call.
  PyObject* WarmupWith(PyObject* const* arguments, Py_ssize_t count, std::optional<CUstream> stream);
  /// TunedKernel::Retune on a call's arguments. As Call.
  PyObject* RetuneWith(PyObject* const* arguments, Py_ssize_t count, std::optional<CUstream> stream);
  /// TunedKernel::Explain of a call. False with an exception set.
  bool Explain(PyObject* const* arguments, Py_ssize_t count, std::optional<CUstream> stream, LaunchPlan* plan);
  Status Explain(CUstream stream, const TunedKernel::Shape& shape, LaunchPlan* plan);

  TunedKernel& kernel() { return kernel_; }
  bool is_cpu_device() const { return is_cpu_; }

 private:
  /// Calls `run` with the stream to use, in a context of the device.
  template <typename Function>
  Status OnDevice(CUstream stream, const Function& run);

  struct Expected {
    const Parameter* parameter;
    bool is_tensor;
  };

  static Result<std::unique_ptr<KernelCaller>> Create(const Device& device, AutotunePolicy policy,
                                                      const std::function<Result<TunedKernel>(AutotunePolicy)>& make);
  KernelCaller(TunedKernel kernel, const Device& device, Context primary)
      : kernel_(std::move(kernel)), device_(device), primary_(std::move(primary)) {}

  /// Names the parameter in the exception that is set. Returns false.
  bool NameParameter(const Parameter& parameter) const;
  /// False with a TypeError set if the kernel runs elsewhere.
  bool IsWhereItRuns(const TensorRef& tensor, const Parameter& parameter) const;
  /// False with a TypeError set if the kernel writes the parameter and the tensor is read-only.
  bool IsWritable(const TensorRef& tensor, const Parameter& parameter) const;
  bool ReadTable(PyObject* object, const Parameter& parameter, Arguments* read) const;
  bool Read(PyObject* const* arguments, Py_ssize_t count, Arguments* read) const;
  /// What is done with the arguments: launch, tune on them, or explain what a launch would run.
  enum class Use { kLaunch, kWarmup, kRetune, kExplain };
  /// `plan`: for kExplain.
  Status Do(Use use, CUstream stream, const Argument* list, std::size_t count, LaunchPlan* plan);
  PyObject* CallOnCuda(Arguments& arguments, std::optional<CUstream> stream, Use use);
  PyObject* CallOnCpuDevice(Arguments& arguments, Use use);
  Status UseStaged(Arguments& arguments, Use use);
  /// Returns the primary context of a device of the driver, which is retained once and never released.
  Result<ContextView> PrimaryOf(int device);
  Status UseIn(CUstream stream, Arguments& arguments, Use use);

  TunedKernel kernel_;
  Device device_;
  Context primary_;
  bool is_cpu_ = false;
  bool has_many_devices_ = false;
  std::vector<Expected> expected_;
  std::function<bool()> interrupted_;  // Asked by what waits without the GIL.
  std::mutex mutex_;                   // Guards contexts_. Never waited for with the GIL held.
  std::map<int, Context> contexts_;
  // Held while a call uses the CPU device's stream, whose handle never changes, or tunes. Recursive: a call from an
  // observer or signal handler of the thread that holds it comes to the kernel, which refuses it.
  std::recursive_timed_mutex cpu_mutex_;
  std::optional<Stream> cpu_stream_;
};

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_KERNEL_CALL_H_
