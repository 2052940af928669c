#ifndef TUNEONCE_GEOMETRY_H_
#define TUNEONCE_GEOMETRY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tuneonce/arguments.h"
#include "tuneonce/config.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The extents of a grid, block or cluster in the three dimensions of CUDA's dim3.
struct Dim3 {
  std::int64_t x = 1;
  std::int64_t y = 1;
  std::int64_t z = 1;

  /// Returns whether the extents are within CUDA's limits for a grid: at least 1, and at most (2^31 - 1, 65535, 65535).
  bool IsLaunchableGrid() const { return x >= 1 && x <= 0x7fffffff && y >= 1 && y <= 65535 && z >= 1 && z <= 65535; }
  friend bool operator==(const Dim3& a, const Dim3& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }
};

/// One dimension that is divided into tiles: `extent` elements make ceil(extent / tile) tiles of `tile` elements.
struct Tiles {
  Term extent;
  Term tile;
};

struct GridFields;

/// Computes the number of blocks of a launch: by terms (Fixed), by one of five common patterns, or by a C++ function
/// (Custom). The patterns are those of cuTile's sample kernels (TileGym). A bundle can contain each of them and Fixed,
/// but not a function.
///
/// Arithmetic does not wrap. A count beyond 64 bits saturates, and a grid that cannot exist (0 elements per tile, a
/// negative extent) has -1 blocks, so that neither can be launched.
class TUNEONCE_API Grid {
 public:
  enum class Pattern { kTileCoverage, kPersistentTiles, kPersistentRows, kAttention2D, kOneD, kFixed, kCustom };
  using Function = std::function<Dim3(const Config&, const Problem&)>;

  /// Makes a grid with one block per tile: (ceil(e0/t0), ceil(e1/t1), ceil(e2/t2)), for one to three entries.
  static Grid TileCoverage(std::vector<Tiles> tiles) { return Grid(Pattern::kTileCoverage, std::move(tiles), {}); }
  /// Makes a grid of persistent blocks that loop over tiles: min(num_sms / num_ctas * occupancy, number of tiles)
  /// blocks along x. No block is without a tile, because idle blocks made a matmul of one row 20 % slower
  /// (benchmarks/families/run.py on an H200, 2026-11-26).
  static Grid PersistentTiles(std::vector<Tiles> tiles, Term num_ctas, Term occupancy) {
    return Grid(Pattern::kPersistentTiles, std::move(tiles), {std::move(num_ctas), std::move(occupancy)});
  }
  /// Makes a grid of persistent blocks that loop over rows: min(num_sms * occupancy, rows) blocks along x.
  static Grid PersistentRows(Term rows, Term occupancy) {
    return Grid(Pattern::kPersistentRows, {}, {std::move(rows), std::move(occupancy)});
  }
  /// Makes a grid with one block for each tile of queries of each head: (ceil(queries / tile), batch * heads).
  static Grid Attention2D(Tiles queries, Term batch, Term heads) {
    return Grid(Pattern::kAttention2D, {std::move(queries)}, {std::move(batch), std::move(heads)});
  }
  /// Makes a grid with one block per tile of elements: ceil(elements / tile) blocks along x.
  static Grid OneD(Tiles elements) { return Grid(Pattern::kOneD, {std::move(elements)}, {}); }
  /// Makes a grid whose extents are the values of three terms. A flattened grid is Fixed(CeilDiv("M", tile_m) *
  /// CeilDiv("N", tile_n)).
  static Grid Fixed(Term x, Term y = 1, Term z = 1) {
    return Grid(Pattern::kFixed, {}, {std::move(x), std::move(y), std::move(z)});
  }
  /// Makes a grid whose extents `function(config, problem)` returns. A bundle cannot contain it.
  static Grid Custom(Function function) {
    Grid grid(Pattern::kCustom, {}, {});
    grid.function_ = std::move(function);
    return grid;
  }

  Pattern pattern() const { return pattern_; }
  /// Looks up each name in the terms among the dims and scalars of `names`. Errors: those of Term::Resolve, where
  /// constants must be at least 1, and InvalidArgument for a number of tiles that the pattern does not take or a null
  /// function.
  Status Resolve(const TermNames& names);
  /// Looks up each name in the terms among `dim_names` alone. Errors: as for the other overload.
  Status Resolve(const std::vector<std::string>& dim_names) { return Resolve(TermNames{dim_names, {}}); }
  /// Computes the grid of one launch. If a term has no value or is out of range, an extent is below 1. REQUIRES:
  /// Resolve was called.
  Dim3 operator()(const Config& config, const Problem& problem) const;
  /// Returns a grid for launches of one config, in which everything that depends on the config alone is already
  /// computed. REQUIRES: Resolve was called.
  Grid For(const Config& config) const;
  /// Returns whether one of the terms contains a scalar. REQUIRES: Resolve was called, and the grid is not a function.
  bool ReadsScalar() const;
  /// Prints the grid's terms with values: "tile_coverage of M=4096 by TILE_M=64, N=8 by 8". REQUIRES: Resolve was
  /// called.
  std::string ToString(const Config& config, const Problem& problem) const;
  /// Returns OK if each term has a value. Errors: those of Term::Evaluate. REQUIRES: Resolve was called.
  TUNEONCE_LOCAL Status CheckTerms(const Config& config, const Problem& problem) const;

 private:
  friend struct GridFields;
  Grid(Pattern pattern, std::vector<Tiles> tiles, std::vector<Term> terms)
      : pattern_(pattern), tiles_(std::move(tiles)), terms_(std::move(terms)) {}

  Pattern pattern_;
  std::vector<Tiles> tiles_;
  std::vector<Term> terms_;
  Function function_;
};

/// The name of a grid pattern in a bundle's manifest or a Declaration in Python, and the fields that the pattern takes
/// there. Readers reject other fields, because ignoring one could let the kernel run on some of its tiles only.
struct TUNEONCE_API GridFields {
  Grid::Pattern pattern;
  std::string_view name;
  /// Maximum number of entries of the field `tiles`, which has at least one. 0: the pattern has no such field.
  std::size_t most_tiles;
  /// Names of the other fields, in the order of Make's `values`. All of them are required. Unused entries are empty.
  std::array<std::string_view, 3> terms;

  /// Finds a pattern by its name. Errors: InvalidArgument for an unknown name, listing the patterns.
  static Result<const GridFields*> Of(std::string_view name);
  /// Returns OK if the pattern takes this field, or if it is "pattern". Errors: InvalidArgument, listing the pattern's
  /// fields.
  TUNEONCE_LOCAL Status CheckField(std::string_view field) const;
  /// Returns OK if the field `tiles` of the pattern may have `count` entries. Errors: InvalidArgument, stating the
  /// possible numbers.
  TUNEONCE_LOCAL Status CheckTiles(std::size_t count) const;
  /// Makes the grid. REQUIRES: there is one term for each name in `terms` (three for kFixed), and CheckTiles returned
  /// OK.
  Grid Make(std::vector<Tiles> tiles, std::vector<Term> values) const {
    return Grid(pattern, std::move(tiles), std::move(values));
  }
};

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
  GeometryFn& Block(Term x, Term y = 1, Term z = 1) {
    block_ = {std::move(x), std::move(y), std::move(z)};
    return *this;
  }
  /// Sets the cluster in blocks. Default (1, 1, 1), which sets no cluster attribute.
  GeometryFn& Cluster(Term x, Term y = 1, Term z = 1) {
    cluster_ = {std::move(x), std::move(y), std::move(z)};
    return *this;
  }
  /// Sets the dynamic shared memory per block, in bytes. Default 0.
  GeometryFn& SharedMemory(Term bytes) {
    shared_memory_ = std::move(bytes);
    return *this;
  }
  /// Makes launches programmatic dependent launches (CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION).
  GeometryFn& ProgrammaticLaunch() {
    programmatic_launch_ = true;
    return *this;
  }
  /// Sets a function that returns, for each config, the parts of the geometry that its compiled code requires.
  GeometryFn& ByCode(std::function<CodeGeometry(const Config&)> of_code) {
    of_code_ = std::move(of_code);
    return *this;
  }

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
  TUNEONCE_LOCAL std::optional<Geometry> AllButGrid() const;
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
  TUNEONCE_LOCAL void SetTerms(const Config& config, const Problem& problem, Geometry* geometry) const;
  /// Computes `prototype_` and `is_constant_`.
  TUNEONCE_LOCAL void ComputeConstants();

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
