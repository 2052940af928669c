#include "decode_graph.h"

#include <algorithm>
#include <cstdint>

namespace {

constexpr std::size_t kMostTensors = 4096;

ggml_context_ptr MakeContext() {
  ggml_init_params params = {kMostTensors * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true};
  return ggml_context_ptr(ggml_init(params));
}

/// Numbers between -0.5 and 0.5, the same everywhere. Tensors repeat them: a step's weights are billions, which nobody
/// waits for. Their count is a prime, so that no two rows are equal.
template <typename T, typename Convert>
std::vector<T> MakeNumbers(const Convert& convert) {
  std::vector<T> numbers(1048573);
  std::uint32_t seed = 1;
  for (T& number : numbers) {
    seed = seed * 1664525u + 1013904223u;
    number = convert(static_cast<float>(seed >> 8) / (1 << 24) - 0.5f);
  }
  return numbers;
}

/// Copies from `numbers`, beginning at another one for each `tensor_index`.
template <typename T>
void Repeat(ggml_tensor* tensor, const std::vector<T>& numbers, std::size_t tensor_index) {
  auto count = static_cast<std::size_t>(ggml_nelements(tensor));
  std::vector<T> filled(count);
  std::size_t from = tensor_index * 104729 % numbers.size();
  for (std::size_t at = 0; at < count; from = 0) {
    std::size_t part = std::min(count - at, numbers.size() - from);
    std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(from), part,
                filled.begin() + static_cast<std::ptrdiff_t>(at));
    at += part;
  }
  ggml_backend_tensor_set(tensor, filled.data(), 0, ggml_nbytes(tensor));
}

void Fill(ggml_tensor* tensor, std::size_t tensor_index) {
  static const auto floats = MakeNumbers<float>([](float number) { return number; });
  static const auto halves = MakeNumbers<ggml_fp16_t>(ggml_fp32_to_fp16);
  if (tensor->type == GGML_TYPE_F32) return Repeat(tensor, floats, tensor_index);
  Repeat(tensor, halves, tensor_index);
}

}  // namespace

BackendGraph::BackendGraph(ggml_backend_t backend)
    : backend_(backend), context_(MakeContext()), inputs_context_(MakeContext()) {}

ggml_tensor* BackendGraph::Input(ggml_type type, std::vector<std::int64_t> extents) {
  inputs_.push_back(ggml_new_tensor(inputs_context_.get(), type, static_cast<int>(extents.size()), extents.data()));
  return inputs_.back();
}

void BackendGraph::Expand(ggml_tensor* output) {
  output_ = output;
  ggml_set_output(output);
  graph_ = ggml_new_graph(context_.get());
  ggml_build_forward_expand(graph_, output);
}

bool BackendGraph::Finish(ggml_tensor* output) {
  Expand(output);
  inputs_buffer_.reset(ggml_backend_alloc_ctx_tensors(inputs_context_.get(), backend_));
  allocator_.reset(ggml_gallocr_new(ggml_backend_get_default_buffer_type(backend_)));
  if (inputs_buffer_ == nullptr || !ggml_gallocr_alloc_graph(allocator_.get(), graph_)) return false;
  for (std::size_t i = 0; i < inputs_.size(); ++i) Fill(inputs_[i], i);
  return true;
}

std::vector<float> BackendGraph::Output() const {
  std::vector<float> values(static_cast<std::size_t>(ggml_nelements(output_)));
  ggml_backend_tensor_get(output_, values.data(), 0, ggml_nbytes(output_));
  return values;
}

ggml_tensor* DecodeStep(BackendGraph* graph, const DecodeExtents& e) {
  constexpr float kEps = 1e-5f;
  ggml_context* context = graph->context();
  auto weights = [&](int from, int to) { return graph->Input(GGML_TYPE_F16, {from, to}); };
  auto norm = [&](ggml_tensor* x) {
    return ggml_mul(context, ggml_rms_norm(context, x, kEps), graph->Input(GGML_TYPE_F32, {e.width}));
  };
  ggml_tensor* x = graph->Input(GGML_TYPE_F32, {e.width, e.tokens});
  for (int layer = 0; layer < e.layers; ++layer) {
    x = ggml_add(context, x, ggml_mul_mat(context, weights(e.width, e.width), norm(x)));
    ggml_tensor* h = norm(x);
    ggml_tensor* gate = ggml_silu(context, ggml_mul_mat(context, weights(e.width, e.inner), h));
    ggml_tensor* up = ggml_mul_mat(context, weights(e.width, e.inner), h);
    ggml_tensor* down = ggml_mul_mat(context, weights(e.inner, e.width), ggml_mul(context, gate, up));
    // So that numbers stay of one size through many layers of random weights.
    x = ggml_add(context, x, ggml_scale(context, down, 1.0f / static_cast<float>(e.inner)));
  }
  return x;
}
