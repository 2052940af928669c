#ifndef TUNEONCE_LIB_SEARCH_OUTPUT_CHECK_H_
#define TUNEONCE_LIB_SEARCH_OUTPUT_CHECK_H_

#include <optional>
#include <string>
#include <vector>

#include "tuneonce/kernel/split_buffer.h"
#include "tuneonce/measure/verify.h"
#include "tuneonce/search/failure.h"

namespace tuneonce {

/// Checks what a trial wrote: that it stayed within its outputs, and that these are the reference's, which is the
/// baseline's outputs or given ones. Memory and work are in the order of the trials' stream. Thread rule: one thread.
class OutputCheck {
 public:
  explicit OutputCheck(StreamView stream) : stream_(stream), comparer_(stream) {}

  bool has_reference() const { return !outputs_.empty(); }

  /// Takes over what a trial of the baseline left in the scratch of `split`. Errors: ResourceExhausted.
  Status KeepReference(const KernelDefinition& definition, const SplitBuffers& split);
  /// Takes `reference` instead: one tensor per output, in order. It is read here. Errors: InvalidArgument, naming the
  /// output.
  Status KeepGiven(const KernelDefinition& definition, const SplitBuffers& split,
                   const std::vector<TensorView>& reference);

  /// A finding: what kind of failure, and in words.
  struct Finding {
    FailureKind kind;
    std::string message;
  };
  /// What is wrong with the scratch that a trial left; empty if nothing is. Waits for the stream.
  Result<std::optional<Finding>> Check(const SplitBuffers& split);

  /// Outputs whose values cannot be compared, having no dtype: "'y', 'z'". Empty if there are none.
  const std::string& not_compared() const { return not_compared_; }

 private:
  struct Output {
    std::size_t parameter;
    std::string name;
    DType dtype;
    std::uint64_t count;
    bool is_poisoned;  // The reference's memory was.
    double absolute;
    double relative;
    DeviceBuffer reference;
  };

  Status Keep(const KernelDefinition& definition, const SplitBuffers& split, const std::vector<TensorView>* given);
  Result<std::optional<Finding>> CompareOutput(const Output& output, const TensorView& tensor);

  StreamView stream_;
  ArrayComparer comparer_;
  std::vector<Output> outputs_;
  std::string not_compared_;
};

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_OUTPUT_CHECK_H_
