#ifndef TUNEONCE_CONFIG_H_
#define TUNEONCE_CONFIG_H_

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
#include <variant>
#include <vector>

#include "tuneonce/arguments.h"
#include "tuneonce/device.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// What the value of an axis changes. The values of a structural axis need different source code (a tile size). A hint
/// axis only changes compiler hints for the same source (`occupancy`, `num_ctas`, `num_worker_warps`). An option axis
/// only changes a compiler option (`maxrregcount`, `ftz`).
enum class AxisKind { kStructural, kHint, kOption };

/// A typed handle of one axis of one SearchSpace: `config[axis]` is an array index, not a string lookup. `T` is
/// std::int64_t, double, bool or std::string. Copyable. SearchSpace::AddAxis and the like make it. A
/// default-constructed handle belongs to no space and must not be used to read a config.
template <typename T>
class Axis {
 public:
  Axis() = default;
  Axis(int index, std::uint64_t space_id) : index_(index), space_id_(space_id) {}

  int index() const { return index_; }
  std::uint64_t space_id() const { return space_id_; }

 private:
  int index_ = 0;
  std::uint64_t space_id_ = 0;
};

using IntAxis = Axis<std::int64_t>;

/// One value of an axis.
using AxisValue = std::variant<std::int64_t, double, bool, std::string>;

/// Prints a value for people and for macros in source code: "64", "0.5", "true", "row". A double has as many digits as
/// are needed to read it back exactly.
TUNEONCE_API std::string AxisValueString(const AxisValue& value);

/// Returns whether both values have the same type and the same value, doubles bit by bit. 1, 1.0, true and "1" differ,
/// and so do 0.0 and -0.0, because they print differently and therefore make different code.
TUNEONCE_API bool IsSameValue(const AxisValue& a, const AxisValue& b);

/// A total order of AxisValues and of lists of them, for std::set and std::map. Two values are equivalent if
/// IsSameValue holds.
struct TUNEONCE_API AxisValueOrder {
  bool operator()(const AxisValue& a, const AxisValue& b) const;
  bool operator()(const std::vector<AxisValue>& a, const std::vector<AxisValue>& b) const;
};

/// The names and kinds of a space's axes, shared by the space and its configs. Opaque to users of the library.
struct AxisTable;

/// One point of a SearchSpace: a value for every axis.
///
/// Reading an axis of another space returns T's default and leaves a note that the search reports as an error
/// (SearchSpace::TakeMisuse), so that callbacks need no error path of their own. It has value semantics.
class TUNEONCE_API Config {
 public:
  /// Makes the config without values, which is the only one of a space without axes.
  Config() = default;
  TUNEONCE_LOCAL Config(std::shared_ptr<AxisTable> axes, std::vector<AxisValue> values);

  /// One axis of a config that belongs to no space, and its value.
  struct Setting {
    std::string axis;
    AxisKind kind = AxisKind::kStructural;
    AxisValue value;
  };
  /// Makes a config that belongs to no space, for example from a record. Find and the other accessors read it. Reading
  /// it with an Axis of a space returns T's default.
  static Config Of(std::vector<Setting> settings);

  template <typename T>
  T operator[](const Axis<T>& axis) const {
    if (axis.space_id() == space_id_ && static_cast<std::size_t>(axis.index()) < values_.size()) {
      if (const T* value = std::get_if<T>(&values_[static_cast<std::size_t>(axis.index())])) return *value;
    }
    NoteForeignAxis(axis.space_id());
    return T();
  }

  /// Returns the values in the order in which the axes were added.
  const std::vector<AxisValue>& values() const { return values_; }
  /// Returns the value of the axis `name`, or null if there is no such axis. It is for tools and reports. Definitions
  /// read a config with an Axis.
  const AxisValue* Find(std::string_view name) const;
  const std::string& AxisName(std::size_t index) const;
  AxisKind Kind(std::size_t index) const;
  std::uint64_t space_id() const { return space_id_; }

  /// Prints the config for people: "TILE_M=64, occupancy=2". Two different configs may have the same text.
  std::string ToString() const;

  /// Returns the config's identity as bytes: the names and kinds of its axes, and its values with their types, doubles
  /// bit by bit. The bytes are the same in every process and release. Keys, records and maps compare them.
  std::string Canonical() const;
  /// Makes a config that belongs to no space from the bytes that Canonical returned. If `like` belongs to no space and
  /// has the same axes, both configs share the axes' names in memory. Errors: InvalidArgument for other bytes.
  static Result<Config> FromCanonical(std::string_view bytes, const Config& like);
  static Result<Config> FromCanonical(std::string_view bytes) { return FromCanonical(bytes, Config()); }
  /// Returns whether both have the same axes and values, even if they belong to different spaces. This compares the
  /// Canonical forms.
  bool IsSame(const Config& other) const;

  friend bool operator==(const Config& a, const Config& b) { return a.space_id_ == b.space_id_ && a.IsSame(b); }

 private:
  void NoteForeignAxis(std::uint64_t foreign_space) const;
  /// Returns whether this config belongs to no space and has exactly these axes.
  TUNEONCE_LOCAL bool HasAxesOf(const std::vector<Setting>& settings) const;

  std::shared_ptr<AxisTable> axes_;
  std::uint64_t space_id_ = 0;
  std::vector<AxisValue> values_;
};

/// The valid configs of a search space on a target, in the space's order. It is stored as factors: axes that no
/// condition connects are independent, so a space of 100 million configs may need a few kilobytes. A config is made
/// when it is asked for. SearchSpace::Configs makes the set.
///
/// It has value semantics, and copies share their contents. Thread rule: any thread.
class TUNEONCE_API ConfigSet {
 public:
  ConfigSet() = default;  ///< Makes a set without configs.

  std::int64_t size() const;
  bool empty() const { return size() == 0; }
  /// Returns the config with this index, which takes about a microsecond. REQUIRES: 0 <= index < size().
  Config At(std::int64_t index) const;

  struct Contents;  ///< Opaque.

 private:
  friend class SearchSpace;
  friend class SpaceWalk;

  TUNEONCE_LOCAL explicit ConfigSet(std::shared_ptr<const Contents> contents);

  std::shared_ptr<const Contents> contents_;
};

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
/// Comparisons of terms make a Condition (below).
///
/// Arithmetic is 64-bit and does not wrap. An overflow and a division by 0 have no value, and neither has a term that
/// contains one. Launching with such a term returns InvalidArgument. Division rounds down, as in Python: -7 / 2 is -4,
/// and a % b has the sign of b, so that a == (a / b) * b + a % b. Resolve returns an error for more than 1000 nested
/// operations. The type has value semantics. Thread rule: call Resolve on one thread, and const functions on any.
class TUNEONCE_API Term {
 public:
  /// Value() returns this for a term without a value.
  static constexpr std::int64_t kNoValue = std::numeric_limits<std::int64_t>::min();

  /// A property of the launch's device. The functions NumSms, Capability and so on make terms of them.
  enum class Property : std::uint8_t {
    kNumSms,
    kCapability,
    kSharedMemory,
    kSharedMemoryPerSm,
    kMaxThreadsPerBlock,
    kMaxThreadsPerSm,
    kRegistersPerSm,
    kWarpSize,
    kMaxClusterSize,
    kL2Bytes,
  };

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
  explicit Term(Property property) : kind_(Kind::kDevice), constant_(static_cast<std::int64_t>(property)) {}

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
  TUNEONCE_LOCAL bool IsOfConfig() const;
  /// Returns a copy of the term for one config, with a constant in place of each part that depends on the config alone.
  Term For(const Config& config) const;
  /// Returns an integer that divides the term's value for `config` for all values of the dims and scalars. The form of
  /// the expression decides it: 16 for 16 * CeilDiv("M", 16). At least 1.
  std::int64_t Divisor(const Config& config) const { return For(config).KnownDivisor(); }
  /// Returns a lower bound of the term's value for `config`, valid for all values of the dims and scalars. It is
  /// kNoValue if the form of the expression shows none.
  std::int64_t LeastValue(const Config& config) const { return For(config).KnownLeast(); }
  /// Returns whether the term depends on dims and scalars alone: it has no axis and no property of the device.
  TUNEONCE_LOCAL bool IsOfArguments() const;
  /// Returns whether the term contains a scalar. REQUIRES: Resolve was called.
  TUNEONCE_LOCAL bool ReadsScalar() const;
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
    kDevice,    // The Property with the number `constant_`.
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
  Term(Kind kind, Term a, Term b);
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
inline Term operator+(Term a, Term b) { return Term(Term::Kind::kSum, std::move(a), std::move(b)); }
/// Returns the term `a - b`. It has no value if the difference does not fit 64 bits.
inline Term operator-(Term a, Term b) { return Term(Term::Kind::kDifference, std::move(a), std::move(b)); }
/// Returns the term `a * b`. It has no value if the product does not fit 64 bits.
inline Term operator*(Term a, Term b) { return Term(Term::Kind::kProduct, std::move(a), std::move(b)); }
/// Returns the term `a / b`, rounded down. It has no value if `b` is 0.
inline Term operator/(Term a, Term b) { return Term(Term::Kind::kQuotient, std::move(a), std::move(b)); }
/// Returns the term `a - (a / b) * b`. It has no value if `b` is 0.
inline Term operator%(Term a, Term b) { return Term(Term::Kind::kRemainder, std::move(a), std::move(b)); }
/// Returns the term `a / b`, rounded up. It has no value if `b` is 0.
inline Term CeilDiv(Term a, Term b) { return Term(Term::Kind::kCeilDiv, std::move(a), std::move(b)); }
/// Returns a term whose value is the smaller of two terms' values.
inline Term Min(Term a, Term b) { return Term(Term::Kind::kMin, std::move(a), std::move(b)); }
/// Returns a term whose value is the larger of two terms' values.
inline Term Max(Term a, Term b) { return Term(Term::Kind::kMax, std::move(a), std::move(b)); }
/// Returns the term of a dim, or of a scalar if no dim has the name.
inline Term D(std::string name) {
  Term term("");
  term.name_ = std::move(name);
  return term;
}

/// The functions below return properties of the launch's device. Target describes them, and for the CPU device.
/// Target::num_sms, at least 1. Text: device.num_sms.
inline Term NumSms() { return Term(Term::Property::kNumSms); }
/// Target::capability(): 90 for 9.0. Text: device.capability.
inline Term Capability() { return Term(Term::Property::kCapability); }
/// Target::max_shared_memory_bytes. Text: device.shared_memory.
inline Term SharedMemory() { return Term(Term::Property::kSharedMemory); }
/// Target::shared_memory_per_sm. Text: device.shared_memory_per_sm.
inline Term SharedMemoryPerSm() { return Term(Term::Property::kSharedMemoryPerSm); }
/// Target::max_threads_per_block. Text: device.max_threads_per_block.
inline Term MaxThreadsPerBlock() { return Term(Term::Property::kMaxThreadsPerBlock); }
/// Target::max_threads_per_sm. Text: device.max_threads_per_sm.
inline Term MaxThreadsPerSm() { return Term(Term::Property::kMaxThreadsPerSm); }
/// Target::registers_per_sm. Text: device.registers_per_sm.
inline Term RegistersPerSm() { return Term(Term::Property::kRegistersPerSm); }
/// Target::warp_size. Text: device.warp_size.
inline Term WarpSize() { return Term(Term::Property::kWarpSize); }
/// Target::max_cluster_size. Text: device.max_cluster_size.
inline Term MaxClusterSize() { return Term(Term::Property::kMaxClusterSize); }
/// Target::l2_bytes. Text: device.l2_bytes.
inline Term L2Bytes() { return Term(Term::Property::kL2Bytes); }

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
  Condition(const Axis<bool>& axis)  // NOLINT(google-explicit-constructor)
      : expression_(Term::Kind::kNotEqual, Term(axis), Term(0)) {}
  /// Makes the condition that a launch's arguments have the assumed property.
  Condition(const Assumption& assumption)  // NOLINT(google-explicit-constructor)
      : Condition(assumption, assumption.value) {}
  /// Makes the condition that a launch's arguments have the assumed property, where `value`, which may depend on the
  /// config, replaces the member `value` of `assumption`.
  Condition(Assumption assumption, Term value);
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
  TUNEONCE_LOCAL std::vector<Condition> Conjuncts() const;
  /// Returns the assumption if the condition is nothing but an assumption whose value is a constant.
  TUNEONCE_LOCAL std::optional<Assumption> AsAssumption() const;
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
  friend Condition operator==(const Axis<double>& axis, double value);

  explicit Condition(Term expression) : expression_(std::move(expression)) {}
  static Condition AxisIs(int axis, std::uint64_t space_id, std::string name, AxisValue value);
  void SetFunction(Function function, const ConditionReads& reads);
  Status BindAxes(const AxisTable& axes) { return expression_.BindAxes(axes); }
  bool IsSame(const Condition& other) const;
  TUNEONCE_LOCAL static bool HasSameFunctions(const Term& a, const Term& b);
  TUNEONCE_LOCAL static void AddReads(const Term& term, ConditionReads* reads);

  Term expression_;  // 1, 0, or kNoValue if undefined.
};

/// Returns the condition that two terms have the same value.
inline Condition operator==(Term a, Term b) {
  return Condition(Term(Term::Kind::kEqual, std::move(a), std::move(b)));
}
/// Returns the condition that two terms' values differ.
inline Condition operator!=(Term a, Term b) {
  return Condition(Term(Term::Kind::kNotEqual, std::move(a), std::move(b)));
}
/// Returns the condition `a < b`.
inline Condition operator<(Term a, Term b) {
  return Condition(Term(Term::Kind::kLess, std::move(a), std::move(b)));
}
/// Returns the condition `a <= b`.
inline Condition operator<=(Term a, Term b) {
  return Condition(Term(Term::Kind::kAtMost, std::move(a), std::move(b)));
}
/// Returns the condition `a > b`.
inline Condition operator>(Term a, Term b) {
  return Condition(Term(Term::Kind::kGreater, std::move(a), std::move(b)));
}
/// Returns the condition `a >= b`.
inline Condition operator>=(Term a, Term b) {
  return Condition(Term(Term::Kind::kAtLeast, std::move(a), std::move(b)));
}
/// Returns the condition that both hold.
inline Condition operator&&(Condition a, Condition b) {
  return Condition(Term(Term::Kind::kAnd, std::move(a.expression_), std::move(b.expression_)));
}
/// Returns the condition that one of both holds.
inline Condition operator||(Condition a, Condition b) {
  return Condition(Term(Term::Kind::kOr, std::move(a.expression_), std::move(b.expression_)));
}
/// Returns the condition that `a` is false.
inline Condition operator!(Condition a) {
  return Condition(Term(Term::Kind::kNot, std::move(a.expression_), Term(0)));
}

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
inline Condition operator==(const Axis<std::string>& axis, std::string value) {
  return Condition::AxisIs(axis.index(), axis.space_id(), "", std::move(value));
}
/// Returns the condition that the axis has another value.
inline Condition operator!=(const Axis<std::string>& axis, std::string value) { return !(axis == std::move(value)); }
/// Returns the condition that the axis has the value.
inline Condition operator==(const Axis<double>& axis, double value) {
  return Condition::AxisIs(axis.index(), axis.space_id(), "", value);
}
/// Returns the condition that the axis has another value.
inline Condition operator!=(const Axis<double>& axis, double value) { return !(axis == value); }
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
inline Condition Aligned(std::string tensor, Term bytes) {
  return Condition(Aligned(std::move(tensor), std::int64_t{0}), std::move(bytes));
}
inline Condition StrideIs(std::string tensor, int dimension, Term elements) {
  return Condition(StrideIs(std::move(tensor), dimension, std::int64_t{0}), std::move(elements));
}
inline Condition StrideDivisibleBy(std::string tensor, int dimension, Term divisor) {
  return Condition(StrideDivisibleBy(std::move(tensor), dimension, std::int64_t{0}), std::move(divisor));
}
inline Condition ExtentIs(std::string tensor, int dimension, Term elements) {
  return Condition(ExtentIs(std::move(tensor), dimension, std::int64_t{0}), std::move(elements));
}
inline Condition ExtentDivisibleBy(std::string tensor, int dimension, Term divisor) {
  return Condition(ExtentDivisibleBy(std::move(tensor), dimension, std::int64_t{0}), std::move(divisor));
}
inline Condition ExtentAtLeast(std::string tensor, int dimension, Term elements) {
  return Condition(ExtentAtLeast(std::move(tensor), dimension, std::int64_t{0}), std::move(elements));
}
inline Condition ScalarDivisibleBy(std::string scalar, Term divisor) {
  return Condition(ScalarDivisibleBy(std::move(scalar), std::int64_t{0}), std::move(divisor));
}
inline Condition ScalarAtLeast(std::string scalar, Term value) {
  return Condition(ScalarAtLeast(std::move(scalar), std::int64_t{0}), std::move(value));
}

/// A condition and the name that messages use for it.
struct NamedCondition {
  std::string name;
  Condition condition;

  /// Prints "condition 'NAME' (TEXT)", or "condition 'NAME'" for a function or if the name is the text.
  TUNEONCE_API std::string ToString() const;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_CONFIG_H_
