#include "search/regression_trees.h"

#include <algorithm>
#include <cmath>

namespace tuneonce {
inline namespace v0 {

RegressionTrees::RegressionTrees(const FeatureRows& features, const std::vector<Sample>& samples, int num_trees,
                                 double share_of_features, RandomNumbers* random)
    : features_per_node_(static_cast<std::size_t>(
          std::max(1.0, std::round(share_of_features * static_cast<double>(features.num_features))))) {
  for (int t = 0; t < num_trees; ++t) {
    Bag bag(samples.size());
    for (Sample& sample : bag) sample = samples[random->Below(samples.size())];
    trees_.push_back(Grow(features, &bag, random));
  }
}

float RegressionTrees::Predict(int tree, const std::uint16_t* features) const {
  const Node* nodes = trees_[static_cast<std::size_t>(tree)].data();
  std::uint32_t node = 0;
  while (nodes[node].right != 0) {
    node = features[nodes[node].feature] <= nodes[node].cut ? node + 1 : nodes[node].right;
  }
  return nodes[node].mean;
}

RegressionTrees::Tree RegressionTrees::Grow(const FeatureRows& features, Bag* bag, RandomNumbers* random) const {
  Tree tree;
  tree.reserve(2 * bag->size());
  Grow(features, bag->begin(), bag->end(), random, &tree);
  return tree;
}

void RegressionTrees::Grow(const FeatureRows& features, Bag::iterator begin, Bag::iterator end, RandomNumbers* random,
                           Tree* tree) const {
  double sum = 0;
  for (auto sample = begin; sample != end; ++sample) sum += sample->target;
  const double mean = sum / static_cast<double>(end - begin);
  const std::size_t node = tree->size();
  tree->emplace_back();
  (*tree)[node].mean = static_cast<float>(mean);
  if (end - begin < 2) return;
  const Cut cut = FindCut(features, begin, end, mean, random);
  if (cut.gain <= 0) return;
  auto middle = std::partition(
      begin, end, [&](const Sample& sample) { return features.of(sample.row)[cut.feature] <= cut.largest_left; });
  (*tree)[node].feature = static_cast<std::uint32_t>(cut.feature);
  (*tree)[node].cut = cut.largest_left;
  Grow(features, begin, middle, random, tree);
  (*tree)[node].right = static_cast<std::uint32_t>(tree->size());
  Grow(features, middle, end, random, tree);
}

RegressionTrees::Cut RegressionTrees::FindCut(const FeatureRows& features, Bag::iterator begin, Bag::iterator end,
                                              double mean, RandomNumbers* random) const {
  Cut best;
  if (features.num_features == 0) return best;
  // In small nodes most features are constant: they do not count, within reason.
  std::size_t num_tried = 0;
  for (std::size_t draw = 0; draw < 3 * features_per_node_ && num_tried < features_per_node_; ++draw) {
    const std::size_t feature = random->Below(features.num_features);
    std::uint16_t smallest = UINT16_MAX;
    std::uint16_t largest = 0;
    for (auto sample = begin; sample != end; ++sample) {
      const std::uint16_t value = features.of(sample->row)[feature];
      smallest = std::min(smallest, value);
      largest = std::max(largest, value);
    }
    if (smallest == largest) continue;
    ++num_tried;
    const auto cut = static_cast<std::uint16_t>(smallest + random->Below(largest - smallest));
    double left_sum = 0;  // Of differences from the mean: those on the right add up to its negative.
    int num_left = 0;
    for (auto sample = begin; sample != end; ++sample) {
      if (features.of(sample->row)[feature] > cut) continue;
      left_sum += sample->target - mean;
      ++num_left;
    }
    const auto num_right = static_cast<double>(end - begin - num_left);
    const double gain = left_sum * left_sum / num_left + left_sum * left_sum / num_right;
    if (gain > best.gain) best = {feature, cut, gain};
  }
  return best;
}

}  // namespace v0
}  // namespace tuneonce
