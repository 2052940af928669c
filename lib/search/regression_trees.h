#ifndef TUNEONCE_LIB_SEARCH_REGRESSION_TREES_H_
#define TUNEONCE_LIB_SEARCH_REGRESSION_TREES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/random_numbers.h"

namespace tuneonce {
inline namespace v0 {

/// What a model knows of each of its objects, as small integers.
struct FeatureRows {
  std::size_t num_features = 0;
  std::vector<std::uint16_t> values;  ///< Object by object, because a tree reads several features of one object.

  /// Returns the features of an object, num_features of them.
  const std::uint16_t* of(std::size_t row) const { return values.data() + row * num_features; }
};

/// Bagged regression trees.
///
/// Each tree is grown to single samples on a bootstrap of them. A node draws some of the features and one cut of each
/// at random, and takes the cut that reduces the variance the most (extremely randomized trees, Geurts, Ernst and
/// Wehenkel 2006, doi:10.1007/s10994-006-6226-1): cheaper than to search for the best cut, and trees differ more, which
/// is what the choice by single trees (Thompson sampling) needs. Thread rule: immutable.
class RegressionTrees {
 public:
  struct Sample {
    std::size_t row = 0;
    float target = 0;
  };

  /// Grows the trees on samples of `features`, which is not used after that. `share_of_features`: of those that a node
  /// draws, in (0, 1]. REQUIRES: a sample.
  RegressionTrees(const FeatureRows& features, const std::vector<Sample>& samples, int num_trees,
                  double share_of_features, RandomNumbers* random);

  int num_trees() const { return static_cast<int>(trees_.size()); }
  /// Returns the target that one tree predicts for an object with these features.
  float Predict(int tree, const std::uint16_t* features) const;

 private:
  struct Node {
    std::uint32_t feature = 0;
    std::uint32_t right = 0;  // Index of the child above the cut; the other one follows its parent. 0: a leaf.
    std::uint16_t cut = 0;    // The largest value that goes left.
    float mean = 0;
  };
  using Tree = std::vector<Node>;
  using Bag = std::vector<RegressionTrees::Sample>;
  struct Cut {
    std::size_t feature = 0;
    std::uint16_t largest_left = 0;
    double gain = 0;
  };

  Tree Grow(const FeatureRows& features, Bag* bag, RandomNumbers* random) const;
  /// Adds the node of samples [begin, end), and its children.
  void Grow(const FeatureRows& features, Bag::iterator begin, Bag::iterator end, RandomNumbers* random,
            Tree* tree) const;
  /// Returns the best of some random cuts: with a gain of 0 if none separates samples.
  Cut FindCut(const FeatureRows& features, Bag::iterator begin, Bag::iterator end, double mean,
              RandomNumbers* random) const;

  std::size_t features_per_node_;
  std::vector<Tree> trees_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_REGRESSION_TREES_H_
