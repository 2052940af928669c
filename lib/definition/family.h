#ifndef TUNEONCE_LIB_DEFINITION_FAMILY_H_
#define TUNEONCE_LIB_DEFINITION_FAMILY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuneonce/search_space.h"

namespace tuneonce {
inline namespace v0 {

/// Targets that are given the same list of configs. The last: the CPU device.
enum class Generation { kAmpere, kHopper, kBlackwell, kBlackwellRtx, kCpu };
Generation GenerationOf(const Target& target);

/// The targets that families are shown and checked on: the GPUs that there are since sm_80, and the CPU device.
std::vector<Target> KnownTargets();

/// A family as data: its configs by generation, and the limits that they must fit. search_space.h makes its spaces from
/// it.
struct Family {
  struct Axis {
    const char* name;
    AxisKind kind;
  };
  /// A tile of more than `least` is left out where half of it or more lies beyond the extent of `dim`.
  struct SizeGuard {
    const char* axis;
    const char* dim;
    std::int64_t least;
  };
  using Row = std::vector<std::int64_t>;  ///< A value per axis.
  struct Configs {
    std::vector<Generation> generations;
    std::vector<Row> rows;
    /// In order of preference, from `rows`. The last one has the smallest tiles, which no guard drops.
    std::vector<Row> baselines;
  };

  const char* name;     ///< "dense_matmul": in manifests, in Python, on the command line.
  const char* summary;  ///< A few words for lists.
  std::vector<Axis> axes;
  std::vector<Configs> configs;  ///< Each generation once.
  std::vector<SizeGuard> guards;
  /// For attention, the dim of a head's elements, if TILE_M x head accumulators are held.
  const char* head = nullptr;
  /// Bytes of the operands' tiles of one step over K: weight tiles of TILE_N per step, and bytes per element. 0: none.
  int num_weight_tiles = 0;
  int operand_bytes = 2;
  int least_capability = 0;  ///< Minimum compute capability of a GPU.

  /// The dims that guards name, in the order in which search_space.h has them.
  std::vector<std::string> Dims() const;
  /// Returns the target's list, or null if the family does not run there.
  const Configs* ConfigsOn(const Target& target) const;
  /// Makes the space with the configs, baselines and guards of all targets, or of `only`. `dims` has the definition's
  /// name of each guard's dim that has another name. An empty name omits the guards of that dim.
  SearchSpace ConfigsOf(const std::optional<Target>& only, const std::map<std::string, std::string>& dims) const;
  /// Adds the conditions of such a space that read the target.
  void AddTargetConditions(const std::optional<Target>& only, SearchSpace* space) const;
  /// Returns a target for each generation in which `runs_on` holds on a target. It is one that lists every
  /// config that any accepted target of the generation lists.
  std::vector<Target> WidestTargets(const Condition& runs_on) const;
  /// Both.
  SearchSpace Space(const std::optional<Target>& only = std::nullopt,
                    const std::map<std::string, std::string>& dims = {}) const;
};

/// All there are, in search_space.h's order.
const std::vector<Family>& AllFamilies();
/// Errors: InvalidArgument, listing the names there are.
Result<const Family*> FindFamily(std::string_view name);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_FAMILY_H_
