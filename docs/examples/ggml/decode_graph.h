#ifndef TUNEONCE_EXAMPLE_DECODE_GRAPH_H_
#define TUNEONCE_EXAMPLE_DECODE_GRAPH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpp.h"

/// Tensors of one backend and a graph over them: what ggml's users write by hand. Build it with `context()`, end with
/// Finish, or with Expand where nothing is computed. Thread rule: one thread.
class BackendGraph {
 public:
  /// REQUIRES: `backend` outlives it.
  explicit BackendGraph(ggml_backend_t backend);

  ggml_context* context() const { return context_.get(); }
  /// A weight or an input; after Finish it holds reproducible numbers between -0.5 and 0.5.
  ggml_tensor* Input(ggml_type type, std::vector<std::int64_t> extents);
  /// Makes `output` what graph() computes; no tensor has memory.
  void Expand(ggml_tensor* output);
  /// Expand, and allocates. False: the backend has no memory for it.
  bool Finish(ggml_tensor* output);
  ggml_cgraph* graph() const { return graph_; }
  /// Runs the graph and waits. False: the backend failed.
  bool Compute() { return ggml_backend_graph_compute(backend_, graph_) == GGML_STATUS_SUCCESS; }
  std::vector<float> Output() const;

 private:
  ggml_backend_t backend_;
  ggml_context_ptr context_, inputs_context_;
  std::vector<ggml_tensor*> inputs_;
  ggml_backend_buffer_ptr inputs_buffer_;
  ggml_gallocr_ptr allocator_;
  ggml_cgraph* graph_ = nullptr;
  ggml_tensor* output_ = nullptr;
};

/// The extents of a language model whose decode step DecodeStep is.
struct DecodeExtents {
  int layers = 4, width = 4096, inner = 14336, tokens = 1;
};
/// A decode step but for its attention: in each layer norm, output projection, norm, and the gated feed-forward part,
/// with float16 weights. Returns its output.
ggml_tensor* DecodeStep(BackendGraph* graph, const DecodeExtents& extents);

#endif  // TUNEONCE_EXAMPLE_DECODE_GRAPH_H_
