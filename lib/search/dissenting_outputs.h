#ifndef TUNEONCE_LIB_SEARCH_DISSENTING_OUTPUTS_H_
#define TUNEONCE_LIB_SEARCH_DISSENTING_OUTPUTS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "search/output_check.h"
#include "tuneonce/fingerprint.h"

namespace tuneonce {
inline namespace v0 {

/// Outputs of candidates that differ from the reference. Where candidates of different code agree with each other and
/// none agrees with the reference, it is the reference that may be incorrect. Copies of a few outputs are kept, as far
/// as memory allows. Thread rule: one thread.
class DissentingOutputs {
 public:
  /// REQUIRES: all of them outlive it.
  DissentingOutputs(StreamView stream, TrialMemory& memory, ArrayComparer& comparer)
      : stream_(stream), memory_(memory), comparer_(comparer) {}

  /// Takes the outputs that a trial left in scratch that was poisoned with ArrayComparer::kPoisons[0]. Returns how many
  /// candidates of different code, this one included, have computed the same, within tolerance; 0 where it could not be
  /// kept. Waits for the stream. Errors: the driver's.
  Result<int> Add(const KernelDefinition& definition, const TrialTensors& tensors, const Fingerprint& code);
  /// Frees all copies. Later additions are only compared with each other.
  void Clear() { kept_.clear(); }
  bool is_empty() const { return kept_.empty(); }

 private:
  struct Kept {
    std::unique_ptr<OutputCheck> outputs;  // Acts as the reference here.
    std::vector<Fingerprint> codes;        // The codes that computed these outputs, each once.
  };

  StreamView stream_;
  TrialMemory& memory_;
  ArrayComparer& comparer_;
  std::vector<Kept> kept_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_DISSENTING_OUTPUTS_H_
