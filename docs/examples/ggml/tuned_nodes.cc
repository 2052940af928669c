#include "tuned_nodes.h"

#include <utility>
#include <vector>

#include "engine_kernels.h"
#include "ggml-backend.h"
#include "ggml-impl.h"  // A graph's nodes, and which may be computed as one: what ggml's own backends ask.

using namespace tuneonce;  // NOLINT(google-build-using-namespace)

namespace {

/// Nodes `first` and the next as the norm and the product by its weights; null if they are none.
const ggml_tensor* WeightsOfNorm(const ggml_cgraph* graph, int first) {
  const ggml_op ops[] = {GGML_OP_RMS_NORM, GGML_OP_MUL};
  if (!ggml_can_fuse(graph, first, ops, 2)) return nullptr;
  const ggml_tensor *norm = graph->nodes[first], *product = graph->nodes[first + 1];
  const ggml_tensor* weights = product->src[product->src[0] == norm ? 1 : 0];
  bool is_ours = norm->src[0]->type == GGML_TYPE_F32 && ggml_is_contiguous(norm->src[0]) &&
                 weights->type == GGML_TYPE_F32 && ggml_nrows(weights) == 1 && weights->ne[0] == norm->ne[0] &&
                 ggml_is_contiguous(weights) && ggml_is_contiguous(product);
  return is_ours ? weights : nullptr;
}

/// A product of one matrix of float16 weights and a few columns. (CUDA's kernel loads eight weights at once.)
bool IsOurProduct(const ggml_tensor* node, bool for_cpu_device) {
  if (node->op != GGML_OP_MUL_MAT) return false;
  const ggml_tensor *w = node->src[0], *x = node->src[1];
  return w->type == GGML_TYPE_F16 && x->type == GGML_TYPE_F32 && node->type == GGML_TYPE_F32 && ggml_is_contiguous(w) &&
         ggml_is_contiguous(x) && ggml_is_matrix(w) && ggml_is_matrix(x) && x->ne[1] <= kMostColumns &&
         (for_cpu_device || w->ne[0] % 8 == 0);
}

/// ggml's extents have the innermost first.
TensorView Rows(const ggml_tensor* tensor, DType dtype) {
  return TensorView::Contiguous(tensor->data, dtype, {ggml_nrows(tensor), tensor->ne[0]});
}

float EpsOf(const ggml_tensor* norm) { return ggml_get_op_params_f32(norm, 0); }

}  // namespace

Result<std::unique_ptr<TunedNodes>> TunedNodes::Create(const std::string& name, const AutotunePolicy& policy) {
  TUNEONCE_ASSIGN_OR_RETURN(Device device, OpenDevice(name));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
  ScopedContext current(context.view());
  TUNEONCE_RETURN_IF_ERROR(current.status());
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel norm, TunedKernel::Create(RmsNormMul(identity.is_cpu_device), policy));
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel product, TunedKernel::Create(MulMat(identity.is_cpu_device), policy));
  return std::unique_ptr<TunedNodes>(new TunedNodes(identity.is_cpu_device, std::move(context), std::move(stream),
                                                    std::move(norm), std::move(product)));
}

TunedNodes::TunedNodes(bool is_cpu_device, Context context, Stream stream, TunedKernel norm, TunedKernel product)
    : is_cpu_device_(is_cpu_device),
      context_(std::move(context)),
      stream_(std::move(stream)),
      norm_(std::move(norm)),
      product_(std::move(product)) {
  hook_.user = this;
  hook_.takes = [](void* user, const ggml_cgraph* graph, int first) {
    return static_cast<TunedNodes*>(user)->NodesTaken(graph, first);
  };
  // What is refused is computed by ggml, so that no error is lost or fatal here.
  hook_.run = [](void* user, const ggml_cgraph* graph, int first, void* stream) {
    auto* nodes = static_cast<TunedNodes*>(user);
    bool ran = nodes->Run(graph, first, static_cast<CUstream>(stream)).ok();
    if (!ran) nodes->refused_.fetch_add(1, std::memory_order_relaxed);
    return ran;
  };
}

TunedNodes::~TunedNodes() { Remove(); }

int TunedNodes::NodesTaken(const ggml_cgraph* graph, int first) const {
  const ggml_tensor* node = graph->nodes[first];
  if (node->op != GGML_OP_RMS_NORM && node->op != GGML_OP_MUL_MAT) return 0;
  // A graph that is not allocated yet has no buffers.
  if (node->buffer != nullptr && ggml_backend_buffer_is_host(node->buffer) != is_cpu_device_) return 0;
  if (node->op == GGML_OP_RMS_NORM) return WeightsOfNorm(graph, first) != nullptr ? 2 : 0;
  return IsOurProduct(node, is_cpu_device_) ? 1 : 0;
}

Status TunedNodes::Run(const ggml_cgraph* graph, int first, CUstream stream) {
  const ggml_tensor* node = graph->nodes[first];
  auto launch = [&](CUstream into) {
    if (node->op == GGML_OP_MUL_MAT) {
      return product_.Launch(into, Rows(node->src[0], kFloat16), Rows(node->src[1], kFloat32), Rows(node, kFloat32));
    }
    const ggml_tensor* weights = WeightsOfNorm(graph, first);
    return norm_.Launch(into, Rows(node->src[0], kFloat32),
                        TensorView::Contiguous(weights->data, kFloat32, {weights->ne[0]}),
                        Rows(graph->nodes[first + 1], kFloat32), EpsOf(node));
  };
  if (!is_cpu_device_) return launch(stream);  // The backend's context is current, and its stream may be capturing.
  ScopedContext current(context_.view());
  TUNEONCE_RETURN_IF_ERROR(launch(stream_.get()));
  return stream_.view().Synchronize();
}

Status TunedNodes::Warmup(const ggml_cgraph* graph) {
  ScopedContext current(context_.view());
  TUNEONCE_RETURN_IF_ERROR(current.status());
  std::vector<TunedKernel::Shape> norms, products;
  for (int i = 0; i < graph->n_nodes; ++i) {
    const ggml_tensor* node = graph->nodes[i];
    if (NodesTaken(graph, i) == 0) continue;
    if (node->op == GGML_OP_RMS_NORM) {
      norms.push_back({{"M", ggml_nrows(node)}, {"N", node->ne[0]}, {"eps", EpsOf(node)}});
    } else {
      products.push_back({{"M", node->ne[1]}, {"N", node->ne[0]}, {"K", node->src[0]->ne[0]}});
    }
  }
  TUNEONCE_RETURN_IF_ERROR(norm_.Warmup(stream_.get(), norms));
  return product_.Warmup(stream_.get(), products);
}

void TunedNodes::Freeze() {
  norm_.Freeze();
  product_.Freeze();
}
