#ifndef TUNEONCE_KERNEL_SPLIT_BUFFER_H_
#define TUNEONCE_KERNEL_SPLIT_BUFFER_H_

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "tuneonce/base/result.h"
#include "tuneonce/cuda/device_buffer.h"
#include "tuneonce/kernel/call_binder.h"

namespace tuneonce {

/// Splits a call's outputs from the caller's memory for the time of a search: outputs go to scratch, and an InOut
/// starts each trial from its original bytes, so that the caller's data stays untouched whatever a candidate does.
///
/// Tensors that share memory keep sharing it: arguments whose byte ranges overlap, at least one of them written, move
/// to scratch together. Scratch lies between red zones, which show writes outside of it. All work is in the order of
/// one stream, which must outlive this object; the scratch memory is freed at its end. Thread rule: one thread.
class TUNEONCE_API SplitBuffers {
 public:
  /// InvalidArgument for an output whose size is not known, naming the parameter: it could not get scratch.
  static Status CheckSizes(const KernelDefinition& definition, const BoundCall& call);

  /// REQUIRES: `call` and `definition` outlive it. Errors: those of CheckSizes;
  /// ResourceExhausted.
  static Result<SplitBuffers> Create(const KernelDefinition& definition, const BoundCall& call, StreamView stream);

  /// The call to use in trials: the same, but for the tensors that moved.
  const BoundCall& trial_call() const { return trial_call_; }
  /// Puts into the stream what a trial needs before its launch: the original bytes of every InOut. Not to be timed.
  Status Restore() const;
  /// True if Restore copies anything.
  bool needs_restore() const { return !restores_.empty(); }
  /// Fills every scratch that Restore does not fill with `value`, so that elements that a trial does not write show.
  Status Poison(unsigned char value) const;
  /// True if the tensor of this parameter is in scratch that Poison fills.
  bool is_poisoned(std::size_t parameter) const { return is_poisoned_[parameter]; }
  /// Empty, or which parameter was written outside, before or behind it. Waits for the stream. Mends the zones.
  Result<std::string> FindStrayWrite() const;

  SplitBuffers(SplitBuffers&&) noexcept = default;
  SplitBuffers& operator=(SplitBuffers&&) noexcept = default;

 private:
  struct Scratch {
    DeviceBuffer buffer;  // Red zone, memory, red zone.
    std::size_t bytes;    // Of the memory.
    std::string names;    // Of the parameters in it.
  };
  struct RestoreStep {
    std::size_t scratch;  // Index in scratch_.
    CUdeviceptr original;
    std::size_t bytes;
  };

  SplitBuffers() = default;
  static Result<Scratch> AllocateScratch(std::size_t bytes, StreamView stream);
  static Status FillRedZones(const Scratch& scratch);

  BoundCall trial_call_;
  std::vector<TensorView> moved_;  // What trial_call_ points to; never grows after Create.
  std::vector<Scratch> scratch_;
  std::vector<RestoreStep> restores_;
  std::array<bool, kMaxParameters> is_poisoned_{};
};

}  // namespace tuneonce

#endif  // TUNEONCE_KERNEL_SPLIT_BUFFER_H_
