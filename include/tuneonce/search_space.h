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

/// One `axis = value` of a baseline or stand-in.
struct AxisAssignment {
  /// Not for a number with a fraction on an axis of whole numbers.
  template <typename T, typename V,
            typename = std::enable_if_t<!std::is_same_v<T, std::int64_t> || std::is_integral_v<std::decay_t<V>>>>
  AxisAssignment(const Axis<T>& axis, V&& its_value)  // NOLINT(google-explicit-constructor)
      : index(axis.index()), space_id(axis.space_id()), value(T(std::forward<V>(its_value))) {}

  int index;
  std::uint64_t space_id;
  AxisValue value;
};

/// Axes, named constraints, target filters, size guards, and an optional baseline and stand-in.
///
/// The space's order is the odometer's: the last axis added turns fastest. It is the same on every run and rank, and
/// ties between candidates are decided by it. Mistakes made while building (a name twice, an empty axis, an axis of
/// another space) are kept and returned by Enumerate, so that building needs no error handling of its own.
///
/// It may be added to, also where somebody else built it (families.h): an axis that comes after the list of configs,
/// the baseline or the stand-in multiplies the list, and these take its first value.
///
/// Copyable: a copy is a space of its own for which the same axis handles are valid. Thread rule: build on one thread;
/// const use from any.
class TUNEONCE_API SearchSpace {
 public:
  /// A space with more configs than this is refused, unless the caller raises the limit in words.
  static constexpr int kDefaultMaxConfigs = 30;

  SearchSpace();
  SearchSpace(const SearchSpace& other);
  SearchSpace(SearchSpace&& other) noexcept = default;
  SearchSpace& operator=(SearchSpace other) noexcept;
  ~SearchSpace();

  /// Structural axes. Values keep their order.
  IntAxis AddAxis(const std::string& name, std::initializer_list<std::int64_t> values);
  IntAxis AddAxis(const std::string& name, std::vector<std::int64_t> values);
  Axis<double> AddDoubleAxis(const std::string& name, std::vector<double> values);
  Axis<bool> AddBoolAxis(const std::string& name);  ///< false, true
  Axis<std::string> AddStringAxis(const std::string& name, std::vector<std::string> values);
  /// `first`, 2 * `first`, ... up to `last`. REQUIRES: both are powers of two.
  IntAxis AddPowerOfTwoAxis(const std::string& name, std::int64_t first, std::int64_t last);
  /// A hint axis: `name` is the hint that each value sets.
  IntAxis AddHintAxis(const std::string& name, std::vector<std::int64_t> values);
  /// An option axis: `name` is the compiler's option. Each compiler is given those that it takes, of the same source;
  /// where none of a config's does, configs are duplicates, measured once. 0 is not set (but for opt-level).
  ///
  /// - Numbers: `maxrregcount` (NVRTC, ptxas), `opt-level` (ptxas, tileiras, the host's compiler).
  /// - Truth values: `ftz` (NVRTC, Tile IR), `approx` (NVRTC, Tile IR), `prec-div`, `prec-sqrt`,
  ///   `extra-device-vectorization` (NVRTC), `use_fast_math` (NVRTC, the host's), `fmad` (NVRTC, ptxas, the host's),
  ///   `allow-expensive-optimizations` (ptxas), `unroll-loops` (the host's).
  /// - Words: `def-load-cache`, `def-store-cache` (ptxas, also behind NVRTC): `ca`, `cg` and so on.
  ///
  /// `ftz` makes float32 operations flush subnormal numbers to zero, and `approx` makes divisions and square roots
  /// approximate, in Tile IR exponentials and hyperbolic tangents too. For NVRTC `approx` stands for --prec-div=false
  /// and --prec-sqrt=false; in Tile IR both are patched into the bytecode. False leaves the source's own flags as they
  /// are.
  ///
  /// ftz, approx, prec-div, prec-sqrt, fmad, use_fast_math and opt-level may change results: of several values of one
  /// the definition must say by how much (VerifyWithin, or Within of each output). A baseline has ftz, approx and
  /// use_fast_math = false, since all results are verified against it; Enumerate refuses another.
  IntAxis AddOptionAxis(const std::string& name, std::vector<std::int64_t> values);
  Axis<bool> AddBoolOptionAxis(const std::string& name);  ///< false, true
  Axis<std::string> AddStringOptionAxis(const std::string& name, std::vector<std::string> values);

  /// The axis of whole numbers called `name`, for grids, constraints and configs over a space that was built elsewhere.
  /// One that is not there, or has other values, is a mistake, which Enumerate returns.
  IntAxis FindAxis(const std::string& name);

  /// A config is kept only if `holds(config)`. The name appears in messages: "fits in shared memory".
  SearchSpace& AddConstraint(const std::string& name, std::function<bool(const Config&)> holds);
  /// A config for which `holds(config, target)` is false is left out on that target.
  SearchSpace& AddTargetFilter(const std::string& name, std::function<bool(const Config&, const Target&)> holds);
  /// A config may run only where `holds` says so, a function of (const Config&, const Dims&), or of (const Config&,
  /// const Problem&) where scalars count. Checked when tuning and again at each launch, since a bucket's winner need
  /// not suit every shape in it.
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

  /// The same of one dim, by its name; a kernel that has no such dim is refused (KernelDefinition::Validate).
  SearchSpace& AddGuard(const std::string& name, const std::string& dim,
                        std::function<bool(const Config&, std::int64_t extent)> holds);

  /// The space is these configs, in this order, and not all combinations of the axes' values: a list that couples hints
  /// with tiles, say. Each names a value for every axis; none may be there twice. Constraints, filters and guards drop
  /// configs of the list as they do combinations; the baseline is one of them.
  SearchSpace& SetConfigs(const std::vector<std::vector<AxisAssignment>>& list);
  /// One more config, at the end of the list. An axis takes a value that it does not list yet.
  SearchSpace& AddConfig(const std::vector<AxisAssignment>& values);
  /// The config that is always measured, so that a winner is never slower. It names a value for every axis.
  SearchSpace& SetBaseline(std::vector<AxisAssignment> values);
  /// The same where no one config suits all shapes: for each, the baseline is the first of the list whose guards hold.
  /// A shape that none suits has no baseline.
  SearchSpace& SetBaselines(const std::vector<std::vector<AxisAssignment>>& list);
  /// The same where the baseline depends on the target too: each of the list counts on its targets alone.
  struct Baseline {
    std::vector<AxisAssignment> values;
    TargetFilter targets;  ///< Empty: all.
  };
  SearchSpace& SetBaselinesByTarget(std::vector<Baseline> list);
  /// The config that runs if nothing else may (and no baseline is set). It names a value for every axis.
  SearchSpace& SetStandIn(std::vector<AxisAssignment> values);
  /// Allows this many configs. More candidates cost compile and GPU time in proportion.
  SearchSpace& AllowConfigs(int max_configs);

  /// All configs for `target` and (if given) the problem that guards are asked about, in the space's order. Errors:
  /// InvalidArgument for anything wrong with the space, among them: a baseline that breaks a constraint or target
  /// filter (named); more configs than allowed; no config left and no stand-in (naming the constraint that emptied it).
  /// FailedPrecondition if the guards leave no config, not even a baseline. User callbacks' exceptions become a Status.
  Result<std::vector<Config>> Enumerate(const Target& target, const Problem* problem = nullptr) const;

  /// Of `configs`, which Enumerate listed for `target`: those that it lists for the problem too. Errors: as Enumerate.
  Result<std::vector<Config>> Fitting(std::vector<Config> configs, const Target& target, const Problem& problem) const;

  /// The config of these values, one for each axis by name. They need not be among those that the axes list;
  /// constraints and target filters must hold. Guards are not asked. Errors: InvalidArgument, naming the axis or what
  /// does not hold.
  Result<Config> ConfigNamed(const std::vector<std::pair<std::string, AxisValue>>& values, const Target& target) const;

  /// Finds the dims that guards name. Errors: InvalidArgument for a dim that is not among them, naming the guard.
  Status ResolveDims(const std::vector<std::string>& dim_names);
  /// OK if every guard holds. Errors: FailedPrecondition, naming the guard.
  Status CheckGuards(const Config& config, const Problem& problem) const;
  using GuardFn = std::function<bool(const Config&, const Problem&)>;
  /// The guards for `config` alone, which each still gets: with what is the config's in a manifest's terms computed.
  /// For the hot path.
  std::vector<GuardFn> GuardsFor(const Config& config) const;
  /// CheckGuards, without words.
  bool GuardsHold(const Config& config, const Problem& problem) const {
    for (const Guard& guard : guards_) {
      if (!guard.holds(config, problem)) return false;
    }
    return true;
  }

  bool has_guards() const { return !guards_.empty(); }
  /// Whether some guard asks for more than dims.
  bool guards_read_problem() const { return guards_read_problem_; }
  /// The first baseline, of whatever target.
  std::optional<Config> baseline() const {
    return baselines_.empty() ? std::nullopt : std::optional<Config>(baselines_.front().config);
  }
  /// The first that counts on `target`.
  std::optional<Config> BaselineOn(const Target& target) const;
  /// All that do, by preference.
  std::vector<Config> BaselinesOn(const Target& target) const;
  /// The first baseline of the problem's target whose guards hold. Errors: a guard that throws.
  Result<std::optional<Config>> BaselineFor(const Problem& problem) const;
  /// The hot path's form of BaselineFor: null if there is none.
  const Config* FittingBaseline(const Problem& problem) const {
    for (const TargetBaseline& baseline : baselines_) {
      if (baseline.CountsOn(problem.target) && GuardsHold(baseline.config, problem)) return &baseline.config;
    }
    return nullptr;
  }
  const std::optional<Config>& stand_in() const { return stand_in_; }
  /// The option axes whose values may change results, by name; not one of a single value.
  std::vector<std::string> OptionsThatChangeResults() const;
  /// Their names, in the order in which they are asked.
  std::vector<std::string> ConstraintNames() const;
  std::vector<std::string> TargetFilterNames() const;
  std::vector<std::string> GuardNames() const;
  /// Number of points before constraints and filters: of the list of configs, if there is one, else of all
  /// combinations. Saturates at INT64_MAX.
  std::int64_t NumPoints() const;
  int max_configs() const { return max_configs_; }
  bool HasIntAxis(const std::string& name) const;  ///< An axis of whole numbers.
  std::uint64_t id() const;

  /// The first thing that was wrong while building, or OK.
  const Status& status() const { return status_; }
  /// InvalidArgument if a config of this space was asked for an axis of another one since the last call; else OK.
  Status TakeMisuse() const;
  /// "TILE_M in {64, 128} x occupancy (hint) in {1, 2}; constraint ..." on one line.
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
    std::string dim;  ///< That it is about, by name; empty: it says so itself.
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
  /// Every config that is kept gets the first of `values`, which the axis that was added last has; the list all.
  void TakeAxis(const std::vector<AxisValue>& values);
  void AddListed(const std::vector<AxisAssignment>& values);
  std::optional<Config> MakeConfig(const char* what, const std::vector<AxisAssignment>& values);
  void NoteError(Status status);
  /// Name of the constraint or filter that drops `config`, or "". Exceptions become a Status.
  Result<std::string> DroppedBy(const Config& config, const Target& target) const;
  /// The same of guards.
  Result<std::string> FailingGuard(const Config& config, const Problem& problem) const;
  /// The same as DroppedBy of a config that may be none of the list.
  Result<std::string> NotAmong(const Config& config, const Target& target) const;
  bool IsListed(const Config& config) const;
  /// The point of this place in the space's order. REQUIRES: 0 <= place < NumPoints().
  Config PointAt(std::int64_t place) const;
  /// How many configs each constraint, filter and guard dropped.
  using Drops = std::map<std::string, int>;
  /// OK if the space can be walked, and its baseline is one of its configs on `target`.
  Status CheckBuilt(const Target& target) const;
  /// Drops what the guards do not allow.
  Status DropUnfit(const Problem& problem, std::vector<Config>* configs, Drops* drops) const;
  /// `configs`; the stand-in if there are none; an error if there is none of that either.
  Result<std::vector<Config>> NotEmpty(std::vector<Config> configs, const Target& target, const Problem* problem,
                                       const Drops& drops) const;

  std::shared_ptr<struct AxisTable> axes_;
  std::vector<Constraint> constraints_;
  std::vector<Filter> filters_;
  std::vector<Guard> guards_;
  bool guards_read_problem_ = false;
  std::vector<std::vector<AxisValue>> listed_;                        // Empty: all combinations.
  std::set<std::vector<AxisValue>, AxisValueOrder> listed_by_value_;  // The same.
  std::vector<TargetBaseline> baselines_;                             // By preference.
  std::optional<Config> stand_in_;
  int max_configs_ = kDefaultMaxConfigs;
  Status status_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_SEARCH_SPACE_H_
