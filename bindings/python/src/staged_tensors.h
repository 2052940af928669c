#ifndef TUNEONCE_BINDINGS_PYTHON_STAGED_TENSORS_H_
#define TUNEONCE_BINDINGS_PYTHON_STAGED_TENSORS_H_

#include <vector>

#include "tuneonce/arguments.h"
#include "tuneonce/device.h"

namespace tuneonce::python {

/// Copies of host arrays in the CPU device's memory for one launch, because that driver, like CUDA's, launches on
/// device memory only. Arrays that share memory share it there too, so that the kernel sees the overlap and the copy of
/// one array does not undo writes to the other. Thread rule: one thread.
class StagedTensors {
 public:
  /// Copies `host` in: an array at an address that does not suit its elements gets one that does. REQUIRES: each has
  /// elements; the stream and the host's memory outlive the object. Errors: InvalidArgument for arrays that overlap
  /// where no address suits both; the device's.
  static Result<StagedTensors> Create(const std::vector<TensorView>& host, StreamView stream);

  /// The i-th one, staged.
  const TensorView& view(std::size_t i) const { return views_[i]; }
  /// Waits for the stream, and writes the elements of the i-th to the host's memory; nothing of what lies in its gaps.
  Status CopyBack(std::size_t i) const;

 private:
  StagedTensors() = default;

  std::vector<TensorView> host_;
  std::vector<TensorView> views_;
  std::vector<DeviceBuffer> buffers_;  // One per range of memory.
};

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_STAGED_TENSORS_H_
