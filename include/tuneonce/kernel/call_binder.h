#ifndef TUNEONCE_KERNEL_CALL_BINDER_H_
#define TUNEONCE_KERNEL_CALL_BINDER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tuneonce/base/result.h"
#include "tuneonce/kernel/argument.h"
#include "tuneonce/kernel/kernel_definition.h"

namespace tuneonce {

/// One launch's arguments, checked and understood. Lives on the stack of the launch; points into the caller's
/// arguments. Not initialized: CallBinder::Bind sets as many entries as the definition has parameters.
struct BoundCall {
  Problem problem;
  /// By parameter; null for those that are no tensor.
  std::array<const TensorView*, kMaxParameters> tensors;
  /// By parameter: the scalar's bytes; null for those that the caller does not pass as a scalar.
  std::array<const void*, kMaxParameters> scalars;

  void ResetParameter(std::size_t i) {
    problem.dtypes[i] = DType::kAny;
    tensors[i] = nullptr;
    scalars[i] = nullptr;
  }
};

/// Matches Launch's arguments with a definition's parameters: count, kinds, dtypes, ranks; binds dims from shapes and
/// checks that they agree. Made once per TunedKernel; Bind is the first part of the hot path.
/// REQUIRES: the definition outlives it and was validated. Thread rule: immutable; any thread.
class TUNEONCE_API CallBinder {
 public:
  explicit CallBinder(const KernelDefinition& definition);

  /// Fills `call` (but for problem.target, which the caller sets). Errors: InvalidArgument, naming the parameter and
  /// what was expected.
  Status Bind(const Argument* arguments, std::size_t count, BoundCall* call) const;

  /// Number of arguments that the caller passes (tensors and scalars).
  std::size_t num_arguments() const { return expected_.size(); }

  /// Words of the key for a bound call: one per part of the recipe, dims rounded to their bucket.
  void KeyWords(const BoundCall& call, std::uint64_t* words) const;
  std::size_t num_key_words() const { return key_.size(); }

 private:
  struct Expected {
    int parameter;                           // Index in the definition.
    std::uint32_t kind;                      // Argument::kind.
    DType dtype;                             // kAny: not checked.
    int rank;                                // -1: not checked.
    std::array<std::int8_t, kMaxRank> dims;  // Index of each dimension's dim.
  };
  struct KeyWord {
    KeyPart part;
    int index;  // Of the dim, or of the parameter.
  };

  Status Mismatch(std::size_t argument, const Argument& given) const;

  const KernelDefinition* definition_;
  int num_dims_;
  std::vector<Expected> expected_;
  std::vector<int> not_passed_;  // Parameters that the caller does not pass.
  std::vector<KeyWord> key_;
};

}  // namespace tuneonce

#endif  // TUNEONCE_KERNEL_CALL_BINDER_H_
