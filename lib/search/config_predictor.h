#ifndef TUNEONCE_LIB_SEARCH_CONFIG_PREDICTOR_H_
#define TUNEONCE_LIB_SEARCH_CONFIG_PREDICTOR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/mutex.h"
#include "tuneonce/config.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

/// Ranks a kernel's configs for dims at which none was measured, by the times of its configs at other dims.
///
/// What is predicted is a config's slowdown, the logarithm of its time divided by the best time at the same dims, which
/// does not depend on the size of the problem. Each config has a Gaussian process of its own over the measured dims,
/// with a rational quadratic kernel (Rasmussen and Williams 2006, equation 4.19, with an alpha of 1/8). Points are near
/// to each other if these numbers are:
///
/// - the logarithms of the extents, and their trailing zero bits, which tell alignment;
/// - the logarithms of the blocks of the grid, and of the waves in which multiprocessors run them, one block or two at
///   a time;
/// - for each dim that the grid does not divide and each structural axis, whether one step of that extent covers the
///   dim, and how much the last step exceeds it.
///
/// Dims at which other variants may run are infinitely far, because they run other code. They only count in the part of
/// the covariance that all dims share. A config that was measured at many dims has a process over some that are far
/// from each other (kMostPoints).
///
/// Far from what was measured, a config is expected to be the slower, the larger the part of its grid is that the
/// busiest multiprocessor computes. No constant is fitted to a kernel's own times. With too few measured dims for a
/// model, the configs are ranked as at the nearest ones. Thread-safe.
class ConfigPredictor {
 public:
  /// What was measured at some dims.
  struct Shape {
    Dims dims;
    std::vector<double> times_us;  ///< By config. 0: it was not measured. Infinity: it failed.
    /// Equal for shapes that may run the same variants, and so the same code.
    std::uint64_t variants = 0;
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
  /// definition's geometry functions, whose exceptions they pass. REQUIRES: a shape; each has a time for some config;
  /// `definition` outlives the object.
  ConfigPredictor(const KernelDefinition& definition, const Problem& like, std::vector<Config> configs,
                  std::vector<Shape> shapes);

  /// `variants`: Shape::variants of the launch. REQUIRES: the target, dtypes and scalars are those of `like`.
  Prediction Predict(const Problem& problem, std::uint64_t variants) const;
  const std::vector<Config>& configs() const { return configs_; }
  const std::vector<Shape>& shapes() const { return shapes_; }

  /// The fewest shapes that a model is made of.
  static constexpr std::size_t kFewestShapes = 8;

 private:
  using Numbers = std::vector<float>;  // Coordinates of points.

  /// Sets tiles_ and tiles_the_same_dims_ by how the grid grows with each dim.
  void FindTiles(const Problem& like);
  /// Sets steps_ by the axes whose values are not extents of the grid's tiles. REQUIRES: tiles_.
  void FindSteps();
  double BlocksOf(std::size_t config, const Problem& problem) const;
  /// Returns the blocks of the grid, by config.
  std::vector<double> BlocksAt(const Problem& problem) const;
  /// Returns the slowdowns that are expected without measurements, by config: they grow with what one multiprocessor
  /// computes, a tile at least. They are equal if configs divide other dims, as the blocks of one then may compute
  /// several tiles.
  std::vector<float> PriorsFor(const std::vector<double>& blocks, const Problem& problem) const;
  /// The coordinates that are the same for all configs.
  struct Place {
    std::uint64_t variants = 0;
    Numbers numbers;

    /// Returns the squared distance. Infinity: other variants.
    float DistanceTo(const Place& other) const;
  };
  static Place PlaceOf(const Dims& dims, std::uint64_t variants);
  /// Returns the coordinates as a config, with a grid of so many blocks, sees the problem's dims.
  Numbers NumbersOf(std::size_t config, const Problem& problem, double blocks) const;
  /// Returns the indices of the shapes, the nearest one first.
  std::vector<std::size_t> ByDistance(const Place& place) const;
  /// Returns the fastest configs of a shape, in their order.
  std::vector<std::size_t> FastestAt(std::size_t shape) const;
  /// Returns the configs that were among the fastest at the first of the shapes `near`, in the order in which they are
  /// found.
  std::vector<std::size_t> FastestNear(const std::vector<std::size_t>& near) const;
  /// Returns the shapes at which the config was measured. Of too many, each that is returned is the farthest from those
  /// before it.
  std::vector<std::size_t> PointsOf(std::size_t config) const;
  /// The Gaussian process of a config: for each of its points, the shape and the weight of its covariance.
  struct Process {
    std::vector<std::size_t> points;
    std::vector<float> weights;
  };
  Process Solved(std::size_t config) const;
  /// Returns the config's process, which is solved when it is first asked for.
  const Process& ProcessOf(std::size_t config) const;
  /// Returns expected slowdowns by config, which take measurements into account for `configs` alone.
  std::vector<float> SlowdownsAt(const Problem& problem, const Place& place,
                                 const std::vector<std::size_t>& configs) const;

  const std::vector<Config> configs_;
  const std::vector<Shape> shapes_;
  std::vector<std::vector<float>> priors_;         // By shape, then by config: PriorsFor.
  std::vector<std::vector<float>> slowdowns_;      // By shape, then by config. Negative: it was not measured.
  std::vector<const Variant*> variants_;           // By config: whose geometry it has. May be null.
  std::vector<std::vector<double>> tiles_;         // By config, then by dim: the extent of a tile. 0: not tiled.
  bool tiles_the_same_dims_ = false;               // The grids of all configs divide the same dims, at least one.
  std::vector<std::vector<double>> steps_;         // By config: values of axes that may be extents of steps of a loop.
  std::vector<Place> places_;                      // By shape: PlaceOf.
  std::vector<std::vector<Numbers>> numbers_;      // By shape, then by config: NumbersOf.
  std::vector<std::vector<std::size_t>> fastest_;  // By shape: FastestAt.
  mutable Mutex mutex_;
  mutable std::map<std::size_t, Process> processes_ TUNEONCE_GUARDED_BY(mutex_);  // By config. A map keeps addresses.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_CONFIG_PREDICTOR_H_
