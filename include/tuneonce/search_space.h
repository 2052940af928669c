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

#include "tuneonce/arguments.h"
#include "tuneonce/config.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/result.h"

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

/// The configs that a search may try: axes, named conditions, and optional baselines and a fallback config.
///
/// What a condition reads decides when it is asked. A condition of axes prunes the space while it is enumerated, as
/// soon as the axes that it reads have values. A condition that also reads the target prunes it on each device. A
/// condition that reads dims or scalars is a guard: it lets a config run only for some problems, and is asked when
/// tuning and at each launch, because the config that was tuned for a bucket may not suit every shape in it.
///
/// Configs are in lexicographic order of the axes' values: the axis that was added last changes fastest. The order is
/// the same on every run and rank, and decides ties between candidates. Mistakes made while building (a duplicate name,
/// an empty axis, an axis of another space) are kept and returned by Enumerate, so that building needs no error
/// handling.
///
/// Axes can be added to a complete space, such as one of a family. If the space has a list of configs, it then has
/// each of them with each value of the new axis. Its baselines and fallback config get the first value.
///
/// Copyable: a copy is a space of its own for which the same axis handles are valid. Thread rule: build on one thread,
/// and call const functions from any thread.
class TUNEONCE_API SearchSpace {
 public:
  /// Default of MaxConfigs.
  static constexpr int kDefaultMaxConfigs = 30;
  /// The most configs that Enumerate returns and a search can choose from. Of more they get a sample of 100,000.
  static constexpr int kMostConfigs = 1000000;

  SearchSpace();
  SearchSpace(const SearchSpace& other);
  SearchSpace(SearchSpace&& other) noexcept = default;
  SearchSpace& operator=(SearchSpace other) noexcept;
  ~SearchSpace();

  /// Adds a structural axis of integers. Values keep their order.
  IntAxis AddAxis(const std::string& name, std::initializer_list<std::int64_t> values) {
    return AddAxis(name, std::vector<std::int64_t>(values));
  }
  /// Adds a structural axis of integers. Values keep their order.
  IntAxis AddAxis(const std::string& name, std::vector<std::int64_t> values) {
    return AddValues<std::int64_t>(name, AxisKind::kStructural, std::move(values));
  }
  /// Adds a structural axis of doubles. Values keep their order.
  Axis<double> AddDoubleAxis(const std::string& name, std::vector<double> values) {
    return AddValues<double>(name, AxisKind::kStructural, std::move(values));
  }
  /// Adds a structural axis with the values false and true.
  Axis<bool> AddBoolAxis(const std::string& name) {
    return AddValues<bool>(name, AxisKind::kStructural, {false, true});
  }
  /// Adds a structural axis of strings. Values keep their order.
  Axis<std::string> AddStringAxis(const std::string& name, std::vector<std::string> values) {
    return AddValues<std::string>(name, AxisKind::kStructural, std::move(values));
  }
  /// Adds a structural axis with the values `first`, 2 * `first`, ... up to `last`. REQUIRES: both are powers of two.
  IntAxis AddPowerOfTwoAxis(const std::string& name, std::int64_t first, std::int64_t last);
  /// Adds a hint axis. `name` is the compiler hint that each value sets.
  IntAxis AddHintAxis(const std::string& name, std::vector<std::int64_t> values) {
    return AddValues<std::int64_t>(name, AxisKind::kHint, std::move(values));
  }
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
  IntAxis AddOptionAxis(const std::string& name, std::vector<std::int64_t> values) {
    return AddValues<std::int64_t>(name, AxisKind::kOption, std::move(values));
  }
  /// Adds an option axis with the values false and true. AddOptionAxis lists the options.
  Axis<bool> AddBoolOptionAxis(const std::string& name) {
    return AddValues<bool>(name, AxisKind::kOption, {false, true});
  }
  /// Adds an option axis of strings. AddOptionAxis lists the options.
  Axis<std::string> AddStringOptionAxis(const std::string& name, std::vector<std::string> values) {
    return AddValues<std::string>(name, AxisKind::kOption, std::move(values));
  }

  /// Returns the integer axis called `name`, for grids, conditions and configs over a space that was built elsewhere.
  /// A missing axis, or one with values of another type, is a mistake that Enumerate returns.
  IntAxis FindAxis(const std::string& name);

  /// Keeps only configs for which the condition holds. `name` appears in messages: "fits in shared memory". Add the
  /// axes that the condition names before. Enumerate returns the mistakes: an axis of another space, or a comparison
  /// with a value of another type. KernelDefinition::Validate returns InvalidArgument for a name that is neither an
  /// axis, nor a dim, nor a scalar.
  ///
  ///   space.Where("fits in shared memory", tile_m * tile_k * 2 <= SharedMemory());
  ///   space.Where("no padding", D("M") % tile_m == 0);
  ///   space.Where("mine", [=](const Config& config) { return IsMine(config[tile_m]); });
  SearchSpace& Where(std::string name, Condition condition);

  /// Restricts the space to these configs, in this order, in place of all combinations of the axes' values. A list can
  /// couple hints with tiles, for example. Each config has a value for every axis that has more than one, and must
  /// occur once. Conditions apply to the list as they do to combinations, and the baseline must be in the list.
  SearchSpace& SetConfigs(const std::vector<std::vector<AxisAssignment>>& list);
  /// Appends one config to the list that SetConfigs set. A value that its structural or hint axis does not have yet is
  /// added to the axis. Enumerate returns the mistakes: no list, a repeated config, or a new value of an option axis.
  SearchSpace& AddConfig(const std::vector<AxisAssignment>& values);
  /// Sets the config that is always measured, so that a winner is never slower than it. It has a value for every axis
  /// that has more than one.
  SearchSpace& SetBaseline(std::vector<AxisAssignment> values);
  /// One of several baselines, and where it applies.
  struct Baseline {
    std::vector<AxisAssignment> values;
    Condition where = Condition();  ///< Reads the target, dims and scalars. Default: everywhere.
  };
  /// Sets several baselines, for spaces where one config does not suit all shapes or targets. The baseline of a problem
  /// is the first one whose condition holds and for which the guards hold. A problem without one has no baseline. Where
  /// a search selects the baseline and launches of the key have different ones, each launch runs its own.
  SearchSpace& SetBaselines(std::vector<Baseline> list);
  /// Sets the fallback config, which runs where no baseline applies, if it meets the conditions. If no config meets
  /// them, it only has to meet the guards. It has a value for every axis.
  SearchSpace& SetFallback(std::vector<AxisAssignment> values);
  /// Sets the number of configs up to which a search tries all. Of more configs a search tries those that a strategy
  /// proposes (SearchOptions::strategy). Default: kDefaultMaxConfigs. The time to compile and measure grows in
  /// proportion to the number of configs that are tried.
  SearchSpace& MaxConfigs(int max_configs);

  /// The number of points that each condition excludes, by its name and text. A point that several conditions exclude
  /// counts for at least one of them.
  using Exclusions = std::map<std::string, std::int64_t>;
  /// Returns the configs for `target`, in the space's order. If `problem` is not null, it has only those whose guards
  /// hold for it. It may be empty. The set needs little memory even if it has millions of configs, and no config is
  /// made before it is known to be valid. Errors: InvalidArgument for a mistake in the space, a baseline that violates
  /// a condition (which is named), more than 4 million configs that have to be listed, or conditions that have to be
  /// asked more than 200 million times (functions a million times). An exception from a function becomes an error.
  /// Adds to `excluded`, which may be null, what the conditions exclude.
  Result<ConfigSet> Configs(const Target& target, const Problem* problem = nullptr,
                            Exclusions* excluded = nullptr) const;
  /// Returns the configs of Configs one by one; of more than kMostConfigs, the baselines and a random sample, the same
  /// each time. The fallback config replaces an empty result. Errors: those of Configs; InvalidArgument for an empty
  /// result without a fallback config (naming what pruned most), or FailedPrecondition if it was the guards.
  Result<std::vector<Config>> Enumerate(const Target& target, const Problem* problem = nullptr) const;
  /// Returns the first config of Enumerate(target), without making the others: it stops at the first point for which
  /// all conditions but the guards hold. Errors: those of Enumerate.
  TUNEONCE_LOCAL Result<Config> First(const Target& target) const;
  /// Returns OK if the space has the config on `target`, and its guards hold for `problem` if that is not null. It asks
  /// the conditions about this config alone, and does not enumerate. Errors: InvalidArgument for a config with other
  /// axes or values, or one that breaks a condition (which is named); FailedPrecondition, naming the guard.
  Status Contains(const Config& config, const Target& target, const Problem* problem = nullptr) const;
  /// Returns a hash of the axes, conditions, listed configs, baselines and fallback config, the same in every process.
  /// A function takes part by its name alone. It does not enumerate.
  TUNEONCE_LOCAL Fingerprint Identity() const;

  /// Returns those of `configs` whose guards hold for `problem`, or the fallback config if none remains. REQUIRES:
  /// Enumerate returned `configs` for `target`. Errors: as for Enumerate.
  TUNEONCE_LOCAL Result<std::vector<Config>> Fitting(std::vector<Config> configs, const Target& target,
                                                     const Problem& problem) const;

  /// Returns the config with these values, one for each axis by name. A value need not be one of the axis's values, but
  /// must have their type. All conditions but the guards must hold. Errors: InvalidArgument, naming the axis or the
  /// condition.
  Result<Config> ConfigNamed(const std::vector<std::pair<std::string, AxisValue>>& values, const Target& target) const;

  /// Looks up the names of dims and scalars in the conditions. Errors: InvalidArgument, naming the condition and the
  /// unknown name.
  TUNEONCE_LOCAL Status Resolve(const TermNames& names);
  /// Returns OK if every guard holds for the config and the problem. Errors: FailedPrecondition, naming the first guard
  /// that does not hold, and an exception from a guard.
  Status CheckGuards(const Config& config, const Problem& problem) const;
  /// Returns the guards for one config, with everything precomputed that depends on the config alone. Guards that
  /// always hold for the config are not among them. For the hot path.
  TUNEONCE_LOCAL std::vector<Condition> GuardsFor(const Config& config) const;
  /// Returns whether every guard holds for the config and the problem. Unlike CheckGuards it makes no message and does
  /// not catch exceptions.
  bool GuardsHold(const Config& config, const Problem& problem) const {
    for (const NamedCondition& guard : guards_) {
      if (!guard.condition.Holds(config, problem)) return false;
    }
    return true;
  }

  /// Returns whether the space has guards, which are the conditions that read dims or scalars.
  bool has_guards() const { return !guards_.empty(); }
  /// Returns the first baseline, whatever its condition, or nothing if the space has none.
  std::optional<Config> baseline() const {
    return baselines_.empty() ? std::nullopt : std::optional<Config>(baselines_.front().config);
  }
  /// Returns the conditions that decide which baseline a problem has: those of the baselines, and the guards.
  TUNEONCE_LOCAL std::vector<Condition> ConditionsOfBaselines() const;
  /// Returns whether `config` is a baseline for some dims or scalars only, by its condition.
  TUNEONCE_LOCAL bool IsBaselineOfSome(const Config& config) const;
  /// Returns the first baseline that applies to some problem on `target`, or nothing.
  TUNEONCE_LOCAL std::optional<Config> BaselineOn(const Target& target) const;
  /// Returns all baselines that apply to some problem on `target`, in order of preference.
  TUNEONCE_LOCAL std::vector<Config> BaselinesOn(const Target& target) const;
  /// Returns the first baseline whose condition holds for the problem and whose guards hold, or nothing. Errors: an
  /// exception from a condition.
  TUNEONCE_LOCAL Result<std::optional<Config>> BaselineFor(const Problem& problem) const;
  /// Returns the first baseline of BaselineFor that `accepts` returns true for, or nothing.
  TUNEONCE_LOCAL Result<std::optional<Config>> BaselineFor(const Problem& problem,
                                                           const std::function<bool(const Config&)>& accepts) const;
  /// Returns the config of BaselineFor, or null. For the hot path; conditions must not throw.
  const Config* FittingBaseline(const Problem& problem) const {
    return FittingBaseline(problem, [](const Config&) { return true; });
  }
  /// Returns the first baseline of FittingBaseline that `accepts` returns true for, or null.
  template <typename Accepts>
  const Config* FittingBaseline(const Problem& problem, const Accepts& accepts) const {
    for (const PlacedBaseline& baseline : baselines_) {
      if (baseline.where.Holds(baseline.config, problem) && GuardsHold(baseline.config, problem) &&
          accepts(baseline.config)) {
        return &baseline.config;
      }
    }
    return nullptr;
  }
  /// Returns the config that SetFallback set, or nothing.
  const std::optional<Config>& fallback() const { return fallback_; }
  /// Returns the names of the axes of compiler options (AddOptionAxis) that have at least two values and whose option
  /// may change the numerical results of the kernel, such as `ftz` or `fmad`. AddOptionAxis lists these options.
  TUNEONCE_LOCAL std::vector<std::string> OptionsThatChangeResults() const;
  /// Returns all conditions, the guards last. Otherwise they are in the order in which they were added.
  std::vector<NamedCondition> conditions() const;
  /// Returns the number of configs before conditions: the length of the list if there is one, else the number of
  /// combinations. Saturates at INT64_MAX.
  std::int64_t NumPoints() const;
  /// Returns the values of the integer axes that are structural, whether or not a config has them.
  TUNEONCE_LOCAL std::set<std::int64_t> StructuralNumbers() const;
  int max_configs() const { return max_configs_; }
  std::uint64_t id() const;

  /// Returns the first mistake made while building, or OK.
  const Status& status() const { return status_; }
  /// Returns InvalidArgument if a config of this space was read with an Axis of another space since the last call of
  /// this function, else OK.
  Status TakeMisuse() const;
  /// Prints the space on one line: "TILE_M in {64, 128} x occupancy (hint) in {1, 2}; where fits (TILE_M <= 64)".
  std::string ToString() const;

 private:
  friend class KernelDefinition;

  struct PlacedBaseline {
    Config config;
    Condition where;
    Condition on_target;  ///< The part of `where` that does not read the problem.
  };

  /// Turns the names of axes in `condition` into axes. Errors: those of Condition::BindAxes.
  TUNEONCE_LOCAL Status Bind(Condition* condition) const;
  /// Returns the different conditions that `condition` becomes for the values of the axes that it reads
  /// (Condition::For). Errors: InvalidArgument for axes with more than 65536 combinations of values.
  TUNEONCE_LOCAL Result<std::vector<Condition>> Folded(const Condition& condition) const;
  /// Refuses a condition that only Variant::Requires takes.
  TUNEONCE_LOCAL void CheckReads(const Condition& condition, const std::string& where);
  template <typename T>
  Axis<T> AddValues(const std::string& name, AxisKind kind, std::vector<T> values) {
    std::vector<AxisValue> any;
    for (auto&& value : values) any.emplace_back(T(std::move(value)));
    return Axis<T>(Add(name, kind, std::move(any)), id());
  }
  /// Adds an axis and returns its index.
  int Add(const std::string& name, AxisKind kind, std::vector<AxisValue> values);
  /// Notes what is wrong with an axis of a compiler option.
  TUNEONCE_LOCAL void CheckOption(const std::string& name, const std::vector<AxisValue>& values);
  /// Adds `values`, those of the axis that was added last, to the existing configs. The list has each config with each
  /// value. Baselines and the fallback config get the first one.
  TUNEONCE_LOCAL void TakeAxis(const std::vector<AxisValue>& values);
  TUNEONCE_LOCAL void AddListed(const std::vector<AxisAssignment>& values);
  TUNEONCE_LOCAL std::optional<Config> MakeConfig(const char* what, const std::vector<AxisAssignment>& values);
  TUNEONCE_LOCAL void NoteError(Status status);
  /// Returns what prunes `config` on the target, as "condition 'NAME' (TEXT)", or "". An exception becomes an error.
  TUNEONCE_LOCAL Result<std::string> DroppedBy(const Config& config, const Target& target) const;
  /// Returns the guard that does not hold for `config`, or "". An exception becomes an error.
  TUNEONCE_LOCAL Result<std::string> FailingGuard(const Config& config, const Problem& problem) const;
  /// Returns what prunes `config`, like DroppedBy, or that the list of configs does not contain it.
  TUNEONCE_LOCAL Result<std::string> NotAmong(const Config& config, const Target& target) const;
  TUNEONCE_LOCAL bool IsListed(const Config& config) const;
  /// Returns OK if the space has no mistake, and each baseline for `target` is one of its configs.
  TUNEONCE_LOCAL Status CheckBuilt(const Target& target) const;
  /// Implements Configs, and adds what each condition pruned to `excluded`. With `first_only` the set has the first
  /// config of all at its index 0, and may lack others.
  TUNEONCE_LOCAL Result<ConfigSet> Walk(const Target& target, const Problem* problem, Exclusions* excluded,
                                        bool first_only = false) const;
  TUNEONCE_LOCAL Result<ConfigSet> WalkList(const Target& target, const Problem* problem, Exclusions* excluded,
                                            bool first_only) const;
  /// Removes from `configs` each config for which a guard does not hold for `problem`, and adds one to the entry of
  /// `excluded` for the first guard that failed. Errors: an exception from a guard; `configs` is then unspecified.
  TUNEONCE_LOCAL Status DropUnfit(const Problem& problem, std::vector<Config>* configs, Exclusions* excluded) const;
  /// Returns `configs` if it is not empty, else the fallback config. Errors: those of Enumerate for an empty result.
  TUNEONCE_LOCAL Result<std::vector<Config>> NotEmpty(std::vector<Config> configs, const Target& target,
                                                      const Problem* problem, const Exclusions& excluded) const;

  std::shared_ptr<struct AxisTable> axes_;
  std::vector<NamedCondition> conditions_;  // All but the guards.
  std::vector<NamedCondition> guards_;
  std::vector<std::vector<AxisValue>> listed_;                        // Empty: all combinations.
  std::set<std::vector<AxisValue>, AxisValueOrder> listed_by_value_;  // The list by value.
  std::vector<PlacedBaseline> baselines_;                             // In order of preference.
  std::optional<Config> fallback_;
  int max_configs_ = kDefaultMaxConfigs;
  Status status_;
};

/// Search spaces to start from, one for each family of kernels. They contain the configs that published recipes try.
///
///   SearchSpace space = families::DenseMatmul();
///   IntAxis tile_m = space.FindAxis("TILE_M"), tile_n = space.FindAxis("TILE_N");
///   space.AddAxis("SPLIT_K", {1, 2, 4});   // Multiplies the configs; the baseline gets the first value.
///   space.MaxConfigs(90);
///
/// Every space
/// - has at most 30 configs on a target, including a baseline, which is the fixed config that the recipe runs untuned;
/// - depends on the target: matrix products have one list of configs each for sm_80 to sm_89, sm_90, sm_100 to sm_119
///   and sm_12x, and a short one for the CPU device, whose compiler ignores hints. A condition selects the list.
///   With `only`, the space has that target's list alone, with the same configs in the same order;
/// - has guards for sizes: a tile of which half or more would be padding is pruned, down to the family's smallest tile.
///   The last argument names the dims, and an empty name omits their guards;
/// - has `num_ctas` > 1 only on targets with clusters (sm_90 and newer, not sm_12x), and only for matrix products,
///   whose blocks can share a tile that one of them loads, and for Elementwise, where it was the best of 120 configs.
///   Blocks of row kernels share no data: 12 configs with clusters gained no more than 4 without (TileGym's cross
///   entropy).
///
/// The axes have the names that cuTile's and Triton's kernels use: TILE_M, TILE_N, TILE_K, TILE, and the hints
/// `occupancy` and `num_ctas`. A grid of persistent blocks is divided by num_ctas: Grid::PersistentTiles(tiles,
/// num_ctas, occupancy).
///
/// Sources. TileGym is NVIDIA's collection of cuTile kernels, github.com/NVIDIA/TileGym at 75a1430 (August 2026): its
/// config lists in src/tilegym/ops/cutile and its guide to tuning (skills/tilegym-cutile-autotuning/references), which
/// its authors tuned on A100, H100, B200, GB300 and RTX 5090. Triton stands for the config lists of its tutorials 03,
/// 06, 08 and 09. Sizes of shared memory and registers are from the CUDA C++ Programming Guide, technical
/// specifications per compute capability.
///
/// Thread rule: any thread. Errors: Enumerate returns the errors of the space.
namespace families {

/// The names that a kernel gives the dims of a matrix product of M x K by K x N. An empty name omits the guards for the
/// dim.
struct MatmulDims {
  std::string m = "M";
  std::string n = "N";
  std::string k = "K";
};

/// The names that a kernel gives the dims of attention: the number of queries, the number of keys, and the number of
/// elements of a head. An empty name omits the guards for the dim.
struct AttentionDims {
  std::string queries = "M";
  std::string keys = "N";
  std::string head = "D";
};

/// Returns a space for any kernel whose tiles are fixed: the hint `occupancy` is 1, 2, 4 or 8. Baseline: 1. (TileGym
/// uses it for all kernels without a tile to choose. Small inputs prefer 1 or 2, large ones 4 or 8.)
TUNEONCE_API SearchSpace OccupancyOnly();

/// Returns a space for kernels that read rows twice and scale them (rms_norm, layer_norm, softmax of rows that fit a
/// tile). TILE_N, the number of elements of a row that are processed at a time, is 1024 to 8192 with `occupancy` 2 and
/// 4, or 16384 with 1 and 2. Baseline: 4096 and 4, or 1024 and 4 for short rows. (TileGym's softmax runs at 2 or 4,
/// because from 5 on long rows spill registers. Rows of 16384 in one tile at occupancy 2 were the best of 108 configs
/// for layer_norm and softmax on an H200, 1.2x and 1.07x faster than 4096: docs/internal/spaces.md.) `n` is the dim of
/// the row. A kernel that does not loop over the row needs its own guard, N <= TILE_N.
TUNEONCE_API SearchSpace NormLike(const std::string& n = "N");

/// Returns a space for kernels that read rows once (sums, maxima, cross entropy): TILE_N 1024 to 8192 with `occupancy`
/// 4, 8 and 16, as long as the loaded float32 values take at most half of a multiprocessor's 64 Ki registers. Baseline:
/// 4096 and 4, or 1024 and 4 for short rows. (TileGym uses 8 to 16 for memory-bound kernels, which need more loads in
/// flight than arithmetic does.) `n` is the dim of the row.
TUNEONCE_API SearchSpace Reduction(const std::string& n = "N");

/// Returns a space for kernels that compute each output element from the input elements at its place (gated
/// activations, casts, additions): TILE, the number of elements in a tile, is 1024, 2048 or 4096, with `occupancy` 1,
/// 2, 4 and 16. On sm_90 to sm_119 it also has three configs with `num_ctas` 2, where a cluster of two blocks processes
/// one tile and each thread has more elements: TILE 2048 with `occupancy` 1, and 4096 with 1 and 16. Baseline: TILE
/// 1024 with `occupancy` 1. (TILE 1024 was the best of 256 to 8192 in TileGym's sweep on a B200, and light kernels run
/// with 16 blocks per multiprocessor. TILE 4096 with `num_ctas` 2 and `occupancy` 16 was the best of 120 configs for 64
/// Mi elements on an H100: docs/internal/spaces.md.) `n` is the dim that is divided into tiles.
TUNEONCE_API SearchSpace Elementwise(const std::string& n = "N");

/// Returns a space for kernels that write their input (rotary embedding): `occupancy` 1, 2, 4, 6, 8 and 12. The tile is
/// fixed by heads and head size, and all heads in one tile ran 1.2x faster than half of them. Baseline: 1. (TileGym's
/// rotary embedding tries 1, 7, 9 and 12, and 6 was the best of 112 on an H200: docs/internal/performance_diary.md.)
/// Declare the tensor InOut, so that a search restores it before each run and the caller's tensor does not change.
TUNEONCE_API SearchSpace InPlace();

/// Returns a space for c = a b with one block per tile of c: TILE_M x TILE_N x TILE_K, `occupancy`, `num_ctas`.
/// - sm_80 to sm_89: 64 and 128, TILE_K 32 to 128, occupancy 1 and 2. Larger accumulators spill there.
/// - sm_90: 64 to 256, TILE_K 64 (32 and 128 for the middle ones), clusters of 2 for the larger ones. 256 x 128 with
///   TILE_K 32 and two clusters of 2 was the best of 228 configs for 8192^3 on an H100
///   (docs/internal/performance_diary.md): a block holds half a tile, so that two blocks fit a multiprocessor. 16 x 64
///   is for few rows. 128 x 32 and 256 x 32 are for rows of b that start at any element, which are loaded one element
///   at a time. They were the best of 228 configs for 777 columns on an H200.
/// - sm_100 to sm_119: the same tiles up to 512 x 256, with clusters of 2 and 4, whose blocks share operands, for the
///   larger ones.
/// - sm_12x: 64 and 128, TILE_K 32 and 64, occupancy 1, 2 and 4. Shared memory is 99 KiB, and clusters do not help.
///
/// Baseline: 128 x 128 x 64 (sm_12x: 128 x 64 x 64) in one block, or 64 x 64 x 64 where that is mostly padding. A
/// condition prunes configs for which two stages of 2-byte operands do not fit in shared memory, because loads and
/// products would then alternate. (TileGym's matmul and bmm; Triton's tutorial 03.)
TUNEONCE_API SearchSpace DenseMatmul(const std::optional<Target>& only = std::nullopt, const MatmulDims& dims = {});

/// Returns a space for c = a b with persistent blocks that loop over tiles, for a grid of Grid::PersistentTiles. It has
/// fewer configs than DenseMatmul, because occupancy multiplies the grid, and TILE_K is 64 (32 before sm_90, 128 for
/// few rows and few columns). (TileGym's static persistent matmul; Triton's tutorial 09.)
TUNEONCE_API SearchSpace PersistentMatmul(const std::optional<Target>& only = std::nullopt,
                                          const MatmulDims& dims = {});

/// Returns a space for softmax(q k') v with one block per tile of queries: TILE_M queries x TILE_N keys, `occupancy`,
/// `num_ctas`.
/// - sm_80 to sm_89 and sm_12x: 64 and 128; baseline 64 x 64 at occupancy 2.
/// - sm_90: up to 256 x 128 in one block, and a cluster of 2 for 128 x 128 at occupancy 2, the best of 120 configs on
///   an H200; baseline 128 x 128 at occupancy 2.
/// - sm_100 to sm_119: up to 256 x 128, with a cluster of 2 for that tile; the same baseline.
///
/// A guard keeps the accumulator of TILE_M x head elements within half of the registers, so that heads of 256 get at
/// most 128 queries. (TileGym's fmha, attention_sink and mla; Triton's tutorial 06. Grid: Grid::Attention2D.)
TUNEONCE_API SearchSpace Attention(const std::optional<Target>& only = std::nullopt, const AttentionDims& dims = {});

/// Returns a space for c = a b of 8-bit floats with scales per block: TILE_M 16 to 256 with `occupancy` 1, 2 and 4, and
/// `num_ctas` 2 for 64 on sm_90 and for the largest tile from sm_100 on. TILE_N and TILE_K are 128, the block of a
/// scale, because a tile across two of them would compute an incorrect result. From sm_89 on. Tiles of 64 rows are also
/// tried for fewer rows: sm_90's tensor cores process 64 at a time, and one row took 11 us with them and 31 us without
/// on an H200 (docs/internal/spaces.md). Baseline: TILE_M of 128, or 64 for up to 64 rows, at occupancy 1. (TileGym's
/// template for block scales.) A kernel that can swap its operands for skinny M adds AddAxis("SWAP_AB", {0, 1}), and
/// one with a scale per tensor adds wider tiles with AddConfig.
TUNEONCE_API SearchSpace Fp8Matmul(const std::optional<Target>& only = std::nullopt, const MatmulDims& dims = {});

/// Returns a space for products of many sizes in one launch (mixture of experts) with persistent blocks: TILE_M x
/// TILE_N x TILE_K, `occupancy` 1 and 2, clusters of 2 for the largest tiles from sm_100 on, and tiles of 16 and 32
/// rows for small groups on sm_90. It has few configs, because each costs a compile. Baseline: 128 x 128 x 64, or 64 x
/// 128 x 64 where that is mostly padding. (TileGym's group_gemm.) `dims.m` is the number of rows of all groups
/// together.
TUNEONCE_API SearchSpace GroupedGemm(const std::optional<Target>& only = std::nullopt, const MatmulDims& dims = {});

/// Returns a space for attention over sequences of different lengths (cu_seqlens, paged keys): that of Attention with
/// small tiles on every target, because most sequences are shorter than the longest one. (TileGym's attention_varlen: a
/// cluster of 2 at 256 x 128 gained 13 % on sm_100.) `dims.queries` is the number of queries of all sequences together,
/// and no guard reads the keys.
TUNEONCE_API SearchSpace VarlenAttention(const std::optional<Target>& only = std::nullopt,
                                         const AttentionDims& dims = {});

/// Returns a space for two gated products of one input (gate and up projections): that of DenseMatmul with smaller
/// tiles and mostly occupancy 1, because a block holds two accumulators and loads two weight tiles. (TileGym's
/// linear_gluact: occupancy 2 spills, but was the fastest with clusters of 2 on GB300. On an H200 16 rows were the best
/// of 228 configs for one row, and 256 x 32 with a cluster of 2 for 777 columns.)
TUNEONCE_API SearchSpace DualGemm(const std::optional<Target>& only = std::nullopt, const MatmulDims& dims = {});

}  // namespace families

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_SEARCH_SPACE_H_
