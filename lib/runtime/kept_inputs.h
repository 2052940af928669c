#ifndef TUNEONCE_LIB_RUNTIME_KEPT_INPUTS_H_
#define TUNEONCE_LIB_RUNTIME_KEPT_INPUTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "launch/call_binder.h"
#include "tuneonce/device.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

/// Copies of what one launch read, so that its key can be tuned later on that data. Tensors that overlapped there
/// overlap here, and each copy has the original's address modulo 256 bytes, so that the same variants accept it.
/// InputKeeper makes it. Immutable; freed in the order of the stream that made it.
class KeptInputs {
 public:
  /// The context of the copies, with a private stream, so that the copies do not depend on the host's stream.
  struct Place;
  /// A range of the launch's memory with overlapping tensors. All of it is copied if one of them is read.
  struct Range {
    CUdeviceptr begin;
    CUdeviceptr end;
    bool is_read;
    std::vector<ReachedTensor> tensors;  ///< These point into the KeptInputs.

    /// Returns how many bytes a buffer for it skips to have the original's address modulo 256.
    std::size_t skipped() const { return begin % 256; }
    std::size_t bytes() const { return static_cast<std::size_t>(end - begin); }
  };

  KeptInputs(std::shared_ptr<Place> place, std::size_t bytes);
  ~KeptInputs();
  KeptInputs(const KeptInputs&) = delete;
  KeptInputs& operator=(const KeptInputs&) = delete;

  /// Returns the ranges of the launch's tensors. A range that is only written has no copy.
  const std::vector<Range>& ranges() const { return ranges_; }
  CUdeviceptr CopyOf(std::size_t range) const;
  /// Returns the launch's views that a parameter reaches, at their original addresses: one for a tensor, and the
  /// tensors of the table for a parameter by pointers.
  const std::vector<TensorView>& views(std::size_t parameter) const { return views_[parameter]; }

  /// Makes work that is enqueued on `stream` from now on see the copies. Errors: FailedPrecondition in another context
  /// than the launch's.
  Status BeginUse(StreamView stream) const;
  /// Keeps the copies until `stream` has executed its current work.
  Status EndUse(StreamView stream) const;

 private:
  friend class InputKeeper;

  const std::shared_ptr<Place> place_;
  const std::size_t bytes_;
  std::vector<Range> ranges_;
  std::vector<DeviceBuffer> buffers_;           // By range.
  std::vector<std::vector<TensorView>> views_;  // By parameter.
};

/// Makes KeptInputs within a budget. REQUIRES: the definition outlives it. Thread-safe.
class InputKeeper {
 public:
  /// `budget_bytes` limits all copies together in each context.
  InputKeeper(const KernelDefinition& definition, std::size_t budget_bytes)
      : definition_(definition), budget_bytes_(budget_bytes) {}

  /// Copies what the call reads, after the current work of `stream` and before its later work, without waiting. Errors:
  /// ResourceExhausted; InvalidArgument for memory of unknown size; the driver's. REQUIRES: `stream` does not capture.
  Result<std::shared_ptr<const KeptInputs>> Keep(StreamView stream, const BoundCall& call);
  /// Returns the bytes that copies hold now in all contexts.
  std::int64_t bytes() const;

 private:
  Result<std::shared_ptr<KeptInputs::Place>> PlaceHere(const DriverApi& api);

  const KernelDefinition& definition_;
  const std::size_t budget_bytes_;
  mutable Mutex mutex_;
  // By the context's id.
  std::map<unsigned long long, std::shared_ptr<KeptInputs::Place>> places_ TUNEONCE_GUARDED_BY(mutex_);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_KEPT_INPUTS_H_
