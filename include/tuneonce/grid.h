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

namespace tuneonce {
inline namespace v0 {

/// Three extents, x first.
struct Dim3 {
  std::int64_t x = 1;
  std::int64_t y = 1;
  std::int64_t z = 1;

  friend bool operator==(const Dim3& a, const Dim3& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }
};

/// A whole number that is a constant, the value of an axis, or the value of a dim: what launch geometry is made of, in
/// a form that can be written to a file.
class TUNEONCE_API Term {
 public:
  Term(std::int64_t constant) : kind_(Kind::kConstant), constant_(constant) {}  // NOLINT
  Term(int constant) : Term(static_cast<std::int64_t>(constant)) {}             // NOLINT
  Term(const IntAxis& axis) : kind_(Kind::kAxis), axis_(axis) {}                // NOLINT
  Term(const char* dim) : kind_(Kind::kDim), dim_name_(dim) {}                  // NOLINT
  Term(Dim dim) : kind_(Kind::kDim), dim_(dim) {}                               // NOLINT

  /// Finds a named dim's index. Errors: InvalidArgument for a name not in `dim_names`, and for a constant below
  /// `least`.
  Status Resolve(const std::vector<std::string>& dim_names, std::int64_t least = 1);
  bool IsConstant() const { return kind_ == Kind::kConstant; }
  std::int64_t Value(const Config& config, const Problem& problem) const {
    switch (kind_) {
      case Kind::kAxis:
        return config[axis_];
      case Kind::kDim:
        return problem.dims[dim_];
      default:
        return constant_;
    }
  }
  /// "M=4096", "TILE_M=64", "4". REQUIRES: Resolve.
  std::string ToString(const Config& config, const Problem& problem) const;

 private:
  enum class Kind { kConstant, kAxis, kDim };

  Kind kind_;
  std::int64_t constant_ = 0;
  IntAxis axis_;
  std::string dim_name_;
  Dim dim_;
};

/// ceil(extent / tile).
struct Tiles {
  Term extent;
  Term tile;
};

struct GridFields;

/// How many blocks a launch has: one of the six patterns in use in the field, or a function of the caller's. The
/// patterns are those of cuTile's sample kernels (TileGym); they are data, so that a bundle can carry them.
///
/// Numbers do not wrap: a count beyond 64 bits is the largest one, and a tile, occupancy or extent that makes no grid
/// (0 tiles per block, a negative extent) gives -1, so that neither can be launched.
class TUNEONCE_API Grid {
 public:
  enum class Pattern { kTileCoverage, kPersistentTiles, kPersistentRows, kAttention2D, kOneD, kFixed, kCustom };
  using Function = std::function<Dim3(const Config&, const Problem&)>;

  /// One block per tile: (ceil(e0/t0), ceil(e1/t1), ceil(e2/t2)), one to three entries.
  static Grid TileCoverage(std::vector<Tiles> tiles);
  /// Blocks that walk over tiles: min(num_sms / num_ctas, number of tiles) * occupancy, in x.
  static Grid PersistentTiles(std::vector<Tiles> tiles, Term num_ctas, Term occupancy);
  /// Blocks that walk over rows: min(num_sms * occupancy, rows), in x.
  static Grid PersistentRows(Term rows, Term occupancy);
  /// (ceil(queries / tile), batch * heads).
  static Grid Attention2D(Tiles queries, Term batch, Term heads);
  /// ceil(elements / block), in x.
  static Grid OneD(Tiles elements);
  static Grid Fixed(Term x, Term y = 1, Term z = 1);
  static Grid Custom(Function function);

  Pattern pattern() const { return pattern_; }
  /// Errors: InvalidArgument for an unknown dim, a constant below 1, more or less tiles than the pattern takes.
  Status Resolve(const std::vector<std::string>& dim_names);
  Dim3 operator()(const Config& config, const Problem& problem) const;
  /// What the grid is made of, with values: "tile_coverage of M=4096 by TILE_M=64, N=8 by 8". REQUIRES: Resolve.
  std::string ToString(const Config& config, const Problem& problem) const;

 private:
  friend struct GridFields;
  Grid(Pattern pattern, std::vector<Tiles> tiles, std::vector<Term> terms)
      : pattern_(pattern), tiles_(std::move(tiles)), terms_(std::move(terms)) {}

  Pattern pattern_;
  std::vector<Tiles> tiles_;
  std::vector<Term> terms_;
  Function function_;
};

/// What a pattern is called where it is data (a bundle's manifest, a Declaration in Python), and which fields it uses
/// there. The one place that says so: a field that a pattern does not use would be dropped, and the kernel run on a
/// part of its tiles.
struct TUNEONCE_API GridFields {
  Grid::Pattern pattern;
  std::string_view name;
  std::size_t most_tiles;                 ///< Entries of the field `tiles`, at least one; 0: there is no such field.
  std::array<std::string_view, 3> terms;  ///< Names of the other fields, all of them needed, in Make's order.

  /// Errors: InvalidArgument, listing the patterns there are.
  static Result<const GridFields*> Of(std::string_view name);
  /// Errors: InvalidArgument, with the fields there are.
  Status CheckField(std::string_view field) const;
  /// Errors: InvalidArgument for a number of tiles that the pattern does not take.
  Status CheckTiles(std::size_t count) const;
  /// REQUIRES: as many terms as have names (kFixed: three); CheckTiles.
  Grid Make(std::vector<Tiles> tiles, std::vector<Term> its_terms) const {
    return Grid(pattern, std::move(tiles), std::move(its_terms));
  }
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_GRID_H_
