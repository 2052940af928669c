#ifndef TUNEONCE_LIB_SEARCH_CONFIG_PREDICTOR_H_
#define TUNEONCE_LIB_SEARCH_CONFIG_PREDICTOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "search/config_features.h"
#include "search/regression_trees.h"
#include "tuneonce/config.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

/// Ranks a kernel's configs for dims at which none was measured, by the times of its configs at other dims.
///
/// What is predicted is a config's slowdown, the logarithm of its time divided by the best time at the same dims, which
/// does not depend on the size of the problem. Bagged regression trees (RegressionTrees) predict it from
///
/// - the config: its axes, and their products and quotients (ConfigFeatures);
/// - the problem: its extents, its operations and bytes (KernelDefinition::Work), and their quotient;
/// - both: for each dim and structural axis the number of tiles and how much the last tile exceeds the dim; the blocks
///   of the grid, the waves in which multiprocessors run them, and how full the last wave is; and the config's slowdown
///   at the measured dims nearest to these, by the distance of the extents' logarithms.
///
/// With too few measured dims for a model, the configs are ranked as at the nearest ones. Thread rule: immutable.
class ConfigPredictor {
 public:
  /// What was measured at some dims.
  struct Shape {
    Dims dims;
    std::vector<double> times_us;  ///< By config. 0: it was not measured. Infinity: it failed.
  };
  struct Prediction {
    /// Configs, the one expected to be the fastest first. Only configs that were among the fastest somewhere near.
    std::vector<std::size_t> ranking;
    /// The expected time of `ranking`'s first one, as a multiple of the best time. 1 if that is not known.
    double slowdown = 1;
    std::size_t nearest = 0;   ///< Index of the shape with the nearest dims.
    bool is_by_model = false;  ///< False: there are too few shapes, and `ranking` is that of the nearest.
  };

  /// `like`: a problem of the kernel, whose target, dtypes and scalars all shapes have. This and Predict call the
  /// definition's geometry and work functions, whose exceptions they pass. REQUIRES: a shape; each has a time for some
  /// config; `definition` outlives the object.
  ConfigPredictor(const KernelDefinition& definition, const Problem& like, std::vector<Config> configs,
                  std::vector<Shape> shapes);

  /// REQUIRES: the target, dtypes and scalars are those of `like`.
  Prediction Predict(const Problem& problem) const;
  const std::vector<Config>& configs() const { return configs_; }
  const std::vector<Shape>& shapes() const { return shapes_; }

  /// The fewest shapes that a model is made of.
  static constexpr std::size_t kFewestShapes = 8;

 private:
  /// A dim, and an axis whose values may be extents of its tiles.
  struct Tiling {
    Dim dim;
    std::vector<double> extents;  // By config.
  };

  void FindTilings(int num_dims);
  double Distance(const Dims& a, const Dims& b) const;
  /// Returns the indices of the shapes, the nearest one first. `left_out`: a shape that does not count.
  std::vector<std::size_t> ByDistance(const Dims& dims, std::size_t left_out) const;
  /// Returns the slowdown of each config by the shapes near to `dims`. `left_out`: a shape that does not count.
  std::vector<float> SlowdownsNear(const Dims& dims, std::size_t left_out) const;
  /// Appends the features of a config at some dims.
  void AddFeatures(std::size_t config, const Problem& problem, float slowdown_near,
                   std::vector<std::uint16_t>* values) const;
  double BlocksOf(std::size_t config, const Problem& problem) const;
  void Fit(const Problem& like);

  const KernelDefinition& definition_;
  const std::vector<Config> configs_;
  const std::vector<Shape> shapes_;
  std::vector<std::vector<float>> slowdowns_;  // By shape, then by config. negative: it was not measured.
  const ConfigFeatures features_;
  std::vector<Tiling> tilings_;
  std::vector<double> occupancies_;               // By config: blocks per multiprocessor, as its hint states.
  std::vector<const Variant*> variants_;          // By config: whose geometry it has. May be null.
  std::unique_ptr<const RegressionTrees> trees_;  // Null without a model.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_CONFIG_PREDICTOR_H_
