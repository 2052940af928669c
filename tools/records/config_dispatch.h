#ifndef TUNEONCE_TOOLS_RECORDS_CONFIG_DISPATCH_H_
#define TUNEONCE_TOOLS_RECORDS_CONFIG_DISPATCH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tuneonce {
inline namespace v0 {

/// Returns few configs that contain, for each shape, one whose slowdown is at most 1 + `within`: a greedy cover, from
/// which configs are removed that the others make unnecessary. `slowdowns[s][c]`: the time of config `c` at shape `s`
/// divided by the best time there, infinity where it failed or was not measured. REQUIRES: the rows have equal lengths,
/// and each has a 1.
std::vector<std::size_t> FewestConfigs(const std::vector<std::vector<double>>& slowdowns, double within);

/// A tree that decides between configs by the extents of dims.
struct DispatchTree {
  struct Node {
    std::size_t dim = 0;       ///< Index of the dim that decides.
    std::int64_t at_most = 0;  ///< Extents up to this go to the next node, others to `above`.
    std::size_t above = 0;     ///< Index of a node. 0: this node is a leaf.
    std::size_t config = 0;    ///< The config of a leaf.
  };
  std::vector<Node> nodes;  ///< The first one is the root.

  std::size_t ConfigAt(const std::vector<std::int64_t>& extents) const;
  std::size_t num_leaves() const;
  /// Returns the tree as nested conditions, one line each. `names` are those of the dims and configs.
  std::string ToText(const std::vector<std::string>& dims, const std::vector<std::string>& configs) const;
};

/// Makes a tree that decides between `configs` for shapes with these extents, so that their mean slowdown is low. A
/// node becomes a leaf when one config is within 1 + `within` at all of its shapes, or at most `most_leaves` would be
/// exceeded. REQUIRES: `extents` and `slowdowns` have a row for each shape; at least one shape and one config.
DispatchTree MakeDispatchTree(const std::vector<std::vector<std::int64_t>>& extents,
                              const std::vector<std::vector<double>>& slowdowns,
                              const std::vector<std::size_t>& configs, double within, std::size_t most_leaves = 64);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_RECORDS_CONFIG_DISPATCH_H_
