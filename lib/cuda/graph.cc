#include "cuda/graph.h"

#include "cuda/driver_api.h"

namespace tuneonce {
inline namespace v0 {

Result<GraphExec> GraphExec::Capture(StreamView stream, const std::function<Status(CUstream)>& record) {
  const DriverApi& api = stream.api();
  RelaxedDriver driver(api);
  TUNEONCE_CUDA_RETURN_IF_ERROR(api, StreamBeginCapture(stream.get(), CU_STREAM_CAPTURE_MODE_RELAXED));
  Status recorded = record(stream.get());
  CUgraph graph = nullptr;
  CUresult ended = driver->StreamEndCapture(stream.get(), &graph);
  CUgraphExec exec = nullptr;
  CUresult instantiated = CUDA_SUCCESS;
  std::size_t num_nodes = 0;
  if (recorded.ok() && ended == CUDA_SUCCESS) {
    instantiated = driver->GraphGetNodes(graph, nullptr, &num_nodes);
    if (instantiated == CUDA_SUCCESS) instantiated = driver->GraphInstantiateWithFlags(&exec, graph, 0);
  }
  if (graph != nullptr) driver->GraphDestroy(graph);
  if (!recorded.ok()) return recorded;
  if (ended != CUDA_SUCCESS) return CudaStatus(api, ended, "cuStreamEndCapture");
  if (instantiated != CUDA_SUCCESS) return CudaStatus(api, instantiated, "cuGraphInstantiate");
  return GraphExec(api, exec, num_nodes);
}

Status GraphExec::Launch(CUstream stream) const {
  return TUNEONCE_CUDA_STATUS(exec_.api(), GraphLaunch(exec_.get(), stream));
}

}  // namespace v0
}  // namespace tuneonce
