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

/// The grid, block, cluster and dynamic shared memory of one launch.
struct TUNEONCE_API Geometry {
  Dim3 grid;                             ///< Grid in blocks. For Tile IR with num_ctas > 1, in clusters.
  Dim3 block;                            ///< Block in threads. Always (1, 1, 1) for Tile IR kernels.
  Dim3 cluster;                          ///< Cluster in blocks. (1, 1, 1) sets no cluster attribute.
  std::int64_t shared_memory_bytes = 0;  ///< Dynamic shared memory per block, in bytes.
  bool programmatic_launch = false;      ///< Sets CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION.

  /// Returns OK if every extent is at least 1 and within these limits: grid (2^31 - 1, 65535, 65535), block 1024 and
  /// cluster 16 in each dimension; and if the shared memory is 0 to 2^31 - 1 bytes. Errors: InvalidArgument. The
  /// product of a block's or cluster's extents, and the limits of a device, are not checked.
  Status Check() const;
  /// Returns whether Check would return OK. It makes no message, because each launch calls it.
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

/// The part of a launch's geometry that a config's code was compiled for. A member that is set overrides the value that
/// the terms of a GeometryFn compute.
struct CodeGeometry {
  std::optional<std::int64_t> block;                ///< Threads per block along x.
  std::optional<std::int64_t> shared_memory_bytes;  ///< Dynamic shared memory per block, in bytes.
  /// Number of blocks in a cluster, along x. The grid counts clusters, so that the launched grid is this many times
  /// larger along x.
  std::optional<std::int64_t> cluster;
};

/// Computes a Geometry from a config and a problem: by a grid pattern and terms, which a bundle can contain, or by a
/// C++ function.
class TUNEONCE_API GeometryFn {
 public:
  /// Makes a geometry without parts. A part that is neither set nor filled in by Default gets its default: a grid of
  /// one block, blocks of one thread, no shared memory.
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
  /// Makes launches programmatic dependent launches (CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION).
  GeometryFn& ProgrammaticLaunch();
  /// Sets a function that returns, for each config, the parts of the geometry that its compiled code requires.
  GeometryFn& ByCode(std::function<CodeGeometry(const Config&)> of_code);

  /// Copies from `other` each part that is not set here: the grid or function, the block, the cluster, and so on. A
  /// GeometryFn made from a function copies nothing from one with a grid or a function, because it decides all parts.
  void Default(const GeometryFn& other);

  /// Looks up each name that the terms of the grid, block, cluster and shared memory contain, among the kernel's dims
  /// and scalars. Errors: InvalidArgument for a name that is neither; for a scalar that is not an integer or boolean;
  /// for a constant extent below 1 or a constant shared memory size below 0; for a number of tiles that the grid's
  /// pattern does not take; for a null function; and for a geometry function together with a block, cluster, shared
  /// memory, ProgrammaticLaunch or ByCode that was set. Upper limits are checked later, by Check.
  Status Resolve(const TermNames& names);
  /// Looks up the names that the terms contain among `dim_names` alone. Errors: as for the other overload.
  Status Resolve(const std::vector<std::string>& dim_names) { return Resolve(TermNames{dim_names, {}}); }
  /// Computes the geometry of one launch. If a term has no value, an extent or the shared memory size is negative,
  /// which Check and IsLaunchable reject. REQUIRES: Resolve was called.
  Geometry operator()(const Config& config, const Problem& problem) const;
  /// Returns a GeometryFn for launches of one config, in which everything that depends on the config alone is already
  /// computed. REQUIRES: Resolve was called.
  GeometryFn For(const Config& config) const;
  /// Returns the block, cluster and shared memory if they are the same for all launches and within the limits of
  /// Geometry::Check. The grid is (1, 1, 1) in the result, and GridOf computes it. Empty if a function, an axis (unless
  /// For was called), a dim or a scalar decides one of the parts. REQUIRES: Resolve was called.
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
  /// Returns OK if the geometry is within the limits of Geometry::Check. Errors: InvalidArgument, showing the grid's
  /// terms with their values. REQUIRES: Resolve was called.
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
