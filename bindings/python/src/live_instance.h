#ifndef TUNEONCE_BINDINGS_PYTHON_LIVE_INSTANCE_H_
#define TUNEONCE_BINDINGS_PYTHON_LIVE_INSTANCE_H_

#include <Python.h>
#include <cuda.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel_call.h"
#include "live_call.h"
#include "live_code.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce::python {

class LiveInstance;

/// What calls of one entry of a LiveCaller have in common.
struct LiveSignature {
  static constexpr std::size_t kNumBits = kMaxParameters / ArgumentWords::kPerWord;
  /// A call's specialization: the bits of its ArgumentWords, as far as code depends on them; the device; and the values
  /// of heuristics as indices.
  struct Specialization {
    std::uint64_t bits[kNumBits];
    int device = 0;
    std::vector<std::size_t> heuristics;
    friend bool operator==(const Specialization& a, const Specialization& b) {
      return std::equal(a.bits, a.bits + kNumBits, b.bits) && a.device == b.device && a.heuristics == b.heuristics;
    }
  };
  struct LoadedCode {
    Specialization of;
    std::unique_ptr<const LiveCode> code;
  };
  /// A dict of the config's constants, with None for each argument that the call gives, and the indices of these
  /// arguments: a launch copies the dict, which is faster than making one. Null until a launch needs it.
  struct NamedArguments {
    pybind11::object dict;
    std::vector<std::size_t> of_call;
  };

  std::vector<std::int64_t> key;               ///< The values of the instance's key_names.
  std::uint64_t specialized[kNumBits] = {};    ///< The bits of ArgumentWords on which code may depend.
  std::vector<std::vector<LoadedCode>> codes;  ///< By config that may run.
  std::vector<NamedArguments> named;           ///< By config that may run.
};

/// A decorated kernel for arguments of certain types and for certain constants: a TunedKernel whose configs are
/// launched with code for the specialization of each call, as the kernel's JIT does. Not movable, because its launcher
/// points to it. Thread rule: needs the GIL, unless stated otherwise.
class LiveInstance {
 public:
  /// Makes one from tuneonce.live.instance.LiveInstance. Throws for a description of other types.
  static Result<std::unique_ptr<LiveInstance>> Create(const pybind11::object& description, const Device& device,
                                                      const AutotunePolicy& policy);
  LiveInstance(const LiveInstance&) = delete;
  LiveInstance& operator=(const LiveInstance&) = delete;

  /// Returns what is common to calls with arguments like these, of which `values` has those of one call. Throws what
  /// Python raises.
  LiveSignature SignatureOf(const pybind11::list& values) const;

  /// Launches a call, and tunes its key before that if necessary. `read` has the call's tensors. `stream` is the
  /// caller's, or empty for the framework's current one. Returns a new reference to None, or null with an exception
  /// set. `*missed` becomes true if the key was not ready.
  PyObject* Call(const LiveCall& call, KernelCaller::Arguments& read, std::optional<CUstream> stream, bool* missed);

  /// Index of the config of the last launch among the configs of the decorator; -1 before the first one.
  int last_config() const { return last_config_; }
  const pybind11::object& description() const { return description_; }

  /// Returns the call's arguments by parameter. It has `...` for one that the caller left out.
  static pybind11::list ValuesOf(const LiveCall& call);

 private:
  struct Scalar {
    std::size_t parameter;
    DType dtype;
  };
  struct Tensor {
    std::size_t parameter;
    std::size_t index;  ///< Index among the definition's parameters.
  };
  struct Launching;

  explicit LiveInstance(const Device& device) : device_(device) {}
  Result<KernelDefinition> Define();
  void AddScalars(const LiveCall& call, KernelCaller::Arguments& read) const;
  /// Tunes the key of a call and launches it. A capture runs the first config, and sets `*missed` to false.
  PyObject* Tune(const LiveCall& call, KernelCaller::Arguments& read, std::optional<CUstream> stream, bool* missed);
  /// Returns whether the call's stream captures. Leaves Python's exception set.
  bool IsInCapture(KernelCaller::Arguments& read, std::optional<CUstream> stream) const;
  /// Launches the first config on the call's stream.
  PyObject* LaunchInCapture(const LiveCall& call, KernelCaller::Arguments& read, std::optional<CUstream> stream);
  Status Launch(CUstream stream, const Config& config, const CallArguments& arguments);
  /// Launches a config for a call on tensors at the addresses that `words` has.
  Status LaunchConfig(const LiveCall& call, const ArgumentWords& words, CUstream stream, const Config& config);
  Status LaunchIn(Launching& launch);
  /// Waits for the stream on the CPU device, where a hook computes on this thread and not in the stream.
  Status FinishOnCpuDevice(CUstream stream) const;
  Result<std::size_t> IndexOf(const Config& config);
  Result<const LiveCode*> CodeFor(const Launching& launch);
  void AddHeuristics(Launching& launch);
  /// Returns a new dict of the config's constants and the call's arguments by name.
  pybind11::object ArgumentsByName(const Launching& launch) const;
  bool ReadGrid(const Launching& launch, std::uint32_t (&grid)[3]) const;

  Device device_;
  pybind11::object description_;
  std::unique_ptr<KernelCaller> caller_;
  std::vector<pybind11::str> names_;         // By parameter of the call.
  std::vector<bool> is_specialized_;         // By parameter: whether its value may change the code.
  std::vector<std::string> labels_;          // By config that may run.
  std::vector<int> config_indices_;          // By config that may run: its index among all configs.
  std::vector<pybind11::object> constants_;  // By config that may run: a dict of its constants.
  std::vector<Tensor> tensors_;
  std::vector<Scalar> key_scalars_;
  std::size_t call_parameter_ = 0;
  bool has_heuristics_ = false;
  bool has_hooks_ = false;
  std::map<std::string, CompiledKernel> kernels_;  // By name of the code. They stay loaded: launches may run.
  std::vector<pybind11::object> heuristic_values_;
  std::size_t last_label_ = 0;
  int last_config_ = -1;
};

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_LIVE_INSTANCE_H_
