#ifndef TUNEONCE_LIB_RUNTIME_KEPT_INPUTS_H_
#define TUNEONCE_LIB_RUNTIME_KEPT_INPUTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "launch/call_binder.h"
#include "tuneonce/device_buffer.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/stream.h"

namespace tuneonce {
inline namespace v0 {

/// Copies of what one launch read, so that its key is tuned later on the data that the launch had. Tensors that overlap
/// there overlap here, and each lies as its original does to 256 bytes, so that the same variants suit. Made by
/// InputKeeper. Immutable; freed in the order of the stream that made it.
class KeptInputs {
 public:
  /// The context that copies are made in, with a stream of ours: whatever the host's stream becomes, the copies live.
  struct Place;
  /// Tensors of the launch that overlap; all of it is copied if one of them is read.
  struct Range {
    CUdeviceptr begin;
    CUdeviceptr end;
    bool is_read;
    std::vector<ReachedTensor> tensors;  ///< Point into the KeptInputs.

    /// What a buffer for it skips, so that it lies as the original does.
    std::size_t skipped() const { return begin % 256; }
    std::size_t bytes() const { return static_cast<std::size_t>(end - begin); }
  };

  KeptInputs(std::shared_ptr<Place> place, std::size_t bytes);
  ~KeptInputs();
  KeptInputs(const KeptInputs&) = delete;
  KeptInputs& operator=(const KeptInputs&) = delete;

  /// The ranges of the launch's tensors, and for each its copy; none for one that is only written.
  const std::vector<Range>& ranges() const { return ranges_; }
  CUdeviceptr CopyOf(std::size_t range) const;
  /// The launch's views of all that it reached by a parameter, at their own addresses: of a tensor one, of a parameter
  /// by pointers its tensors.
  const std::vector<TensorView>& views(std::size_t parameter) const { return views_[parameter]; }

  /// What is put into `stream` from now on finds the copies made. Errors: FailedPrecondition in another context than
  /// the launch's.
  Status BeginUse(StreamView stream) const;
  /// The copies outlive what `stream` holds now.
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
  /// `budget_bytes`: in each context, all copies together.
  InputKeeper(const KernelDefinition& definition, std::size_t budget_bytes)
      : definition_(definition), budget_bytes_(budget_bytes) {}

  /// Copies what the call reads, behind what `stream` holds and before what is put into it next. Waits for nothing.
  /// Errors: ResourceExhausted; InvalidArgument for memory of unknown size; the driver's. REQUIRES: `stream` does not
  /// capture.
  Result<std::shared_ptr<const KeptInputs>> Keep(StreamView stream, const BoundCall& call);
  /// Held now, in all contexts.
  std::int64_t bytes() const;

 private:
  Result<std::shared_ptr<KeptInputs::Place>> PlaceHere(const DriverApi& api);

  const KernelDefinition& definition_;
  const std::size_t budget_bytes_;
  mutable Mutex mutex_;
  std::map<unsigned long long, std::shared_ptr<KeptInputs::Place>> places_ TUNEONCE_GUARDED_BY(mutex_);  // By context.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_KEPT_INPUTS_H_
