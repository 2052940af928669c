#ifndef TUNEONCE_LIB_CUDA_GRAPH_H_
#define TUNEONCE_LIB_CUDA_GRAPH_H_

#include <cuda.h>

#include <cstddef>
#include <functional>

#include "cuda/driver_handle.h"
#include "tuneonce/device.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Owns an instantiated graph. Move-only. Thread rule: one owner; launches of one graph do not overlap each other.
class GraphExec {
 public:
  /// Captures what `record` puts into `stream` (in RELAXED mode, so that no other thread's capture is disturbed) and
  /// instantiates it. REQUIRES: `stream` is the caller's own, not the legacy stream, and not capturing.
  static Result<GraphExec> Capture(StreamView stream, const std::function<Status(CUstream)>& record);

  Status Launch(CUstream stream) const;
  /// How many kernels, copies, event records and the like it has.
  std::size_t num_nodes() const { return num_nodes_; }

 private:
  GraphExec(const DriverApi& api, CUgraphExec exec, std::size_t num_nodes) : exec_(api, exec), num_nodes_(num_nodes) {}

  DriverHandle<CUgraphExec, &DriverTable::GraphExecDestroy> exec_;
  std::size_t num_nodes_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_CUDA_GRAPH_H_
