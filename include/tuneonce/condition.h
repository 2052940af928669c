#ifndef TUNEONCE_CONDITION_H_
#define TUNEONCE_CONDITION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tuneonce/arguments.h"
#include "tuneonce/config.h"
#include "tuneonce/device.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

class Condition;

/// The names that a Term can refer to: a kernel's dims, in the order of Dim::index, and its scalar parameters.
struct TermNames {
  /// A scalar that the caller passes, and its index in KernelDefinition::Parameters.
  struct Scalar {
    std::string name;
    DType dtype = DType::kAny;
    int parameter = 0;
  };
  std::vector<std::string> dims;
  std::vector<Scalar> scalars;
};

/// An integer expression for geometry, conditions, derived values and workspace sizes. Unlike a C++ function it can be
/// written to a file. A term is a constant, the value of an axis, a dim or a scalar (a boolean counts as 0 or 1), a
/// property of the device, or an operation on other terms:
///
///   Grid::Fixed(CeilDiv("M", tile_m) * CeilDiv("N", tile_n))
///   Grid::Fixed(Min(NumSms() / num_ctas, CeilDiv("M", tile_m)) * occupancy)
///
/// Comparisons of terms make a Condition (condition.h).
///
/// Arithmetic is 64-bit and does not wrap. An overflow and a division by 0 have no value, and neither has a term that
/// contains one. Launching with such a term returns InvalidArgument. Division rounds down, as in Python: -7 / 2 is -4,
/// and a % b has the sign of b, so that a == (a / b) * b + a % b. The type has value semantics. Thread rule: call
/// Resolve on one thread, and const functions on any thread.
class TUNEONCE_API Term {
 public:
  /// Value() returns this for a term without a value.
  static constexpr std::int64_t kNoValue = std::numeric_limits<std::int64_t>::min();

  Term(std::int64_t constant) : kind_(Kind::kConstant), constant_(constant) {}        // NOLINT
  Term(int constant) : Term(static_cast<std::int64_t>(constant)) {}                   // NOLINT
  Term(const IntAxis& axis) : kind_(Kind::kAxis), is_explicit_(true), axis_(axis) {}  // NOLINT
  /// Makes a term whose value is 0 or 1.
  Term(const Axis<bool>& axis)  // NOLINT(google-explicit-constructor)
      : kind_(Kind::kBoolAxis), is_explicit_(true), axis_(axis.index(), axis.space_id()) {}
  /// Makes a term whose value is that of the axis. ToString prints `name` for it.
  Term(const IntAxis& axis, std::string name) : Term(axis) { name_ = std::move(name); }
  Term(const char* name) : kind_(Kind::kNamed), is_explicit_(true), name_(name) {}  // NOLINT: a dim, or else a scalar.
  Term(Dim dim) : kind_(Kind::kDim), dim_(dim) {}                                   // NOLINT

  friend Term operator+(Term a, Term b);
  friend Term operator-(Term a, Term b);
  friend Term operator*(Term a, Term b);
  friend Term operator/(Term a, Term b);
  friend Term operator%(Term a, Term b);
  friend Term CeilDiv(Term a, Term b);
  friend Term Min(Term a, Term b);
  friend Term Max(Term a, Term b);

  /// Looks up each name in the term among the dims and scalars of `names`. Errors: InvalidArgument for an unknown name,
  /// for a Dim out of range, for a scalar that is neither an integer nor a boolean, and for a term that is a constant
  /// below `least`.
  Status Resolve(const TermNames& names, std::int64_t least);
  /// Looks up each name in the term among `dim_names` alone. Errors: as for the other overload.
  Status Resolve(const std::vector<std::string>& dim_names, std::int64_t least = 1) {
    return Resolve(TermNames{dim_names, {}}, least);
  }

  bool IsConstant() const { return kind_ == Kind::kConstant; }
  /// Returns whether the term depends on the config alone: it consists of constants and axes.
  bool IsOfConfig() const;
  /// Returns a copy of the term for one config, with a constant in place of each part that depends on the config alone.
  Term For(const Config& config) const;
  /// Returns an integer that divides the term's value for `config` for all values of the dims and scalars. The form of
  /// the expression decides it: 16 for 16 * CeilDiv("M", 16). At least 1.
  std::int64_t Divisor(const Config& config) const { return For(config).KnownDivisor(); }
  /// Returns a lower bound of the term's value for `config`, valid for all values of the dims and scalars. It is
  /// kNoValue if the form of the expression shows none.
  std::int64_t LeastValue(const Config& config) const { return For(config).KnownLeast(); }
  /// Returns whether the term depends on dims and scalars alone: it has no axis and no property of the device.
  bool IsOfArguments() const;
  /// Returns whether the term contains a scalar. REQUIRES: Resolve was called.
  bool ReadsScalar() const;
  /// Returns the term's value, or kNoValue if it has none. Does not throw. REQUIRES: Resolve was called.
  [[gnu::always_inline]] std::int64_t Value(const Config& config, const Problem& problem) const {
    if (__builtin_expect(kind_ > Kind::kDim, 0)) return Compute(config, problem);
    if (kind_ == Kind::kAxis) return config[axis_];
    return kind_ == Kind::kDim ? problem.dims[dim_] : constant_;
  }
  /// Returns the term's value. Errors: InvalidArgument if it has none, naming the part without a value and the reason.
  /// REQUIRES: Resolve was called.
  Result<std::int64_t> Evaluate(const Config& config, const Problem& problem) const;
  /// Prints the term with values: "M=4096", "TILE_M=64", "4", "ceil_div(M=4096, TILE_M=64) * 2". REQUIRES: Resolve was
  /// called.
  std::string ToString(const Config& config, const Problem& problem) const;
  /// Prints the term without values: "ceil_div(M, TILE_M) * 2".
  std::string ToString() const;

 private:
  friend class Condition;
  friend class ConditionParser;
  friend class RequirementCheck;
  friend class TermProgram;
  friend struct DeviceProperty;
  friend Term D(std::string name);
  friend Condition operator==(Term a, Term b);
  friend Condition operator!=(Term a, Term b);
  friend Condition operator<(Term a, Term b);
  friend Condition operator<=(Term a, Term b);
  friend Condition operator>(Term a, Term b);
  friend Condition operator>=(Term a, Term b);
  friend Condition operator&&(Condition a, Condition b);
  friend Condition operator||(Condition a, Condition b);
  friend Condition operator!(Condition a);

  enum class Kind : std::uint8_t {
    kConstant,
    kAxis,
    kDim,  // Value() is inline for the kinds up to here.
    kNamed,
    kScalar,
    kBoolAxis,
    kAxisIs,    // 1 if the axis has Parts::value, else 0.
    kDevice,    // The property of the target with the index `constant_`.
    kFunction,  // A C++ function that returns a boolean.
    kSum,       // The kinds from here on are operations.
    kDifference,
    kProduct,
    kQuotient,
    kRemainder,
    kCeilDiv,
    kMin,
    kMax,
    kEqual,  // The kinds from here on are conditions, which have the value 0 or 1.
    kNotEqual,
    kLess,
    kAtMost,
    kGreater,
    kAtLeast,
    kAnd,
    kOr,
    kNot,         // Has one operand, Parts::a.
    kAssumption,  // Parts::assumption, whose value is Parts::a.
  };
  /// The operands of an operation, or the contents of kAxisIs, kFunction and kAssumption.
  struct Parts;

  // Implementations of Divisor and LeastValue for a term without axes.
  std::int64_t KnownDivisor() const;
  std::int64_t KnownLeast() const;
  /// Makes the term of an operation with the operands `a` and `b`.
  TUNEONCE_LOCAL Term(Kind kind, Term a, Term b);
  bool IsOperation() const { return kind_ >= Kind::kSum; }
  bool IsCondition() const { return kind_ >= Kind::kEqual || kind_ == Kind::kAxisIs || kind_ == Kind::kFunction; }
  bool ReadsAxis() const { return kind_ == Kind::kAxis || kind_ == Kind::kBoolAxis || kind_ == Kind::kAxisIs; }
  std::int64_t Compute(const Config& config, const Problem& problem) const;
  TUNEONCE_LOCAL std::int64_t ScalarIn(const Problem& problem) const;
  /// Applies an operation to two numbers. Returns kNoValue and sets `*why` if the result has no value.
  TUNEONCE_LOCAL static std::int64_t Apply(Kind kind, std::int64_t a, std::int64_t b, const char** why);
  /// Returns the quotient rounded down, or kNoValue.
  TUNEONCE_LOCAL static std::int64_t FloorDiv(std::int64_t a, std::int64_t b);
  /// Applies a comparison or a logical operation, in three-valued logic with kNoValue as the third value.
  TUNEONCE_LOCAL static std::int64_t ApplyCondition(Kind kind, std::int64_t a, std::int64_t b);
  TUNEONCE_LOCAL Status ResolveName(const TermNames& names);
  /// Turns names of axes in `axes` into axes, and sets the names of axes. Errors: InvalidArgument for an axis of
  /// another space, and for a comparison with a value of another type than the axis's.
  TUNEONCE_LOCAL Status BindAxes(const AxisTable& axes);
  TUNEONCE_LOCAL Status BindLeaf(const AxisTable& axes);
  /// Calls `function(leaf)` for each part that is not an operation, until it returns false.
  template <typename Predicate>
  bool AllParts(const Predicate& holds) const;
  /// Prints the term. `leaf(term)` returns the text of a term that is not an operation.
  template <typename Leaf>
  std::string Text(const Leaf& leaf) const;
  TUNEONCE_LOCAL std::string LeafText() const;
  /// Prints a kAssumption, whose value has the text `value`.
  TUNEONCE_LOCAL std::string AssumptionText(const std::string& value) const;
  TUNEONCE_LOCAL std::string QualifiedName() const;
  /// How tightly the term's operator binds its operands in a text.
  TUNEONCE_LOCAL int Precedence() const;

  Kind kind_;
  bool is_explicit_ = false;   // kNamed: a name that never means an axis. kAxis: an axis that was given by its handle.
  bool is_qualified_ = false;  // Prints as dim(NAME) or axis(NAME), because NAME alone is ambiguous.
  DType dtype_ = DType::kAny;  // kScalar: its dtype.
  int parameter_ = 0;          // kScalar: its index.
  std::int64_t constant_ = 0;
  IntAxis axis_;
  std::string name_;  // The name of an axis, a dim or a scalar.
  Dim dim_;
  std::shared_ptr<const Parts> parts_;
};

/// Returns the term `a + b`. It has no value if the sum does not fit 64 bits.
TUNEONCE_API Term operator+(Term a, Term b);
/// Returns the term `a - b`. It has no value if the difference does not fit 64 bits.
TUNEONCE_API Term operator-(Term a, Term b);
/// Returns the term `a * b`. It has no value if the product does not fit 64 bits.
TUNEONCE_API Term operator*(Term a, Term b);
/// Returns the term `a / b`, rounded down. It has no value if `b` is 0.
TUNEONCE_API Term operator/(Term a, Term b);
/// Returns the term `a - (a / b) * b`. It has no value if `b` is 0.
TUNEONCE_API Term operator%(Term a, Term b);
/// Returns the term `a / b`, rounded up. It has no value if `b` is 0.
TUNEONCE_API Term CeilDiv(Term a, Term b);
/// Returns a term whose value is the smaller of two terms' values.
TUNEONCE_API Term Min(Term a, Term b);
/// Returns a term whose value is the larger of two terms' values.
TUNEONCE_API Term Max(Term a, Term b);
/// Returns the term of a dim, or of a scalar if no dim has the name.
TUNEONCE_API Term D(std::string name);

/// The functions below return properties of the launch's device. Target describes them, and for the CPU device.
TUNEONCE_API Term NumSms();              ///< Target::num_sms, at least 1. Text: device.num_sms.
TUNEONCE_API Term Capability();          ///< Target::capability(): 90 for 9.0. Text: device.capability.
TUNEONCE_API Term SharedMemory();        ///< Target::max_shared_memory_bytes. Text: device.shared_memory.
TUNEONCE_API Term SharedMemoryPerSm();   ///< Target::shared_memory_per_sm. Text: device.shared_memory_per_sm.
TUNEONCE_API Term MaxThreadsPerBlock();  ///< Target::max_threads_per_block. Text: device.max_threads_per_block.
TUNEONCE_API Term MaxThreadsPerSm();     ///< Target::max_threads_per_sm. Text: device.max_threads_per_sm.
TUNEONCE_API Term RegistersPerSm();      ///< Target::registers_per_sm. Text: device.registers_per_sm.
TUNEONCE_API Term WarpSize();            ///< Target::warp_size. Text: device.warp_size.
TUNEONCE_API Term MaxClusterSize();      ///< Target::max_cluster_size. Text: device.max_cluster_size.
TUNEONCE_API Term L2Bytes();             ///< Target::l2_bytes. Text: device.l2_bytes.

/// What a condition depends on. It decides when the condition is asked.
struct ConditionReads {
  std::vector<int> axes;     ///< Indices of axes, ascending. Incomplete if `function` is true.
  bool target = false;       ///< Properties of the device.
  bool dims = false;         ///< Dims or scalars.
  bool scalars = false;      ///< Scalars. Known once the names were resolved.
  bool assumptions = false;  ///< Assumptions such as Aligned. Then `dims` is true as well.
  bool function = false;     ///< A C++ function.
  bool any_axis = false;     ///< A C++ function of the config, which may read every axis.
  bool unresolved = false;   ///< A name of a dim or scalar that was not looked up yet.

  bool problem() const { return dims || scalars; }  ///< Whether the condition depends on a launch's arguments.
};

/// A condition over axes, dims, scalars and the device: comparisons of terms, combined by &&, || and !. Search spaces
/// (SearchSpace::Where), baselines and variants (Variant::ForTarget) take conditions.
///
///   tile_m * tile_k * 2 <= SharedMemory()
///   D("M") % tile_m == 0 || occupancy <= 2
///   layout == "row" && !transposed
///
/// It prints as text in C's syntax, and Parse reads that text: "M % TILE_M == 0 || occupancy <= 2". Names of axes,
/// dims and scalars stand for their values, strings are in double quotes, properties of the device are written
/// device.shared_memory, and the functions are ceil_div, min and max. Other names than identifiers are in backquotes,
/// and dim(N) or axis(N) tells a dim from an axis of the same name. `and`, `or` and `not` are accepted as in C++.
///
/// A comparison with a term that has no value (an overflow, a division by 0) is undefined. `undefined && false` is
/// false and `undefined || true` is true, otherwise an operation with an undefined operand is undefined. An undefined
/// condition does not hold, and neither does its negation.
///
/// An Assumption is a condition too, for requirements of variants (Variant::Requires), whose value may be a term:
/// Aligned("x", 4 * vec) || D("N") % vec == 0. Its text has the form aligned(x, 4 * VEC) || N % VEC == 0.
///
/// A C++ function is a condition too, for what data cannot express. It has no text that Parse reads. The type has value
/// semantics. Thread rule: any thread, but see Resolve.
class TUNEONCE_API Condition {
 public:
  using Function = std::function<bool(const Config&, const Problem&)>;

  Condition() : expression_(1) {}  ///< Makes the condition that always holds.
  /// Makes the condition that the axis is true.
  Condition(const Axis<bool>& axis);  // NOLINT(google-explicit-constructor)
  /// Makes the condition that a launch's arguments have the assumed property.
  Condition(const Assumption& assumption);  // NOLINT(google-explicit-constructor)
  /// Makes a condition of a function that returns a boolean. It takes (const Config&), (const Config&, const Target&),
  /// (const Config&, const Dims&), (const Config&, const Problem&) or (const Target&). Its parameters decide when it is
  /// asked. It may throw: the call that asks the condition then returns an error that names it.
  template <typename F, typename = std::enable_if_t<!std::is_same_v<std::decay_t<F>, Condition> &&
                                                    (std::is_invocable_r_v<bool, F, const Config&> ||
                                                     std::is_invocable_r_v<bool, F, const Config&, const Target&> ||
                                                     std::is_invocable_r_v<bool, F, const Config&, const Dims&> ||
                                                     std::is_invocable_r_v<bool, F, const Config&, const Problem&> ||
                                                     std::is_invocable_r_v<bool, F, const Target&>)>>
  Condition(F function) : expression_(0) {  // NOLINT(google-explicit-constructor)
    ConditionReads reads;
    reads.function = reads.any_axis = true;
    if constexpr (std::is_invocable_r_v<bool, F, const Config&>) {
      SetFunction([f = std::move(function)](const Config& c, const Problem&) { return bool(f(c)); }, reads);
    } else if constexpr (std::is_invocable_r_v<bool, F, const Target&>) {
      reads.any_axis = false;
      reads.target = true;
      SetFunction([f = std::move(function)](const Config&, const Problem& p) { return bool(f(*p.target)); }, reads);
    } else if constexpr (std::is_invocable_r_v<bool, F, const Config&, const Target&>) {
      reads.target = true;
      SetFunction([f = std::move(function)](const Config& c, const Problem& p) { return bool(f(c, *p.target)); },
                  reads);
    } else if constexpr (std::is_invocable_r_v<bool, F, const Config&, const Problem&>) {
      reads.target = reads.dims = reads.scalars = true;
      SetFunction(std::move(function), reads);
    } else {
      reads.dims = true;
      SetFunction([f = std::move(function)](const Config& c, const Problem& p) { return bool(f(c, p.dims)); }, reads);
    }
  }

  /// Reads a condition from its text. A name means an axis of the space that the condition is given to, or else a dim
  /// or scalar. Errors: InvalidArgument, with the position (1 for the first character) and what was expected there.
  static Result<Condition> Parse(std::string_view text);

  friend Condition operator&&(Condition a, Condition b);
  friend Condition operator||(Condition a, Condition b);
  friend Condition operator!(Condition a);

  /// Looks up the names of dims and scalars. Errors: those of Term::Resolve, and InvalidArgument for a name in a text
  /// that is both an axis and a dim or scalar. Thread rule: call it on one thread, before the condition is shared.
  Status Resolve(const TermNames& names);
  /// Returns what the condition depends on.
  ConditionReads reads() const;
  /// Returns whether the condition holds. May throw if it has a function. REQUIRES: Resolve was called, and `problem`
  /// has what reads() lists.
  bool Holds(const Config& config, const Problem& problem) const { return expression_.Value(config, problem) == 1; }
  /// Returns true, false, or nothing for an undefined condition. REQUIRES: as for Holds.
  std::optional<bool> Value(const Config& config, const Problem& problem) const;
  /// Returns whether a condition that reads nothing but the target holds on it.
  bool HoldsOn(const Target& target) const;
  /// Returns a copy of the condition for one config, with constants in place of what depends on the config alone.
  Condition For(const Config& config) const { return Condition(expression_.For(config)); }
  /// Returns the operands of `a && b`, or the condition itself.
  std::vector<Condition> Conjuncts() const;
  /// Returns the assumption if the condition is nothing but an assumption whose value is a constant.
  std::optional<Assumption> AsAssumption() const;
  /// Returns whether the condition is known by its form: it always holds, or never does.
  bool IsConstant() const { return expression_.IsConstant(); }
  /// Returns whether the condition holds always, by its form.
  bool IsAlways() const { return expression_.kind_ == Term::Kind::kConstant && expression_.constant_ == 1; }
  /// Prints the condition: "M % TILE_M == 0 || occupancy <= 2". A function prints as "function".
  std::string ToString() const;
  /// Returns a hash of the condition's text, the same in every process and release.
  std::uint64_t Hash() const;
  /// Returns whether both conditions have the same text. Functions are equal if one is a copy of the other.
  friend bool operator==(const Condition& a, const Condition& b) { return a.IsSame(b); }
  friend bool operator!=(const Condition& a, const Condition& b) { return !a.IsSame(b); }

 private:
  friend class ConditionParser;
  friend class RequirementCheck;
  friend class SearchSpace;
  friend class SpaceWalk;
  friend class TermProgram;
  friend Condition operator==(Term a, Term b);
  friend Condition operator!=(Term a, Term b);
  friend Condition operator<(Term a, Term b);
  friend Condition operator<=(Term a, Term b);
  friend Condition operator>(Term a, Term b);
  friend Condition operator>=(Term a, Term b);
  friend Condition operator==(const Axis<std::string>& axis, std::string value);
  friend Condition operator!=(const Axis<std::string>& axis, std::string value);
  friend Condition operator==(const Axis<double>& axis, double value);
  friend Condition operator!=(const Axis<double>& axis, double value);

  static Condition WithValue(Assumption assumption, Term value);
  friend Condition Aligned(std::string tensor, Term bytes);
  friend Condition StrideIs(std::string tensor, int dimension, Term elements);
  friend Condition StrideDivisibleBy(std::string tensor, int dimension, Term divisor);
  friend Condition ExtentIs(std::string tensor, int dimension, Term elements);
  friend Condition ExtentDivisibleBy(std::string tensor, int dimension, Term divisor);
  friend Condition ExtentAtLeast(std::string tensor, int dimension, Term elements);
  friend Condition ScalarDivisibleBy(std::string scalar, Term divisor);
  friend Condition ScalarAtLeast(std::string scalar, Term value);

  explicit Condition(Term expression) : expression_(std::move(expression)) {}
  TUNEONCE_LOCAL static Condition AxisIs(int axis, std::uint64_t space_id, std::string name, AxisValue value);
  void SetFunction(Function function, const ConditionReads& reads);
  Status BindAxes(const AxisTable& axes) { return expression_.BindAxes(axes); }
  bool IsSame(const Condition& other) const;
  TUNEONCE_LOCAL static bool HasSameFunctions(const Term& a, const Term& b);
  TUNEONCE_LOCAL static void AddReads(const Term& term, ConditionReads* reads);

  Term expression_;  // 1, 0, or kNoValue if undefined.
};

TUNEONCE_API Condition operator==(Term a, Term b);  ///< Returns the condition that two terms have the same value.
TUNEONCE_API Condition operator!=(Term a, Term b);  ///< Returns the condition that two terms' values differ.
TUNEONCE_API Condition operator<(Term a, Term b);   ///< Returns the condition `a < b`.
TUNEONCE_API Condition operator<=(Term a, Term b);  ///< Returns the condition `a <= b`.
TUNEONCE_API Condition operator>(Term a, Term b);   ///< Returns the condition `a > b`.
TUNEONCE_API Condition operator>=(Term a, Term b);  ///< Returns the condition `a >= b`.
TUNEONCE_API Condition operator&&(Condition a, Condition b);  ///< Returns the condition that both hold.
TUNEONCE_API Condition operator||(Condition a, Condition b);  ///< Returns the condition that one of both holds.
TUNEONCE_API Condition operator!(Condition a);                ///< Returns the condition that `a` is false.

// String literals do not take part in comparisons of terms: "M" <= "N" would compare pointers. Write D("M") for a dim.
template <std::size_t n>
Condition operator==(const Term&, const char (&)[n]) = delete;
template <std::size_t n>
Condition operator==(const char (&)[n], const Term&) = delete;
template <std::size_t n>
Condition operator!=(const Term&, const char (&)[n]) = delete;
template <std::size_t n>
Condition operator!=(const char (&)[n], const Term&) = delete;
template <std::size_t n>
Condition operator<(const Term&, const char (&)[n]) = delete;
template <std::size_t n>
Condition operator<(const char (&)[n], const Term&) = delete;
template <std::size_t n>
Condition operator<=(const Term&, const char (&)[n]) = delete;
template <std::size_t n>
Condition operator<=(const char (&)[n], const Term&) = delete;
template <std::size_t n>
Condition operator>(const Term&, const char (&)[n]) = delete;
template <std::size_t n>
Condition operator>(const char (&)[n], const Term&) = delete;
template <std::size_t n>
Condition operator>=(const Term&, const char (&)[n]) = delete;
template <std::size_t n>
Condition operator>=(const char (&)[n], const Term&) = delete;

/// Returns the condition that the axis has the value.
TUNEONCE_API Condition operator==(const Axis<std::string>& axis, std::string value);
/// Returns the condition that the axis has another value.
TUNEONCE_API Condition operator!=(const Axis<std::string>& axis, std::string value);
/// Returns the condition that the axis has the value.
TUNEONCE_API Condition operator==(const Axis<double>& axis, double value);
/// Returns the condition that the axis has another value.
TUNEONCE_API Condition operator!=(const Axis<double>& axis, double value);
/// Returns the condition that the axis has the value.
inline Condition operator==(const Axis<std::string>& axis, const char* value) { return axis == std::string(value); }
/// Returns the condition that the axis has another value.
inline Condition operator!=(const Axis<std::string>& axis, const char* value) { return axis != std::string(value); }

/// Returns the condition that the target is a GPU whose compute capability is `from` to `to` (inclusive), each as one
/// number (90 for 9.0).
inline Condition CapabilityRange(int from, int to) { return Capability() >= from && Capability() <= to; }
inline Condition OnGpu() { return Capability() > 0; }         ///< Returns the condition that the target is a GPU.
inline Condition OnCpuDevice() { return Capability() == 0; }  ///< Returns the condition that it is the CPU device.

/// The functions below are assumptions whose value is a term, such as one that depends on the config. The functions
/// with the same names in arguments.h describe them. They are for Variant::Requires.
TUNEONCE_API Condition Aligned(std::string tensor, Term bytes);
TUNEONCE_API Condition StrideIs(std::string tensor, int dimension, Term elements);
TUNEONCE_API Condition StrideDivisibleBy(std::string tensor, int dimension, Term divisor);
TUNEONCE_API Condition ExtentIs(std::string tensor, int dimension, Term elements);
TUNEONCE_API Condition ExtentDivisibleBy(std::string tensor, int dimension, Term divisor);
TUNEONCE_API Condition ExtentAtLeast(std::string tensor, int dimension, Term elements);
TUNEONCE_API Condition ScalarDivisibleBy(std::string scalar, Term divisor);
TUNEONCE_API Condition ScalarAtLeast(std::string scalar, Term value);

/// A condition and the name that messages use for it.
struct NamedCondition {
  std::string name;
  Condition condition;

  /// Prints "condition 'NAME' (TEXT)", or "condition 'NAME'" for a function or if the name is the text.
  TUNEONCE_API std::string ToString() const;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_CONDITION_H_
