#include "records/config_dispatch.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// A config that was not measured at a shape counts as this slow there.
constexpr double kMostSlowdown = 4;

class TreeMaker {
 public:
  TreeMaker(const std::vector<std::vector<std::int64_t>>& extents, const std::vector<std::vector<double>>& slowdowns,
            const std::vector<std::size_t>& configs, double within, std::size_t most_leaves)
      : extents_(extents), slowdowns_(slowdowns), configs_(configs), within_(within), num_left_(most_leaves) {}

  DispatchTree Make() {
    std::vector<std::size_t> all(extents_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    Grow(all);
    return std::move(tree_);
  }

 private:
  struct Leaf {
    std::size_t config = 0;
    double cost = std::numeric_limits<double>::infinity();  // Sum of slowdowns.
    double largest = 0;
  };

  Leaf LeafOf(const std::vector<std::size_t>& shapes) const {
    Leaf best;
    for (std::size_t config : configs_) {
      Leaf leaf{config, 0, 0};
      for (std::size_t shape : shapes) {
        const double slowdown = std::min(slowdowns_[shape][config], kMostSlowdown);
        leaf.cost += slowdown;
        leaf.largest = std::max(leaf.largest, slowdown);
      }
      if (leaf.cost < best.cost) best = leaf;
    }
    return best;
  }

  void Grow(const std::vector<std::size_t>& shapes) {
    const std::size_t place = tree_.nodes.size();
    tree_.nodes.emplace_back();
    const Leaf leaf = LeafOf(shapes);
    tree_.nodes[place].config = leaf.config;
    if (leaf.largest <= 1 + within_ || num_left_ <= 1) return;
    double least = leaf.cost;
    std::vector<std::size_t> below, above;
    for (std::size_t dim = 0; dim < extents_.front().size(); ++dim) {
      std::set<std::int64_t> cuts;
      for (std::size_t shape : shapes) cuts.insert(extents_[shape][dim]);
      cuts.erase(*cuts.rbegin());
      for (std::int64_t cut : cuts) {
        std::vector<std::size_t> sides[2];
        for (std::size_t shape : shapes) sides[extents_[shape][dim] > cut ? 1 : 0].push_back(shape);
        const double cost = LeafOf(sides[0]).cost + LeafOf(sides[1]).cost;
        if (cost >= least) continue;
        least = cost;
        tree_.nodes[place].dim = dim;
        tree_.nodes[place].at_most = cut;
        below = sides[0];
        above = sides[1];
      }
    }
    if (below.empty()) return;
    --num_left_;
    Grow(below);
    tree_.nodes[place].above = tree_.nodes.size();
    Grow(above);
  }

  const std::vector<std::vector<std::int64_t>>& extents_;
  const std::vector<std::vector<double>>& slowdowns_;
  const std::vector<std::size_t>& configs_;
  const double within_;
  std::size_t num_left_;  // Leaves that may be added, and the one that grows.
  DispatchTree tree_;
};

}  // namespace

std::vector<std::size_t> FewestConfigs(const std::vector<std::vector<double>>& slowdowns, double within) {
  std::vector<std::size_t> chosen;
  auto is_covered = [&](const std::vector<double>& shape, std::size_t without) {
    return std::any_of(chosen.begin(), chosen.end(),
                       [&](std::size_t config) { return config != without && shape[config] <= 1 + within; });
  };
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  const std::size_t num_configs = slowdowns.empty() ? 0 : slowdowns.front().size();
  for (;;) {
    std::vector<std::size_t> num_gained(num_configs, 0);
    for (const std::vector<double>& shape : slowdowns) {
      if (is_covered(shape, kNone)) continue;
      for (std::size_t config = 0; config < num_configs; ++config) num_gained[config] += shape[config] <= 1 + within;
    }
    const auto best = std::max_element(num_gained.begin(), num_gained.end());
    if (best == num_gained.end() || *best == 0) break;
    chosen.push_back(static_cast<std::size_t>(best - num_gained.begin()));
  }
  for (std::size_t i = chosen.size(); i-- > 0;) {
    const std::size_t config = chosen[i];
    const bool is_unnecessary =
        std::all_of(slowdowns.begin(), slowdowns.end(), [&](const auto& shape) { return is_covered(shape, config); });
    if (is_unnecessary) chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return chosen;
}

std::size_t DispatchTree::ConfigAt(const std::vector<std::int64_t>& extents) const {
  std::size_t node = 0;
  while (nodes[node].above != 0) node = extents[nodes[node].dim] <= nodes[node].at_most ? node + 1 : nodes[node].above;
  return nodes[node].config;
}

std::size_t DispatchTree::num_leaves() const {
  return static_cast<std::size_t>(
      std::count_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.above == 0; }));
}

std::string DispatchTree::ToText(const std::vector<std::string>& dims, const std::vector<std::string>& configs) const {
  std::string text;
  std::function<void(std::size_t, std::size_t)> add = [&](std::size_t node, std::size_t depth) {
    const std::string indent(2 * depth, ' ');
    if (nodes[node].above == 0) {
      absl::StrAppend(&text, indent, "{", configs[nodes[node].config], "}\n");
      return;
    }
    absl::StrAppend(&text, indent, "if ", dims[nodes[node].dim], " <= ", nodes[node].at_most, ":\n");
    add(node + 1, depth + 1);
    absl::StrAppend(&text, indent, "else:\n");
    add(nodes[node].above, depth + 1);
  };
  add(0, 0);
  return text;
}

DispatchTree MakeDispatchTree(const std::vector<std::vector<std::int64_t>>& extents,
                              const std::vector<std::vector<double>>& slowdowns,
                              const std::vector<std::size_t>& configs, double within, std::size_t most_leaves) {
  return TreeMaker(extents, slowdowns, configs, within, most_leaves).Make();
}

}  // namespace v0
}  // namespace tuneonce
