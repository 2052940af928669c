#ifndef TUNEONCE_LIB_RUNTIME_BUCKET_CALL_H_
#define TUNEONCE_LIB_RUNTIME_BUCKET_CALL_H_

#include <vector>

#include "launch/call_binder.h"
#include "search/trial_memory.h"

namespace tuneonce {

/// A call like the caller's, but with the dims of its bucket's upper bound: what a bucket is tuned at. Its tensors are
/// row-major scratch memory; inputs are filled with the caller's elements, repeated, so that indices stay indices: with
/// all of them, or of a tensor with gaps with the first ones. The memory is in the order of a stream, which outlives the object.
class BucketCall {
 public:
  /// Errors: ResourceExhausted if `memory`, or the device's, does not allow it.
  static Result<BucketCall> Create(const KernelDefinition& definition, const BoundCall& call, StreamView stream,
                                   TrialMemory& memory);

  const BoundCall& call() const { return call_; }

  /// The dims that the definition's key rounds `dims` to.
  static Dims BoundOf(const KernelDefinition& definition, const Dims& dims);

 private:
  BucketCall() = default;

  BoundCall call_;
  std::vector<TensorView> views_;  // What call_ points to; never grows after Create.
  std::vector<TrialMemory::Block> blocks_;
};

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_BUCKET_CALL_H_
