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

/// A range of the caller's memory, and how it is used.
struct TensorRange {
  CUdeviceptr begin;
  CUdeviceptr end;
  bool written;
  bool read;                           ///< Its bytes before a launch matter.
  std::vector<ReachedTensor> tensors;  ///< The tensors in it, which point into the call.
};

/// A write of a trial outside of its outputs.
struct StrayWrite {
  OutcomeKind kind;
  std::string message;
};

/// The bytes of a range of scratch that are not elements of an output: gaps between rows, inputs in the range, or the
/// part of an input that no output overlaps. A kernel must not change them. A mask on the device, with a bit for each
/// granule of the range, marks them for any strides and any number of tensors in the range. Move-only. Thread rule: one
/// thread.
class OutputGaps {
 public:
  /// Makes the gaps of a range that is written. Returns nothing, at no cost, if outputs cover the whole range. `range`
  /// is of the caller's tensors. Errors: ResourceExhausted.
  static Result<std::optional<OutputGaps>> Create(const KernelDefinition& definition, const TensorRange& range,
                                                  TrialMemory& memory, StreamView stream);

  /// Returns what was written in the gaps of `scratch`, the copy of the range. Before the run these bytes equaled those
  /// at `original`, or `fill` if that is 0. Waits for the stream. Errors: the driver's.
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
