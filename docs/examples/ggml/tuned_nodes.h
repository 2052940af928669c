#ifndef TUNEONCE_EXAMPLE_TUNED_NODES_H_
#define TUNEONCE_EXAMPLE_TUNED_NODES_H_

#include <atomic>
#include <memory>
#include <string>

#include "ggml.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/tuned_kernel.h"

/// Tuned kernels in place of ggml's own, for nodes of a graph that they suit: RMS_NORM followed by MUL, and MUL_MAT of
/// a few columns by float16 weights. All other nodes, and those that a kernel refuses, are left to ggml's backend.
///
/// While it lives and is installed, it is ggml's node hook (node_hook.patch), of which there is one. A backend's memory
/// decides what is taken: nodes in host memory for the CPU device, in device memory for CUDA.
///
/// Order: Create, Warmup on each graph that will run, Freeze, Install. Thread rule: the hook may be called by any of
/// ggml's threads; the rest by one, while no graph is computed.
class TunedNodes {
 public:
  /// `device`: "cpu" or "cuda". Errors: those of OpenDevice and TunedKernel::Create.
  static tuneonce::Result<std::unique_ptr<TunedNodes>> Create(const std::string& device,
                                                              const tuneonce::AutotunePolicy& policy = {});
  ~TunedNodes();
  TunedNodes(const TunedNodes&) = delete;
  TunedNodes& operator=(const TunedNodes&) = delete;

  /// Tunes each key of `graph`'s nodes, or takes it from the store. By shape: the graph's tensors are not touched, and
  /// its buffers need not be allocated. Errors: the first shape's that could not be tuned.
  tuneonce::Status Warmup(const ggml_cgraph* graph);
  /// From now on nothing is tuned: nodes of a shape that was not warmed up run the fallback.
  void Freeze();
  void Install() { ggml_set_node_hook(&hook_); }
  void Remove() const {
    if (ggml_get_node_hook() == &hook_) ggml_set_node_hook(nullptr);
  }

  const tuneonce::TunedKernel& norm() const { return norm_; }
  const tuneonce::TunedKernel& product() const { return product_; }
  /// Nodes that a kernel refused, so that ggml computed them.
  long refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  TunedNodes(bool is_cpu_device, tuneonce::Context context, tuneonce::Stream stream, tuneonce::TunedKernel norm,
             tuneonce::TunedKernel product);

  int NodesTaken(const ggml_cgraph* graph, int first) const;
  tuneonce::Status Run(const ggml_cgraph* graph, int first, CUstream stream);

  bool is_cpu_device_;
  tuneonce::Context context_;
  tuneonce::Stream stream_;  ///< The CPU device's; CUDA's nodes go into the backend's.
  tuneonce::TunedKernel norm_;
  tuneonce::TunedKernel product_;
  std::atomic<long> refused_{0};
  ggml_node_hook hook_;
};

#endif  // TUNEONCE_EXAMPLE_TUNED_NODES_H_
