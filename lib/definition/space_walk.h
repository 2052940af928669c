#ifndef TUNEONCE_LIB_DEFINITION_SPACE_WALK_H_
#define TUNEONCE_LIB_DEFINITION_SPACE_WALK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "definition/config_set_contents.h"
#include "definition/term_program.h"
#include "tuneonce/arguments.h"
#include "tuneonce/condition.h"
#include "tuneonce/config.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Enumerates the combinations of all axes for which conditions hold.
///
/// Axes that no condition connects are independent, so the walk first divides the axes into factors, and enumerates
/// each factor alone. Within a factor it goes through the axes depth first, in an order in which conditions are
/// complete early: the condition with the fewest combinations of axes that are not yet fixed comes first. A condition
/// is asked as soon as all of its axes are fixed. Before that, whenever one of its axes is fixed, the bounds of its
/// terms decide whether it can still hold. A function may read every axis, so it connects all of them and is asked
/// last.
///
/// A walk for the first config goes through the axes in the space's order, and stops at the first combination.
class SpaceWalk {
 public:
  /// The number of configs that each condition pruned, by its text.
  using Drops = std::map<std::string, std::int64_t>;

  static constexpr std::int64_t kMaxListed = 4'000'000;
  static constexpr std::int64_t kMaxQuestions = 200'000'000;
  static constexpr std::int64_t kQuestionsPerFunction = 200;  ///< A function takes as long as this many conditions.

  /// `first_only`: the set need not have more than the first config. REQUIRES: `problem` has what the conditions read,
  /// and `drops` outlives the walk.
  SpaceWalk(std::shared_ptr<AxisTable> axes, const std::vector<const NamedCondition*>& conditions,
            const Problem& problem, Drops* drops, bool first_only = false);

  /// Errors: InvalidArgument beyond the limits above; an exception from a function.
  Result<ConfigSet> Run();

 private:
  /// A condition, or one of the parts that `&&` combines.
  struct Rule {
    const NamedCondition* named;
    std::vector<std::size_t> axes;
    std::unique_ptr<TermProgram> program;  // Null for a condition with functions.
    Condition condition;
    std::int64_t dropped = 0;  // Combinations of the factor's axes.
  };
  /// What is asked when the axis of one level has got a value.
  struct Level {
    std::size_t axis = 0;
    std::int64_t stride = 0;
    std::int64_t below = 1;         // Combinations of the axes of the levels below.
    std::vector<Rule*> complete;    // Rules whose last axis this is.
    std::vector<Rule*> incomplete;  // Rules that read this axis, and others further down.
  };

  void AddRules(const NamedCondition& named);
  std::vector<std::vector<std::size_t>> DivideAxes() const;
  std::vector<std::size_t> OrderOf(std::vector<std::size_t> axes) const;
  std::int64_t SizeOf(std::size_t axis) const { return static_cast<std::int64_t>(axes_->axes[axis].values.size()); }
  Result<ConfigSet::Contents::Factor> WalkFactor(const std::vector<std::size_t>& axes);
  void SetLevels(const ConfigSet::Contents::Factor& factor);
  Status Descend(std::size_t depth, std::int64_t position, ConfigSet::Contents::Factor* factor);
  /// Returns the rule that excludes the values that are fixed up to this level, or null.
  Result<Rule*> FailingRule(const Level& level);
  Result<bool> HoldsFunction(const Rule& rule);
  void Fix(std::size_t axis, std::size_t index);
  void Free(std::size_t axis);

  std::shared_ptr<AxisTable> axes_;
  const Problem& problem_;
  Drops* drops_;
  const bool first_only_;
  std::vector<Rule> rules_;
  std::vector<Level> levels_;
  std::vector<TermProgram::Bounds> ranges_;  // The range of each axis.
  TermProgram::Point point_;
  std::int64_t questions_ = 0;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_SPACE_WALK_H_
