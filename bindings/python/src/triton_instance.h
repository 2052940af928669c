#ifndef TUNEONCE_BINDINGS_PYTHON_TRITON_INSTANCE_H_
#define TUNEONCE_BINDINGS_PYTHON_TRITON_INSTANCE_H_

#include <Python.h>
#include <cuda.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernel_call.h"
#include "triton_call.h"
#include "triton_code.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce::python {

/// A Triton kernel for arguments of certain types and for certain constants: a TunedKernel whose configs are launched
/// with code for the specialization of each call, as Triton's JIT does. Not movable, because its launcher points to it.
/// Thread rule: needs the GIL, unless stated otherwise.
class TritonInstance {
 public:
  /// Makes one from tuneonce.triton.Instance's description; see Description. Throws for a description of other types.
  static Result<std::unique_ptr<TritonInstance>> Create(const pybind11::object& description, const Device& device,
                                                        const AutotunePolicy& policy);
  TritonInstance(const TritonInstance&) = delete;
  TritonInstance& operator=(const TritonInstance&) = delete;

  /// Launches a call, and tunes its key before that if necessary. `read` has the call's tensors. Returns a new
  /// reference to None, or null with an exception set. `*missed` becomes true if the key was not ready.
  PyObject* Call(const TritonCall& call, KernelCaller::Arguments& read, bool* missed);

  /// Index of the config of the last launch among the configs of the decorator; -1 before the first one.
  int last_config() const { return last_config_; }
  const pybind11::object& description() const { return description_; }

  /// Returns the call's arguments by parameter. It has `...` for one that the caller left out.
  static pybind11::list ValuesOf(const TritonCall& call);

 private:
  /// A call's specialization: two bits for each parameter, whether it is divisible by 16 and whether it is 1; the
  /// device; and the values of heuristics as indices.
  struct Specialization {
    std::uint64_t bits[kMaxParameters / 32] = {};
    int device = 0;
    std::vector<std::size_t> heuristics;
    friend bool operator==(const Specialization& a, const Specialization& b) {
      return std::memcmp(a.bits, b.bits, sizeof(a.bits)) == 0 && a.device == b.device && a.heuristics == b.heuristics;
    }
  };
  struct LoadedCode {
    Specialization of;
    std::unique_ptr<const TritonCode> code;
  };
  struct Scalar {
    std::size_t parameter;
    DType dtype;
  };
  struct Tensor {
    std::size_t parameter;
    std::size_t index;  ///< Index among the definition's parameters.
  };
  struct Launching;

  explicit TritonInstance(const Device& device) : device_(device) {}
  Result<KernelDefinition> Define();
  void AddScalars(const TritonCall& call, KernelCaller::Arguments& read) const;
  /// Tunes the key of a call and launches it. A capture runs the first config, and sets `*missed` to false.
  PyObject* Tune(const TritonCall& call, KernelCaller::Arguments& read, bool* missed);
  /// Returns whether the current stream of the first tensor's framework captures. Leaves Python's exception set.
  bool IsInCapture(KernelCaller::Arguments& read) const;
  /// Launches the first config on the current stream of the first tensor's framework.
  PyObject* LaunchInCapture(const TritonCall& call, KernelCaller::Arguments& read);
  Status Launch(CUstream stream, const Config& config, const CallArguments& arguments);
  Status LaunchIn(Launching& launch);
  /// Waits for the stream on the CPU device, where a hook computes on this thread and not in the stream.
  Status FinishOnCpuDevice(CUstream stream) const;
  Result<std::size_t> IndexOf(const Config& config);
  void Specialize(Launching& launch) const;
  Result<const TritonCode*> CodeFor(const Launching& launch);
  void AddHeuristics(Launching& launch);
  /// Returns a new dict of the config's constants and the call's arguments by name.
  pybind11::object ArgumentsByName(const Launching& launch) const;
  bool ReadGrid(const Launching& launch, std::uint32_t (&grid)[3]) const;

  Device device_;
  pybind11::object description_;
  std::unique_ptr<KernelCaller> caller_;
  std::vector<pybind11::str> names_;         // By parameter of the Triton kernel.
  std::vector<bool> is_specialized_;         // By parameter: whether its value may change the code.
  std::vector<std::string> labels_;          // By config that may run.
  std::vector<int> config_indices_;          // By config that may run: its index among all configs.
  std::vector<pybind11::object> constants_;  // By config that may run: a dict of its constants.
  std::vector<Tensor> tensors_;
  std::vector<Scalar> key_scalars_;
  std::size_t call_parameter_ = 0;
  bool has_heuristics_ = false;
  bool has_hooks_ = false;
  std::vector<std::vector<LoadedCode>> codes_;  // By config that may run.
  std::vector<pybind11::object> heuristic_values_;
  std::size_t last_label_ = 0;
  int last_config_ = -1;
};

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_TRITON_INSTANCE_H_
