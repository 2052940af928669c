#ifndef TUNEONCE_GRID_H_
#define TUNEONCE_GRID_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuneonce/api.h"
#include "tuneonce/config.h"
#include "tuneonce/problem.h"
#include "tuneonce/result.h"
#include "tuneonce/term.h"

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
  static Grid TileCoverage(std::vector<Tiles> tiles);
  /// Makes a grid of persistent blocks that loop over tiles: min(num_sms / num_ctas * occupancy, number of tiles)
  /// blocks along x. No block is without a tile, because idle blocks made a matmul of one row 20 % slower
  /// (benchmarks/families/run.py on an H200, 2026-11-26).
  static Grid PersistentTiles(std::vector<Tiles> tiles, Term num_ctas, Term occupancy);
  /// Makes a grid of persistent blocks that loop over rows: min(num_sms * occupancy, rows) blocks along x.
  static Grid PersistentRows(Term rows, Term occupancy);
  /// Makes a grid with one block for each tile of queries of each head: (ceil(queries / tile), batch * heads).
  static Grid Attention2D(Tiles queries, Term batch, Term heads);
  /// Makes a grid with one block per tile of elements: ceil(elements / tile) blocks along x.
  static Grid OneD(Tiles elements);
  /// Makes a grid whose extents are the values of three terms. A flattened grid is Fixed(CeilDiv("M", tile_m) *
  /// CeilDiv("N", tile_n)).
  static Grid Fixed(Term x, Term y = 1, Term z = 1);
  /// Makes a grid whose extents `function(config, problem)` returns. A bundle cannot contain it.
  static Grid Custom(Function function);

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
  Status CheckTerms(const Config& config, const Problem& problem) const;

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
  Status CheckField(std::string_view field) const;
  /// Returns OK if the field `tiles` of the pattern may have `count` entries. Errors: InvalidArgument, stating the
  /// possible numbers.
  Status CheckTiles(std::size_t count) const;
  /// Makes the grid. REQUIRES: there is one term for each name in `terms` (three for kFixed), and CheckTiles returned
  /// OK.
  Grid Make(std::vector<Tiles> tiles, std::vector<Term> values) const {
    return Grid(pattern, std::move(tiles), std::move(values));
  }
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_GRID_H_
