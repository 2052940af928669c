#ifndef TUNEONCE_LIB_SEARCH_OUTPUT_GAPS_H_
#define TUNEONCE_LIB_SEARCH_OUTPUT_GAPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/call_binder.h"
#include "measure/verify.h"
#include "search/trial_memory.h"
#include "tuneonce/trial.h"

namespace tuneonce {
inline namespace v0 {

/// A range of the caller's memory, and who uses it.
struct TensorRange {
  CUdeviceptr begin;
  CUdeviceptr end;
  bool written;
  bool read;                           ///< What is there before a launch matters.
  std::vector<ReachedTensor> tensors;  ///< Those that lie in it; they point into the call.
};

/// What a trial wrote that is not its own.
struct StrayWrite {
  FailureKind kind;
  std::string message;
};

/// The bytes of a range of scratch that are no element of an output: gaps between rows, inputs that lie there, the part
/// of an input that an output does not overlap. A kernel must leave them as they are. A mask on the device, of a bit
/// for each unit of the range, says which these are, whatever the strides of the tensors are and however many share the
/// range. Move-only. Thread rule: one thread.
class OutputGaps {
 public:
  /// Those of a range that is written. Empty, at no cost, if outputs cover all of it. `range`: of the caller's tensors.
  /// Errors: ResourceExhausted.
  static Result<std::optional<OutputGaps>> Create(const KernelDefinition& definition, const TensorRange& range,
                                                  TrialMemory& memory, StreamView stream);

  /// What was written there in `scratch`, where the range's copy lies. Before the run these bytes were those at
  /// `original`, or all `fill` where that is 0. Waits for the stream. Errors: the driver's.
  Result<std::optional<StrayWrite>> Find(ArrayComparer& comparer, CUdeviceptr scratch, CUdeviceptr original,
                                         unsigned char fill) const;

 private:
  /// A tensor of the range, for messages. The caller's views do not live as long.
  struct Place {
    std::string name;  // "'y'".
    bool is_input;
    std::uint64_t offset;  // In the range, in bytes.
    TensorView tensor;
  };

  OutputGaps(std::vector<Place> places, TrialMemory::Block mask, int granule, std::uint64_t count)
      : places_(std::move(places)), mask_(std::move(mask)), granule_(granule), count_(count) {}
  std::string NamesOfOutputs() const;

  std::vector<Place> places_;
  TrialMemory::Block mask_;
  int granule_;
  std::uint64_t count_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_OUTPUT_GAPS_H_
