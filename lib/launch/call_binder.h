#ifndef TUNEONCE_LIB_LAUNCH_CALL_BINDER_H_
#define TUNEONCE_LIB_LAUNCH_CALL_BINDER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tuneonce/arguments.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// One launch's arguments after they were checked. It lies on the launch's stack and points into the caller's
/// arguments. It is not initialized: CallBinder::Bind sets as many entries as the definition has parameters.
struct BoundCall {
  Problem problem;

  void ResetParameter(std::size_t i) {
    problem.dtypes[i] = DType::kAny;
    problem.values[i] = nullptr;
  }
  /// REQUIRES: parameter `i` is a tensor.
  const TensorView& tensor(std::size_t i) const { return *static_cast<const TensorView*>(problem.values[i]); }
  /// Returns the tensor of parameter `i` of `parameters`, or the table's view for a parameter by pointers, or null if
  /// it is not a tensor.
  const TensorView* FindTensor(const std::vector<Parameter>& parameters, std::size_t i) const {
    return parameters[i].kind == ParameterKind::kTensor ? &tensor(i) : nullptr;
  }
  /// Null if parameter `i` of `parameters` is not by pointers.
  const PointerTable* FindTable(const std::vector<Parameter>& parameters, std::size_t i) const {
    return parameters[i].by_pointers ? static_cast<const PointerTable*>(problem.values[i]) : nullptr;
  }
};

/// A tensor that a kernel reads or writes: a parameter's, or the nth of its table.
struct ReachedTensor {
  std::size_t parameter;
  std::size_t nth;  ///< 0 for a parameter's own.
  const TensorView* tensor;
};
/// All that a call's kernel reaches, in order: the tensors of tables, in place of the tables.
std::vector<ReachedTensor> ReachedTensorsOf(const std::vector<Parameter>& parameters, const BoundCall& call);
/// For messages: "'x'", or "'a' (tensor 3)" of a table. `parameter`: its own.
std::string NameOf(const Parameter& parameter, const ReachedTensor& reached);

/// Matches Launch's arguments with a definition's parameters: it checks their number, kinds, dtypes and ranks, and
/// binds dims from shapes. A TunedKernel makes it once, and Bind is the first part of the hot path. REQUIRES: the
/// definition outlives it and was validated. Thread rule: immutable; any thread.
class CallBinder {
 public:
  explicit CallBinder(const KernelDefinition& definition);

  /// Fills `call` except problem.target, which the caller sets. Errors: InvalidArgument, naming the parameter and what
  /// was expected. A call with valid arguments whose outputs have no elements, because an extent is 0, is an error too.
  /// Each error sets `*is_empty` (may be null), which is true if a launch of the call would do nothing.
  [[gnu::always_inline]] Status Bind(const Argument* arguments, std::size_t count, BoundCall* call,
                                     bool* is_empty = nullptr) const {
    if (count != num_arguments_) return Refusal(arguments, count, is_empty);
    for (int parameter : not_passed_) call->ResetParameter(static_cast<std::size_t>(parameter));
    // Not 0: something is wrong, and Refusal finds out what, if anything. Cheaper than a branch for each check.
    std::uint64_t wrong = 0;
    std::uint64_t signs = 0;  // Its sign bit: a null pointer, or an extent that is not positive.
    const Expected* const end = expected_.data() + count;
    const Argument* next = arguments;
    for (const Expected* expected = expected_.data(); expected != end; ++expected) {
      const Argument& argument = *next++;
      if (argument.kind() != expected->kind) return Refusal(arguments, count, is_empty);
      call->problem.values[expected->parameter] = argument.value();
      if ((expected->kind & Argument::kTensor) == 0) {
        call->problem.dtypes[expected->parameter] = expected->dtype;
        continue;
      }
      const TensorView& tensor = argument.tensor();
      call->problem.dtypes[expected->parameter] = tensor.dtype;
      wrong |= (TypeWord(tensor) ^ expected->type) & expected->type_mask;
      signs |= reinterpret_cast<std::uintptr_t>(tensor.data) - 1;
    }
    if (has_rare_checks_) wrong |= DifferentDTypes(*call) | DifferingSlices(*call);
    Dims& dims = call->problem.dims;
    dims.SetCount(num_dims_);  // Each is bound below: Validate sees to it.
    for (const Extent& extent : binding_) {
      std::int64_t value = arguments[extent.argument].tensor().shape[extent.dimension];
      dims[Dim{extent.dim}] = value;
      signs |= static_cast<std::uint64_t>(value) | (static_cast<std::uint64_t>(value) - 1);
    }
    for (const Extent& extent : repeating_) {
      std::int64_t value = arguments[extent.argument].tensor().shape[extent.dimension];
      wrong |= static_cast<std::uint64_t>(dims[Dim{extent.dim}] ^ value);
    }
    wrong |= signs >> 63;
    return wrong == 0 ? Status() : Refusal(arguments, count, is_empty);
  }

  /// Words of the key for a bound call: one per part of the recipe, dims rounded to their bucket.
  void KeyWords(const BoundCall& call, std::uint64_t* words) const;
  std::size_t num_key_words() const { return key_.size(); }
  /// Calls `add(word)` for those of them that can differ between calls (a declared dtype cannot, nor one that is
  /// another's), but for LeadingDType: what tells ready keys apart.
  template <typename Add>
  [[gnu::always_inline]] void AddVaryingKeyWords(const BoundCall& call, const Add& add) const {
    for (std::uint8_t dim : exact_dims_) add(static_cast<std::uint64_t>(call.problem.dims[Dim{dim}]));
    for (const KeyWord& word : other_varying_) add(WordOf(word, call));
  }
  std::size_t num_varying_key_words() const { return exact_dims_.size() + other_varying_.size(); }
  /// Returns the dtype of the first tensor whose parameter leaves its dtype open, in 8 bits. Most kernels have at most
  /// one such tensor, which then needs no word of the key. Without such a tensor the result is the same for all calls.
  std::uint64_t LeadingDType(const BoundCall& call) const {
    static_assert(sizeof(DType) == 1);
    return static_cast<std::uint64_t>(call.problem.dtypes[leading_dtype_]);
  }
  /// True if calls with the same key words have the same dims and dtypes, so that all that is computed from these can
  /// be computed once per key.
  bool key_decides_problem() const { return key_decides_problem_; }

 private:
  struct Expected {
    std::uint32_t kind;       // Argument::kind.
    std::uint8_t parameter;   // Index in the definition.
    DType dtype;              // kAny: a tensor of any.
    std::uint64_t type;       // A tensor's TypeWord,
    std::uint64_t type_mask;  // in so far as the parameter declares dtype and rank.
  };
  /// The 8 bytes of a TensorView with dtype and rank, so that both are checked at once.
  static std::uint64_t TypeWord(const TensorView& tensor) {
    static_assert(offsetof(TensorView, rank) + sizeof(int) - offsetof(TensorView, dtype) == sizeof(std::uint64_t));
    std::uint64_t word;
    std::memcpy(&word, reinterpret_cast<const char*>(&tensor) + offsetof(TensorView, dtype), sizeof(word));
    return word;
  }
  /// A dimension of a tensor, and the dim it must agree with.
  struct Extent {
    std::uint8_t argument;
    std::uint8_t dimension;
    std::uint8_t dim;
  };
  struct TableCheck {
    std::uint8_t parameter;
    std::uint64_t equal;  // Bit d: the tensors' extents in dimension d are the same.
  };
  struct KeyWord {
    KeyPart::Kind kind;
    std::uint8_t index;          // The index of the dim or of the parameter.
    std::uint8_t bytes;          // kValue: of the scalar.
    std::uint32_t num_limits;    // kDim: 0 if it goes by powers of two.
    const std::int64_t* limits;  // The upper limit of each value of a list, followed by the values.
  };

  /// Returns the value of a dim with a bucket. Inline, because a call would slow down kernels without a list too.
  [[gnu::always_inline]] static std::int64_t Rounded(const KeyWord& word, std::int64_t value) {
    const std::int64_t* limit = word.limits;
    for (std::uint32_t count = word.num_limits; count > 0;) {
      const std::uint32_t half = count / 2;
      const bool is_more = limit[half] < value;
      limit += is_more ? half + 1 : 0;
      count = is_more ? count - half - 1 : half;
    }
    return limit == word.limits + word.num_limits ? KeyPart::NextPow2Of(value) : limit[word.num_limits];
  }
  /// REQUIRES: no exact dim.
  [[gnu::always_inline]] static std::uint64_t WordOf(const KeyWord& word, const BoundCall& call) {
    if (word.kind == KeyPart::Kind::kDim) {
      const std::int64_t value = call.problem.dims[Dim{word.index}];
      return static_cast<std::uint64_t>(word.num_limits == 0 ? KeyPart::NextPow2Of(value) : Rounded(word, value));
    }
    if (word.kind == KeyPart::Kind::kDType) return static_cast<std::uint64_t>(call.problem.dtypes[word.index]);
    std::uint64_t value = 0;
    std::memcpy(&value, call.problem.values[word.index], word.bytes);
    return value;
  }
  /// Returns the limits and values of a bucket with a list, which lists_ keeps.
  const std::vector<std::int64_t>& ListOf(const KeyPart& part);

  std::uint64_t DifferentDTypes(const BoundCall& call) const {
    for (const auto& [a, b] : same_dtypes_) {
      if (call.problem.dtypes[a] != call.problem.dtypes[b]) return 1;  // A loop that ends early is not vectorized.
    }
    return 0;
  }

  /// Dimensions in which a table's tensors differ, and must not.
  std::uint64_t DifferingSlices(const BoundCall& call) const {
    std::uint64_t differing = 0;
    for (const TableCheck& check : tables_) {
      differing |= static_cast<const PointerTable*>(call.problem.values[check.parameter])->differing & check.equal;
    }
    return differing;
  }

  /// Why these arguments do not fit: the first thing wrong, from left to right. OK if they do (raw memory without
  /// elements may be null).
  Status Refusal(const Argument* arguments, std::size_t count, bool* is_empty) const;
  static Status CheckTable(const PointerTable& table, const Parameter& parameter);
  Status CheckType(const Argument& argument, const Expected& expected, const Argument* arguments) const;
  /// `zero`: where an extent is 0, and nothing else is wrong.
  Status RefusalOfZero(const Argument* arguments, const std::string& zero, bool* is_empty) const;

  const KernelDefinition* definition_;
  int num_dims_;
  std::vector<Expected> expected_;
  std::size_t num_arguments_ = 0;  // Number of entries of expected_, whose size() needs a division.
  std::vector<Extent> binding_;    // Give each dim its value,
  std::vector<Extent> repeating_;  // and must have the same.
  std::vector<int> not_passed_;    // Parameters that the caller does not pass.
  std::vector<std::pair<std::uint8_t, std::uint8_t>> same_dtypes_;  // Parameters whose dtypes must be the same.
  std::vector<TableCheck> tables_;
  bool has_rare_checks_ = false;  // Whether either kind of rare check exists.
  std::vector<KeyWord> key_;
  std::vector<std::unique_ptr<const std::vector<std::int64_t>>> lists_;  // The lists that words of dims point to.
  // The exact dims among the words of the key that vary, which is the most common kind.
  std::vector<std::uint8_t> exact_dims_;
  std::vector<KeyWord> other_varying_;  // and the others.
  std::uint8_t leading_dtype_ = 0;      // The index of the parameter, or 0 if no tensor has an open dtype.
  bool key_decides_problem_ = false;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_LAUNCH_CALL_BINDER_H_
