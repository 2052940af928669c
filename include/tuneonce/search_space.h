#ifndef TUNEONCE_SEARCH_SPACE_H_
#define TUNEONCE_SEARCH_SPACE_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tuneonce/config.h"
#include "tuneonce/dims.h"
#include "tuneonce/problem.h"
#include "tuneonce/result.h"
#include "tuneonce/target.h"

namespace tuneonce {
inline namespace v0 {

/// An assignment `axis = value` of a baseline, a fallback config or a listed config.
struct AxisAssignment {
  /// Makes the assignment. A floating-point `new_value` does not compile for an integer axis.
  template <typename T, typename V,
            typename = std::enable_if_t<!std::is_same_v<T, std::int64_t> || std::is_integral_v<std::decay_t<V>>>>
  AxisAssignment(const Axis<T>& axis, V&& new_value)  // NOLINT(google-explicit-constructor)
      : index(axis.index()), space_id(axis.space_id()), value(T(std::forward<V>(new_value))) {}

  int index;
  std::uint64_t space_id;
  AxisValue value;
};

/// The configs that a search may try: axes, named constraints, target filters, size guards, and an optional baseline
/// and fallback config.
///
/// Configs are in lexicographic order of the axes' values: the axis that was added last changes fastest. The order is
/// the same on every run and rank, and decides ties between candidates. Mistakes made while building (a duplicate name,
/// an empty axis, an axis of another space) are kept and returned by Enumerate, so that building needs no error
/// handling.
///
/// Axes can be added to a complete space, such as one from families.h. If the space has a list of configs, it then has
/// each of them with each value of the new axis. Its baselines and fallback config get the first value.
///
/// Copyable: a copy is a space of its own for which the same axis handles are valid. Thread rule: build on one thread,
/// and call const functions from any thread.
class TUNEONCE_API SearchSpace {
 public:
  /// Default limit of configs. Enumerate refuses a larger space unless MaxConfigs raised the limit.
  static constexpr int kDefaultMaxConfigs = 30;

  SearchSpace();
  SearchSpace(const SearchSpace& other);
  SearchSpace(SearchSpace&& other) noexcept = default;
  SearchSpace& operator=(SearchSpace other) noexcept;
  ~SearchSpace();

  /// Adds a structural axis of integers. Values keep their order.
  IntAxis AddAxis(const std::string& name, std::initializer_list<std::int64_t> values);
  /// Adds a structural axis of integers. Values keep their order.
  IntAxis AddAxis(const std::string& name, std::vector<std::int64_t> values);
  /// Adds a structural axis of doubles. Values keep their order.
  Axis<double> AddDoubleAxis(const std::string& name, std::vector<double> values);
  Axis<bool> AddBoolAxis(const std::string& name);  ///< Adds a structural axis with the values false and true.
  /// Adds a structural axis of strings. Values keep their order.
  Axis<std::string> AddStringAxis(const std::string& name, std::vector<std::string> values);
  /// Adds a structural axis with the values `first`, 2 * `first`, ... up to `last`. REQUIRES: both are powers of two.
  IntAxis AddPowerOfTwoAxis(const std::string& name, std::int64_t first, std::int64_t last);
  /// Adds a hint axis. `name` is the compiler hint that each value sets.
  IntAxis AddHintAxis(const std::string& name, std::vector<std::int64_t> values);
  /// Adds an option axis of integers. `name` is the compiler option that each value sets, for the same source. Each
  /// compiler receives the options that it knows. Configs that differ only in options that the compiler does not know
  /// have the same code and are measured once. The value 0 does not set the option (except for opt-level). An unknown
  /// option is a mistake that Enumerate returns. The options of this function, AddBoolOptionAxis and
  /// AddStringOptionAxis are:
  ///
  /// - Integers: `maxrregcount` (NVRTC, ptxas), `opt-level` (ptxas, tileiras, the CPU device's compiler).
  /// - Booleans: `ftz` (NVRTC, Tile IR), `approx` (NVRTC, Tile IR), `prec-div`, `prec-sqrt`,
  ///   `extra-device-vectorization` (NVRTC), `use_fast_math` (NVRTC, the CPU device), `fmad` (NVRTC, ptxas, the CPU
  ///   device), `allow-expensive-optimizations` (ptxas), `unroll-loops` (the CPU device).
  /// - Strings: `def-load-cache`, `def-store-cache` (ptxas, also after NVRTC): `ca`, `cg` and so on.
  ///
  /// `ftz` makes float32 operations flush subnormal numbers to zero. `approx` makes divisions and square roots
  /// approximate, and in Tile IR also exponentials and hyperbolic tangents. For NVRTC `approx` stands for
  /// --prec-div=false and --prec-sqrt=false. For Tile IR, `ftz` and `approx` are patched into the bytecode. False
  /// leaves the source's own flags unchanged.
  ///
  /// ftz, approx, prec-div, prec-sqrt, fmad, use_fast_math and opt-level may change results. If an axis has several
  /// values of one of them, the definition must declare a tolerance (VerifyWithin, or Within for each output). All
  /// results are verified against the baseline, so Enumerate rejects a baseline in which ftz, approx or use_fast_math
  /// is true.
  IntAxis AddOptionAxis(const std::string& name, std::vector<std::int64_t> values);
  /// Adds an option axis with the values false and true. AddOptionAxis lists the options.
  Axis<bool> AddBoolOptionAxis(const std::string& name);
  /// Adds an option axis of strings. AddOptionAxis lists the options.
  Axis<std::string> AddStringOptionAxis(const std::string& name, std::vector<std::string> values);

  /// Returns the integer axis called `name`, for grids, constraints and configs over a space that was built elsewhere.
  /// A missing axis, or one with values of another type, is a mistake that Enumerate returns.
  IntAxis FindAxis(const std::string& name);

  /// Keeps only configs for which `holds(config)` is true, on every target and for every problem. `name` appears in
  /// messages: "fits in shared memory".
  SearchSpace& AddConstraint(const std::string& name, std::function<bool(const Config&)> holds);
  /// Prunes the configs for which `holds(config, target)` is false from the space on that target. `name` appears in
  /// messages.
  SearchSpace& AddTargetFilter(const std::string& name, std::function<bool(const Config&, const Target&)> holds);
  /// Lets a config run only for problems for which `holds` returns true. `holds` is a function of (const Config&, const
  /// Dims&), or of (const Config&, const Problem&) if scalars matter. The guard is checked when tuning and at each
  /// launch, because the config that was tuned for a bucket may not suit every shape in it.
  template <typename Function>
  SearchSpace& AddGuard(const std::string& name, Function holds) {
    if constexpr (std::is_invocable_v<Function, const Config&, const Problem&>) {
      guards_read_problem_ = true;
      return Add(Guard{name, std::move(holds), "", nullptr});
    } else {
      return Add(Guard{name,
                       [holds = std::move(holds)](const Config& config, const Problem& problem) -> bool {
                         return holds(config, problem.dims);
                       },
                       "", nullptr});
    }
  }

  /// Adds a guard for one dim, by its name: a config may run only where `holds(config, extent)` is true for the dim's
  /// value. KernelDefinition::Validate returns InvalidArgument for a kernel that has no such dim.
  SearchSpace& AddGuard(const std::string& name, const std::string& dim,
                        std::function<bool(const Config&, std::int64_t extent)> holds);

  /// Restricts the space to these configs, in this order, in place of all combinations of the axes' values. A list can
  /// couple hints with tiles, for example. Each config has a value for every axis, and must occur once. Constraints,
  /// filters and guards apply to the list as they do to combinations, and the baseline must be in the list.
  SearchSpace& SetConfigs(const std::vector<std::vector<AxisAssignment>>& list);
  /// Appends one config to the list that SetConfigs set. A value that its structural or hint axis does not have yet is
  /// added to the axis. Enumerate returns the mistakes: no list, a repeated config, or a new value of an option axis.
  SearchSpace& AddConfig(const std::vector<AxisAssignment>& values);
  /// Sets the config that is always measured, so that a winner is never slower than it. It has a value for every axis.
  SearchSpace& SetBaseline(std::vector<AxisAssignment> values);
  /// Sets several baselines, for spaces where one config does not suit all shapes. A shape's baseline is the first one
  /// whose guards hold. A shape without one has no baseline.
  SearchSpace& SetBaselines(const std::vector<std::vector<AxisAssignment>>& list);
  /// A baseline that applies to some targets only.
  struct Baseline {
    std::vector<AxisAssignment> values;
    TargetFilter targets;  ///< Targets that the baseline applies to. Empty: all.
  };
  /// Sets several baselines by target. A shape's baseline is the first one for its target whose guards hold.
  SearchSpace& SetBaselinesByTarget(std::vector<Baseline> list);
  /// Sets the fallback config, which runs where no other config may, in a space without a baseline. It has a value for
  /// every axis.
  SearchSpace& SetFallback(std::vector<AxisAssignment> values);
  /// Sets the number of configs above which Enumerate refuses the space. Default: kDefaultMaxConfigs. The time to
  /// compile and measure grows in proportion to the number of configs.
  SearchSpace& MaxConfigs(int max_configs);

  /// Returns all configs for `target`, in the space's order. If `problem` is not null, it returns only those whose
  /// guards hold for it. An empty result is replaced by the fallback config. Errors: InvalidArgument for a mistake in
  /// the space, a baseline that violates a constraint or target filter (which is named), more configs than MaxConfigs,
  /// more than a million points, or an empty result without a fallback config (naming the constraint that pruned most);
  /// FailedPrecondition if the guards prune all configs and the baselines. An exception from a callback becomes an
  /// error.
  Result<std::vector<Config>> Enumerate(const Target& target, const Problem* problem = nullptr) const;

  /// Returns those of `configs` whose guards hold for `problem`, or the fallback config if none remains. REQUIRES:
  /// Enumerate returned `configs` for `target`. Errors: as for Enumerate.
  Result<std::vector<Config>> Fitting(std::vector<Config> configs, const Target& target, const Problem& problem) const;

  /// Returns the config with these values, one for each axis by name. A value need not be one of the axis's values, but
  /// must have their type. Constraints and target filters must hold, and guards are not checked. Errors:
  /// InvalidArgument, naming the axis or the constraint.
  Result<Config> ConfigNamed(const std::vector<std::pair<std::string, AxisValue>>& values, const Target& target) const;

  /// Looks up the dims that guards name in `dim_names`, whose order is that of Problem::dims. Errors: InvalidArgument,
  /// naming the guard, for a dim that is not in `dim_names`.
  Status ResolveDims(const std::vector<std::string>& dim_names);
  /// Returns OK if every guard holds for the config and the problem. Errors: FailedPrecondition, naming the first guard
  /// that does not hold, and an exception from a guard.
  Status CheckGuards(const Config& config, const Problem& problem) const;
  /// Returns whether a config may run for a problem.
  using GuardFn = std::function<bool(const Config&, const Problem&)>;
  /// Returns the guards for one config, with everything precomputed that depends on the config alone. Each guard still
  /// receives the config. For the hot path.
  std::vector<GuardFn> GuardsFor(const Config& config) const;
  /// Returns whether every guard holds for the config and the problem. Unlike CheckGuards it makes no message and does
  /// not catch exceptions.
  bool GuardsHold(const Config& config, const Problem& problem) const {
    for (const Guard& guard : guards_) {
      if (!guard.holds(config, problem)) return false;
    }
    return true;
  }

  bool has_guards() const { return !guards_.empty(); }
  /// Returns whether a guard is a function of the Problem, so that it may read scalars, and not of dims alone.
  bool guards_read_problem() const { return guards_read_problem_; }
  /// Returns the first baseline, whichever targets it applies to, or nothing if the space has none.
  std::optional<Config> baseline() const {
    return baselines_.empty() ? std::nullopt : std::optional<Config>(baselines_.front().config);
  }
  /// Returns the first baseline that applies to `target`, or nothing.
  std::optional<Config> BaselineOn(const Target& target) const;
  /// Returns all baselines that apply to `target`, in order of preference.
  std::vector<Config> BaselinesOn(const Target& target) const;
  /// Returns the first baseline for the problem's target whose guards hold, or nothing. Errors: an exception from a
  /// guard.
  Result<std::optional<Config>> BaselineFor(const Problem& problem) const;
  /// Returns the config of BaselineFor, or null. For the hot path; guards must not throw.
  const Config* FittingBaseline(const Problem& problem) const {
    for (const TargetBaseline& baseline : baselines_) {
      if (baseline.CountsOn(problem.target) && GuardsHold(baseline.config, problem)) return &baseline.config;
    }
    return nullptr;
  }
  /// Returns the config that SetFallback set, or nothing.
  const std::optional<Config>& fallback() const { return fallback_; }
  /// Returns the names of the axes of compiler options (AddOptionAxis) that have at least two values and whose option
  /// may change the numerical results of the kernel, such as `ftz` or `fmad`. AddOptionAxis lists these options.
  std::vector<std::string> OptionsThatChangeResults() const;
  /// Returns the names of the constraints, in the order in which they are checked.
  std::vector<std::string> ConstraintNames() const;
  /// Returns the names of the target filters, in the order in which they are checked.
  std::vector<std::string> TargetFilterNames() const;
  /// Returns the names of the guards, in the order in which they are checked.
  std::vector<std::string> GuardNames() const;
  /// Returns the number of configs before constraints, filters and guards: the length of the list if there is one, else
  /// the number of combinations. Saturates at INT64_MAX.
  std::int64_t NumPoints() const;
  int max_configs() const { return max_configs_; }
  bool HasIntAxis(const std::string& name) const;  ///< Returns whether an integer axis of this name exists.
  std::uint64_t id() const;

  /// Returns the first mistake made while building, or OK.
  const Status& status() const { return status_; }
  /// Returns InvalidArgument if a config of this space was read with an Axis of another space since the last call of
  /// this function, else OK.
  Status TakeMisuse() const;
  /// Prints the space on one line: "TILE_M in {64, 128} x occupancy (hint) in {1, 2}; constraint ...".
  std::string ToString() const;

 private:
  struct Constraint {
    std::string name;
    std::function<bool(const Config&)> holds;
  };
  struct Filter {
    std::string name;
    std::function<bool(const Config&, const Target&)> holds;
  };
  struct Guard {
    std::string name;
    GuardFn holds;
    std::string dim;  ///< Name of the dim whose value `of_extent` receives. Empty: not used.
    std::function<bool(const Config&, std::int64_t extent)> of_extent;
  };

  struct TargetBaseline {
    Config config;
    TargetFilter targets;

    bool CountsOn(const Target& target) const { return !targets || targets(target); }
  };

  SearchSpace& Add(Guard guard);
  int Add(const std::string& name, AxisKind kind, std::vector<AxisValue> values);
  int AddOption(const std::string& name, std::vector<AxisValue> values);
  /// Adds `values`, those of the axis that was added last, to the existing configs. The list has each config with each
  /// value. Baselines and the fallback config get the first one.
  void TakeAxis(const std::vector<AxisValue>& values);
  void AddListed(const std::vector<AxisAssignment>& values);
  std::optional<Config> MakeConfig(const char* what, const std::vector<AxisAssignment>& values);
  void NoteError(Status status);
  /// Returns the name of the constraint or filter that prunes `config`, or "". An exception becomes an error.
  Result<std::string> DroppedBy(const Config& config, const Target& target) const;
  /// Returns the name of the guard that does not hold for `config`, or "". An exception becomes an error.
  Result<std::string> FailingGuard(const Config& config, const Problem& problem) const;
  /// Returns what prunes `config`, like DroppedBy, or that the list of configs does not contain it.
  Result<std::string> NotAmong(const Config& config, const Target& target) const;
  bool IsListed(const Config& config) const;
  /// Returns the config at an index in the space's order. REQUIRES: 0 <= place < NumPoints().
  Config PointAt(std::int64_t place) const;
  /// The number of configs that each constraint, target filter and guard pruned, by its name.
  using Drops = std::map<std::string, int>;
  /// Returns OK if the space has no mistake and at most a million points, and each baseline for `target` is one of its
  /// configs.
  Status CheckBuilt(const Target& target) const;
  /// Removes from `configs` each config for which a guard does not hold for `problem`, and adds one to the entry of
  /// `drops` for the first guard that failed. Errors: an exception from a guard; `configs` is then unspecified.
  Status DropUnfit(const Problem& problem, std::vector<Config>* configs, Drops* drops) const;
  /// Returns `configs` if it is not empty, else the fallback config. Errors: those of Enumerate for an empty result.
  Result<std::vector<Config>> NotEmpty(std::vector<Config> configs, const Target& target, const Problem* problem,
                                       const Drops& drops) const;

  std::shared_ptr<struct AxisTable> axes_;
  std::vector<Constraint> constraints_;
  std::vector<Filter> filters_;
  std::vector<Guard> guards_;
  bool guards_read_problem_ = false;
  std::vector<std::vector<AxisValue>> listed_;                        // Empty: all combinations.
  std::set<std::vector<AxisValue>, AxisValueOrder> listed_by_value_;  // The list by value.
  std::vector<TargetBaseline> baselines_;                             // In order of preference.
  std::optional<Config> fallback_;
  int max_configs_ = kDefaultMaxConfigs;
  Status status_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_SEARCH_SPACE_H_
