#ifndef TUNEONCE_GEOMETRY_H_
#define TUNEONCE_GEOMETRY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tuneonce/grid.h"

namespace tuneonce {
inline namespace v0 {

/// The launch geometry of one launch.
struct TUNEONCE_API Geometry {
  Dim3 grid;                             ///< Grid in blocks. For Tile IR with num_ctas > 1, in clusters.
  Dim3 block;                            ///< Block in threads. Always (1, 1, 1) for Tile IR kernels.
  Dim3 cluster;                          ///< Cluster in blocks. (1, 1, 1) sets no cluster attribute.
  std::int64_t shared_memory_bytes = 0;  ///< Dynamic shared memory per block, in bytes.
  bool programmatic_launch = false;      ///< Sets CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION.

  /// Returns OK if every extent is at least 1 and within the driver's limits (grid below 2^31, 65536, 65536).
  Status Check() const;
  /// Returns whether Check returns OK, without making a message. For the hot path.
  bool IsLaunchable() const {
    auto in = [](std::int64_t v, std::int64_t most) { return v >= 1 && v <= most; };
    return grid.IsLaunchableGrid() && in(block.x, 1024) && in(block.y, 1024) && in(block.z, 1024) &&
           in(cluster.x, 16) && in(cluster.y, 16) && in(cluster.z, 16) && shared_memory_bytes >= 0 &&
           shared_memory_bytes <= 0x7fffffff;
  }
  /// Prints the geometry: "grid (8, 4, 1), block (256, 1, 1)".
  std::string ToString() const;
  friend bool operator==(const Geometry& a, const Geometry& b) {
    return a.grid == b.grid && a.block == b.block && a.cluster == b.cluster &&
           a.shared_memory_bytes == b.shared_memory_bytes && a.programmatic_launch == b.programmatic_launch;
  }
};

/// The part of a launch's geometry that a config's code was compiled for. It overrides what terms compute.
struct CodeGeometry {
  std::optional<std::int64_t> block;                ///< Threads per block along x.
  std::optional<std::int64_t> shared_memory_bytes;  ///< Dynamic shared memory per block, in bytes.
  /// Number of blocks along x that run each block of the grid together. The launched grid is that many times larger.
  std::optional<std::int64_t> cluster;
};

/// Computes a Geometry from a config and a problem: by a grid pattern and terms, which a bundle can contain, or by a
/// function of the host's.
class TUNEONCE_API GeometryFn {
 public:
  /// Sets nothing. What Default does not fill in later is a grid of one block.
  GeometryFn() = default;
  GeometryFn(Grid grid) : grid_(std::move(grid)) {}  // NOLINT(google-explicit-constructor)
  /// Uses any callable of (const Config&, const Problem&) that returns a Geometry.
  template <typename Function, typename = std::enable_if_t<std::is_convertible_v<
                                   std::invoke_result_t<Function, const Config&, const Problem&>, Geometry>>>
  GeometryFn(Function function)  // NOLINT(google-explicit-constructor)
      : is_function_(true), function_(std::move(function)) {}

  /// Sets the block in threads. Default (1, 1, 1).
  GeometryFn& Block(Term x, Term y = 1, Term z = 1);
  /// Sets the cluster in blocks. Default (1, 1, 1), which sets no cluster attribute.
  GeometryFn& Cluster(Term x, Term y = 1, Term z = 1);
  /// Sets the dynamic shared memory per block, in bytes. Default 0.
  GeometryFn& SharedMemory(Term bytes);
  /// Allows programmatic dependent launch (CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION).
  GeometryFn& ProgrammaticLaunch();
  /// Sets a function that returns, for each config, the geometry that its compiled code requires.
  GeometryFn& ByCode(std::function<CodeGeometry(const Config&)> of_code);

  /// Copies from `other` each part that is not set here: the grid or function, the block, the cluster, and so on. A
  /// GeometryFn made from a function copies nothing, because the function decides all parts.
  void Default(const GeometryFn& other);

  /// Resolves the names in terms. Errors: InvalidArgument for an unknown name, for a constant outside of the launch
  /// limits, or for terms combined with a function.
  Status Resolve(const TermNames& names);
  /// Resolves the names in terms, where they can only be names of dims. Errors: as for the other overload.
  Status Resolve(const std::vector<std::string>& dim_names) { return Resolve(TermNames{dim_names, {}}); }
  /// Computes the geometry. A grid that cannot exist has an extent below 1, which Check and IsLaunchable reject.
  Geometry operator()(const Config& config, const Problem& problem) const;
  /// Returns this function for one config, with everything precomputed that depends on the config alone. REQUIRES:
  /// Resolve was called.
  GeometryFn For(const Config& config) const;
  /// Returns all parts but the grid, which is (1, 1, 1) in the result, if they are the same for all launches. GridOf
  /// then computes the rest. Empty if a function of the host's or a dim decides one of the parts. REQUIRES: Resolve was
  /// called.
  std::optional<Geometry> AllButGrid() const;
  /// Returns whether the grid reads no scalar, so that it is the same for all launches with the same dims. REQUIRES:
  /// AllButGrid returned a value.
  bool GridIsOfDims() const { return !grid_->ReadsScalar(); }
  /// Returns the grid of one launch. REQUIRES: AllButGrid returned a value.
  Dim3 GridOf(const Config& config, const Problem& problem) const {
    Dim3 grid = (*grid_)(config, problem);
    grid.x *= blocks_per_cluster_;
    return grid;
  }
  /// Returns OK if the geometry can be launched (Geometry::Check), or an error that shows the grid's terms.
  Status Check(const Config& config, const Problem& problem) const;

 private:
  void SetTerms(const Config& config, const Problem& problem, Geometry* geometry) const;
  /// Computes `prototype_` and `is_constant_`.
  void ComputeConstants();

  std::optional<Grid> grid_;
  std::vector<Term> block_;    // Empty: not set, (1, 1, 1).
  std::vector<Term> cluster_;  // Empty: not set, (1, 1, 1).
  std::optional<Term> shared_memory_;
  bool programmatic_launch_ = false;
  Geometry prototype_;  // Everything but the grid, if all of that is constant (the common case).
  bool is_constant_ = false;
  std::int64_t blocks_per_cluster_ = 1;  // From the compiled code. Set by For.
  std::function<CodeGeometry(const Config&)> of_code_;
  bool is_function_ = false;
  std::function<Geometry(const Config&, const Problem&)> function_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_GEOMETRY_H_
