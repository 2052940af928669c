// Graphs: instantiation and replay.
#include <algorithm>

#include "context.h"
#include "driver_functions.h"

namespace tuneonce::cpu_device::driver {

CUresult GraphInstantiateWithFlags(CUgraphExec* handle, CUgraph graph_handle, unsigned long long) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckUnsafeCall());
  std::shared_ptr<Graph> graph = Driver::Get().graphs.Find(graph_handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& node : graph->nodes) {
    // The CUDA driver crashes here (docs/internal/driver_rules.md). This one returns an error.
    if (node->is_loadable && !node->is_loadable()) return CUDA_ERROR_INVALID_HANDLE;
  }
  auto exec = std::make_shared<GraphExec>();
  exec->nodes = graph->nodes;
  *handle = Driver::Get().graph_execs.Add<CUgraphExec>(exec);
  return CUDA_SUCCESS;
}

CUresult GraphLaunch(CUgraphExec handle, CUstream stream_handle) {
  std::shared_ptr<Stream> stream;
  TUNEONCE_CPU_RETURN_IF_ERROR(FindStream(stream_handle, &stream));
  std::shared_ptr<GraphExec> exec = Driver::Get().graph_execs.Find(handle);
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Submit(stream, exec->nodes);
}

CUresult GraphExecDestroy(CUgraphExec handle) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckUnsafeCall());
  return Driver::Get().graph_execs.Remove(handle) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult GraphDestroy(CUgraph handle) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  return Driver::Get().graphs.Remove(handle) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult GraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  std::shared_ptr<Graph> graph = Driver::Get().graphs.Find(handle);
  if (graph == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (nodes == nullptr) {
    *count = graph->nodes.size();
    return CUDA_SUCCESS;
  }
  for (std::size_t i = 0; i < *count; ++i) {
    nodes[i] =
        i < graph->nodes.size() ? reinterpret_cast<CUgraphNode>(const_cast<Command*>(graph->nodes[i].get())) : nullptr;
  }
  *count = std::min(*count, graph->nodes.size());
  return CUDA_SUCCESS;
}

}  // namespace tuneonce::cpu_device::driver
