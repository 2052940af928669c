#ifndef TUNEONCE_CONDITION_H_
#define TUNEONCE_CONDITION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tuneonce/api.h"
#include "tuneonce/config.h"
#include "tuneonce/problem.h"
#include "tuneonce/result.h"
#include "tuneonce/target.h"
#include "tuneonce/term.h"

namespace tuneonce {
inline namespace v0 {

/// What a condition depends on. It decides when the condition is asked.
struct ConditionReads {
  std::vector<int> axes;    ///< Indices of axes, ascending. Incomplete if `function` is true.
  bool target = false;      ///< Properties of the device.
  bool dims = false;        ///< Dims or scalars.
  bool scalars = false;     ///< Scalars. Known once the names were resolved.
  bool function = false;    ///< A C++ function.
  bool any_axis = false;    ///< A C++ function of the config, which may read every axis.
  bool unresolved = false;  ///< A name of a dim or scalar that was not looked up yet.

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
/// A C++ function is a condition too, for what data cannot express. It has no text that Parse reads. The type has value
/// semantics. Thread rule: any thread, but see Resolve.
class TUNEONCE_API Condition {
 public:
  using Function = std::function<bool(const Config&, const Problem&)>;

  Condition() : expression_(1) {}  ///< Makes the condition that always holds.
  /// Makes the condition that the axis is true.
  Condition(const Axis<bool>& axis);  // NOLINT(google-explicit-constructor)
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

  explicit Condition(Term expression) : expression_(std::move(expression)) {}
  static Condition AxisIs(int axis, std::uint64_t space_id, std::string name, AxisValue value);
  void SetFunction(Function function, const ConditionReads& reads);
  Status BindAxes(const AxisTable& axes) { return expression_.BindAxes(axes); }
  /// Splits `a && b` into its operands, so that each is asked as early as possible.
  std::vector<Condition> Conjuncts() const;
  bool IsSame(const Condition& other) const;
  static bool HasSameFunctions(const Term& a, const Term& b);
  static void AddReads(const Term& term, ConditionReads* reads);

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
