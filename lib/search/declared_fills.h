#ifndef TUNEONCE_LIB_SEARCH_DECLARED_FILLS_H_
#define TUNEONCE_LIB_SEARCH_DECLARED_FILLS_H_

#include <cstddef>
#include <map>

#include "search/trial_memory.h"
#include "tuneonce/device.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

/// Fills tensors with what the definition declares for warm-ups (WarmupBytes). Values that do not depend on the dims
/// are made once for each parameter and stay on the device, since making them takes the host longer than a run takes
/// the device. Thread rule: one thread.
class DeclaredFills {
 public:
  /// REQUIRES: `definition` outlives the object.
  DeclaredFills(const KernelDefinition& definition, StreamView stream, TrialMemory memory)
      : definition_(definition), stream_(stream), memory_(std::move(memory)) {}

  /// Fills `buffer`, in its stream's order, as the parameter declares for a tensor like `view`, which is dense.
  /// Errors: those of WarmupBytes; the driver's.
  Status Fill(std::size_t parameter, const Dims& dims, const TensorView& view, const DeviceBuffer& buffer);

 private:
  struct Pattern {
    DType dtype;
    TrialMemory::Block block;
  };

  const KernelDefinition& definition_;
  const StreamView stream_;
  TrialMemory memory_;
  std::map<std::size_t, Pattern> patterns_;  // By parameter.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_DECLARED_FILLS_H_
