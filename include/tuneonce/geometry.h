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

/// The shape of one launch.
struct TUNEONCE_API Geometry {
  Dim3 grid;                             ///< In blocks; for Tile IR with num_ctas > 1, in clusters.
  Dim3 block;                            ///< In threads. Tile IR kernels: (1, 1, 1), always.
  Dim3 cluster;                          ///< In blocks; (1, 1, 1): no cluster attribute.
  std::int64_t shared_memory_bytes = 0;  ///< Dynamic.
  bool programmatic_launch = false;      ///< CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION.

  /// OK if every extent is at least 1 and fits the driver's types (grid < 2^31, 65536, 65536).
  Status Check() const;
  /// True for what Check accepts. For the hot path.
  bool IsLaunchable() const {
    auto in = [](std::int64_t v, std::int64_t most) { return v >= 1 && v <= most; };
    return grid.IsLaunchableGrid() && in(block.x, 1024) && in(block.y, 1024) && in(block.z, 1024) &&
           in(cluster.x, 16) && in(cluster.y, 16) && in(cluster.z, 16) && shared_memory_bytes >= 0 &&
           shared_memory_bytes <= 0x7fffffff;
  }
  /// "grid (8, 4, 1), block (256, 1, 1)".
  std::string ToString() const;
  friend bool operator==(const Geometry& a, const Geometry& b) {
    return a.grid == b.grid && a.block == b.block && a.cluster == b.cluster &&
           a.shared_memory_bytes == b.shared_memory_bytes && a.programmatic_launch == b.programmatic_launch;
  }
};

/// What a config's code was compiled for, and its launches must have, in place of what terms say.
struct CodeGeometry {
  std::optional<std::int64_t> block;                ///< Threads along x.
  std::optional<std::int64_t> shared_memory_bytes;  ///< Dynamic.
  /// Blocks along x that run each block of the grid together: the grid has that many times as many.
  std::optional<std::int64_t> cluster;
};

/// Geometry as a function of config and problem: a grid pattern with terms for the rest, which a bundle can carry, or a
/// function of the caller's.
class TUNEONCE_API GeometryFn {
 public:
  /// Says nothing yet: what Default does not fill in is a grid of one block.
  GeometryFn() = default;
  GeometryFn(Grid grid) : grid_(std::move(grid)) {}  // NOLINT(google-explicit-constructor)
  /// Any callable of (const Config&, const Problem&) that returns a Geometry.
  template <typename Function, typename = std::enable_if_t<std::is_convertible_v<
                                   std::invoke_result_t<Function, const Config&, const Problem&>, Geometry>>>
  GeometryFn(Function function)  // NOLINT(google-explicit-constructor)
      : is_function_(true), function_(std::move(function)) {}

  GeometryFn& Block(Term x, Term y = 1, Term z = 1);
  GeometryFn& Cluster(Term x, Term y = 1, Term z = 1);
  GeometryFn& SharedMemory(Term bytes);
  GeometryFn& ProgrammaticLaunch();
  /// `of_code`: for each config, what its code alone decides.
  GeometryFn& ByCode(std::function<CodeGeometry(const Config&)> of_code);

  /// Takes from `other` what was not said here: the grid or function, the block, the cluster, and so on. One whose
  /// function says it all takes nothing.
  void Default(const GeometryFn& other);

  /// Errors: InvalidArgument for an unknown name, a constant that no launch can have, or terms beside a function, which
  /// says it all.
  Status Resolve(const TermNames& names);
  Status Resolve(const std::vector<std::string>& dim_names) { return Resolve(TermNames{dim_names, {}}); }
  Geometry operator()(const Config& config, const Problem& problem) const;
  /// The same for one config, with all that the config alone decides computed once. REQUIRES: Resolve.
  GeometryFn For(const Config& config) const;
  /// All but the grid, which is (1, 1, 1) here, if neither a function of the caller's nor a dim has a say in a launch:
  /// then GridOf is the rest. REQUIRES: Resolve.
  std::optional<Geometry> AllButGrid() const;
  /// Whether the grid reads no scalar: it is the same for all launches with the same dims. REQUIRES: AllButGrid is
  /// there.
  bool GridIsOfDims() const { return !grid_->ReadsScalar(); }
  /// REQUIRES: AllButGrid is there.
  Dim3 GridOf(const Config& config, const Problem& problem) const {
    Dim3 grid = (*grid_)(config, problem);
    grid.x *= blocks_per_cluster_;
    return grid;
  }
  /// As Geometry::Check of what the call operator gives, with the terms that the grid is made of.
  Status Check(const Config& config, const Problem& problem) const;

 private:
  void SetTerms(const Config& config, const Problem& problem, Geometry* geometry) const;
  /// Sees to `prototype_` and `is_constant_`.
  void ComputeConstants();

  std::optional<Grid> grid_;
  std::vector<Term> block_;    // Empty: not said, (1, 1, 1).
  std::vector<Term> cluster_;  // Likewise.
  std::optional<Term> shared_memory_;
  bool programmatic_launch_ = false;
  Geometry prototype_;  // Everything but the grid, if all of that is constant (the common case).
  bool is_constant_ = false;
  std::int64_t blocks_per_cluster_ = 1;  // By code; set by For.
  std::function<CodeGeometry(const Config&)> of_code_;
  bool is_function_ = false;
  std::function<Geometry(const Config&, const Problem&)> function_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_GEOMETRY_H_
