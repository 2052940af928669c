#ifndef TUNEONCE_LIB_DEFINITION_TERM_PROGRAM_H_
#define TUNEONCE_LIB_DEFINITION_TERM_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "definition/axis_table.h"
#include "definition/term_parts.h"
#include "tuneonce/arguments.h"
#include "tuneonce/condition.h"

namespace tuneonce {
inline namespace v0 {

/// A condition without functions, compiled for asking it about many configs: a list of operations on a stack, in which
/// everything but axes is a constant. It is also asked about boxes of configs. Thread rule: one thread.
class TermProgram {
 public:
  /// The lowest and highest value that a term has in a box of configs, where it has one. Empty if `low` > `high`.
  struct Bounds {
    std::int64_t low = 0;
    std::int64_t high = 0;
  };
  /// The values of the axes: those of one config, or their bounds in a box.
  struct Point {
    std::vector<std::int64_t> values;  ///< Of axes of integers and booleans.
    std::vector<std::int64_t> indices;
    std::vector<Bounds> bounds;  ///< Of `values`. Both are the value for an axis that is fixed.
    std::vector<Bounds> index_bounds;
  };

  /// Compiles the condition for a problem. REQUIRES: it has no function, and only reads what `problem` has.
  TermProgram(const Condition& condition, const AxisTable& axes, const Problem& problem);

  /// Returns a function that asks the condition. If the condition is a function, it is that one, which costs a hit no
  /// further call.
  static Condition::Function FunctionOf(const Condition& condition);

  /// Returns whether the condition holds for the config in `values` and `indices`.
  bool Holds(const Point& point);
  /// Returns false only if the condition holds for no config in the box of `bounds` and `index_bounds`.
  bool MayHold(const Point& point);

 private:
  using Kind = Term::Kind;
  struct Operation {
    Kind kind;
    std::size_t axis = 0;       // kAxis, kBoolAxis and kAxisIs.
    std::int64_t constant = 0;  // kConstant: the value. kAxisIs: the index of the value, or -1.
  };

  using Comparison = bool(std::int64_t a, std::int64_t b);
  /// Returns the function of a comparison, or null for another kind.
  static Comparison* ComparisonOf(Kind kind);
  void Compile(const Term& term, const AxisTable& axes, const Problem& problem);
  static Bounds BoundsOf(Kind kind, const Bounds& a, const Bounds& b);

  std::vector<Operation> operations_;
  std::vector<std::int64_t> stack_;
  std::vector<Bounds> bounds_stack_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_TERM_PROGRAM_H_
