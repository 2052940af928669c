#ifndef TUNEONCE_KERNEL_CALL_BINDER_H_
#define TUNEONCE_KERNEL_CALL_BINDER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
  Status Bind(const Argument* arguments, std::size_t count, BoundCall* call) const {
    if (count != expected_.size()) return WrongCount(count);
    Dims& dims = call->problem.dims;
    dims.SetCount(num_dims_);  // Each is bound below: Validate sees to it.
    for (int parameter : not_passed_) call->ResetParameter(static_cast<std::size_t>(parameter));
    for (std::size_t i = 0; i < count; ++i) {
      const Expected expected = expected_[i];
      const Argument& argument = arguments[i];
      if (argument.kind() != expected.kind) return Mismatch(i, argument);
      if (expected.kind != Argument::kTensor) {
        call->tensors[expected.parameter] = nullptr;
        call->scalars[expected.parameter] = argument.scalar();
        call->problem.dtypes[expected.parameter] = expected.dtype;
        continue;
      }
      const TensorView& tensor = argument.tensor();
      if ((expected.dtype != DType::kAny && tensor.dtype != expected.dtype) ||
          (expected.has_rank && tensor.rank != expected.rank)) {
        return Mismatch(i, argument);
      }
      if (tensor.data == nullptr) return NullPointer(i);
      call->tensors[expected.parameter] = &tensor;
      call->scalars[expected.parameter] = nullptr;
      call->problem.dtypes[expected.parameter] = tensor.dtype;
      for (std::size_t d = 0; d < expected.rank; ++d) {
        std::int64_t& dim = dims[Dim{expected.dims[d]}];
        std::int64_t extent = tensor.shape[d];
        if (extent < 1) return BadExtent(i, d, tensor, 0);
        if (((expected.bound_before >> d) & 1) != 0 && dim != extent) return BadExtent(i, d, tensor, dim);
        dim = extent;
      }
    }
    return Status();
  }

  /// Words of the key for a bound call: one per part of the recipe, dims rounded to their bucket.
  void KeyWords(const BoundCall& call, std::uint64_t* words) const { Write(key_, call, words); }
  std::size_t num_key_words() const { return key_.size(); }
  /// Those of them that can differ between calls (a declared dtype cannot): what tells resident keys apart.
  void VaryingKeyWords(const BoundCall& call, std::uint64_t* words) const { Write(varying_key_, call, words); }
  std::size_t num_varying_key_words() const { return varying_key_.size(); }
  /// True if calls with the same key words have the same dims and dtypes, so that all that is computed from these can
  /// be computed once per key.
  bool key_decides_problem() const { return key_decides_problem_; }

 private:
  struct Expected {
    std::uint32_t kind;      // Argument::kind.
    std::uint8_t parameter;  // Index in the definition.
    DType dtype;             // kAny: not checked.
    bool has_rank;           // False: raw memory of any shape, rank 0.
    std::uint8_t rank;
    std::uint8_t bound_before;                // Bit d: the dim of dimension d has its value from an earlier one.
    std::array<std::uint8_t, kMaxRank> dims;  // Index of each dimension's dim.
  };
  struct KeyWord {
    KeyPart::Kind kind;
    KeyPart::Bucket bucket;
    std::uint8_t index;  // Of the dim, or of the parameter.
    std::uint8_t bytes;  // kValue: of the scalar.
  };
  static_assert(kMaxRank <= 8, "bound_before has 8 bits");

  static void Write(const std::vector<KeyWord>& key, const BoundCall& call, std::uint64_t* words) {
    for (const KeyWord& word : key) {
      switch (word.kind) {
        case KeyPart::Kind::kDim:
          *words = static_cast<std::uint64_t>(KeyPart::Round(word.bucket, call.problem.dims[Dim{word.index}]));
          break;
        case KeyPart::Kind::kDType:
          *words = static_cast<std::uint64_t>(call.problem.dtypes[word.index]);
          break;
        case KeyPart::Kind::kValue:
          *words = 0;
          std::memcpy(words, call.scalars[word.index], word.bytes);
          break;
      }
      ++words;
    }
  }

  Status WrongCount(std::size_t count) const;
  Status Mismatch(std::size_t argument, const Argument& given) const;
  Status NullPointer(std::size_t argument) const;
  /// `bound`: the dim's value from before, or 0 if `tensor`'s extent is itself wrong.
  Status BadExtent(std::size_t argument, std::size_t dimension, const TensorView& tensor, std::int64_t bound) const;

  const KernelDefinition* definition_;
  int num_dims_;
  std::vector<Expected> expected_;
  std::vector<int> not_passed_;  // Parameters that the caller does not pass.
  std::vector<KeyWord> key_;
  std::vector<KeyWord> varying_key_;
  bool key_decides_problem_ = false;
};

}  // namespace tuneonce

#endif  // TUNEONCE_KERNEL_CALL_BINDER_H_
