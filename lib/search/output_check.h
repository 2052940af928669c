#ifndef TUNEONCE_LIB_SEARCH_OUTPUT_CHECK_H_
#define TUNEONCE_LIB_SEARCH_OUTPUT_CHECK_H_

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/verify.h"
#include "search/trial_tensors.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// Compares what trials wrote with the reference: the outputs of a trial of the baseline, or given ones. Memory and
/// work are in the order of the trials' stream. Thread rule: one thread.
class OutputCheck {
 public:
  /// REQUIRES: all of them outlive it.
  OutputCheck(StreamView stream, TrialMemory& memory, ArrayComparer& comparer)
      : stream_(stream), memory_(memory), comparer_(comparer) {}

  /// Takes over what a trial left in scratch; before KeepPartial, poisoned with ArrayComparer::kPoisons[0]. Errors:
  /// ResourceExhausted.
  Status Keep(const KernelDefinition& definition, const TrialTensors& tensors);
  /// Keeps the outputs of the next trial, whose scratch was poisoned with kPoisons[1], for outputs that may be partial:
  /// an element that has the poison in both was not written. REQUIRES: Keep was called.
  Status KeepPartial(const KernelDefinition& definition, const TrialTensors& tensors);
  /// Takes `reference` instead: one tensor per output, in order. It is read here. Errors: InvalidArgument, naming the
  /// output; ResourceExhausted.
  Status KeepGiven(const KernelDefinition& definition, const TrialTensors& tensors,
                   const std::vector<TensorView>& reference);

  /// The kind of a failure, and its message.
  struct Finding {
    OutcomeKind kind;
    std::string message;
  };
  /// Returns the first failure of a trial's outputs, whose scratch was poisoned with kPoisons[poison], or nothing.
  /// `largest` is raised to the largest difference. `reference` is the name of the reference in messages. Waits for the
  /// stream.
  Result<std::optional<Finding>> Check(const KernelDefinition& definition, const TrialTensors& tensors, int poison,
                                       const std::string& reference, std::optional<OutputDifference>* largest);
  /// After Keep, and another trial with kPoisons[1], of the same kernel: only whether elements were written in neither.
  Result<std::optional<Finding>> FindUnwritten(const KernelDefinition& definition, const TrialTensors& tensors);

  /// Outputs whose values cannot be compared, and why, one line each.
  const std::vector<std::string>& not_compared() const { return not_compared_; }

 private:
  struct Output {
    std::size_t ordinal;  // Its place among its kernel's outputs: those of another kernel may be other parameters.
    std::string name;     // "'y'", "'c' (tensor 3)".
    TensorView tensor;    // A tensor of the reference's trial, for its type and size.
    ArrayLayout layout;
    Tolerance tolerance;
    bool is_partial;
    // By poison. The second one exists if the output may be partial.
    std::array<std::optional<TrialMemory::Block>, 2> references;
  };

  Status Keep(const KernelDefinition& definition, const TrialTensors& tensors, const std::vector<TensorView>* given);
  /// `reached`: the output among the tensors of the trial's kernel.
  Result<Comparison> Compare(const Output& output, const ReachedTensor& reached, const TrialTensors& tensors,
                             int poison);
  Result<TrialMemory::Block> Copy(const TensorView& tensor);

  StreamView stream_;
  TrialMemory& memory_;
  ArrayComparer& comparer_;
  std::vector<Output> outputs_;
  std::vector<std::string> not_compared_;
};

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

#endif  // TUNEONCE_LIB_SEARCH_OUTPUT_CHECK_H_
