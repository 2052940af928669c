#ifndef TUNEONCE_GRID_H_
#define TUNEONCE_GRID_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
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

  /// Whether a launch can have so many blocks.
  bool IsLaunchableGrid() const { return x >= 1 && x <= 0x7fffffff && y >= 1 && y <= 65535 && z >= 1 && z <= 65535; }
  friend bool operator==(const Dim3& a, const Dim3& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }
};

/// What the names in a Term can mean.
struct TermNames {
  /// A scalar that the caller passes, and its index in KernelDefinition::Parameters.
  struct Scalar {
    std::string name;
    DType dtype = DType::kAny;
    int parameter = 0;
  };
  std::vector<std::string> dims;
  std::vector<Scalar> scalars;
};

/// A whole number that geometry, guards, derived values and workspaces are made of, in a form that can be written to a
/// file: a constant, the value of an axis, of a dim or of a scalar (a whole number, or a truth value as 0 or 1), the
/// device's number of multiprocessors, or what is computed from such:
///
///   Grid::Fixed(CeilDiv("M", tile_m) * CeilDiv("N", tile_n))
///   Grid::Fixed(Min(NumSms() / num_ctas, CeilDiv("M", tile_m)) * occupancy)
///
/// Numbers of 64 bits, which do not wrap: what overflows, divides by less than 1, or divides a negative number has no
/// value, and neither has anything that is computed from it. A launch that needs it is an error in words. Copyable; a
/// value. Thread rule: Resolve on one thread; const use from any.
class TUNEONCE_API Term {
 public:
  /// In place of a number that there is not.
  static constexpr std::int64_t kNoValue = std::numeric_limits<std::int64_t>::min();

  Term(std::int64_t constant) : kind_(Kind::kConstant), constant_(constant) {}  // NOLINT
  Term(int constant) : Term(static_cast<std::int64_t>(constant)) {}             // NOLINT
  Term(const IntAxis& axis) : kind_(Kind::kAxis), axis_(axis) {}                // NOLINT
  /// `name`: of the axis, for messages.
  Term(const IntAxis& axis, std::string name) : Term(axis) { name_ = std::move(name); }
  Term(const char* name) : kind_(Kind::kNamed), name_(name) {}  // NOLINT: a dim, or else a scalar.
  Term(Dim dim) : kind_(Kind::kDim), dim_(dim) {}               // NOLINT

  friend Term operator+(Term a, Term b);
  friend Term operator*(Term a, Term b);
  friend Term operator/(Term a, Term b);
  friend Term CeilDiv(Term a, Term b);
  friend Term Min(Term a, Term b);
  friend Term Max(Term a, Term b);
  friend Term NumSms();

  /// Finds what names mean. Errors: InvalidArgument for a name of nothing, a scalar that is no whole number or truth
  /// value, and for a constant below `least`.
  Status Resolve(const TermNames& names, std::int64_t least);
  Status Resolve(const std::vector<std::string>& dim_names, std::int64_t least = 1) {
    return Resolve(TermNames{dim_names, {}}, least);
  }
  bool IsConstant() const { return kind_ == Kind::kConstant; }
  /// Whether it is made of what `config` alone decides: constants and axes.
  bool IsOfConfig() const;
  /// The same for one config, with a constant in place of each part that IsOfConfig.
  Term For(const Config& config) const;
  /// A number that divides the term's value for `config`, whatever the dims and scalars are, as far as its form shows
  /// it: 16 of 16 * CeilDiv("M", 16). At least 1.
  std::int64_t Divisor(const Config& config) const { return For(config).KnownDivisor(); }
  /// The term has this value or a greater one for `config`, whatever the dims and scalars are, as far as its form shows
  /// it; kNoValue if it shows nothing.
  std::int64_t LeastValue(const Config& config) const { return For(config).KnownLeast(); }
  /// Whether it is made of what dims and scalars decide: no axis, nothing of the device.
  bool IsOfArguments() const;

  /// Whether it is a scalar, or has one in it. REQUIRES: Resolve.
  bool ReadsScalar() const;
  /// The number, or kNoValue. Does not throw. REQUIRES: Resolve.
  [[gnu::always_inline]] std::int64_t Value(const Config& config, const Problem& problem) const {
    if (__builtin_expect(kind_ > Kind::kDim, 0)) return Compute(config, problem);
    if (kind_ == Kind::kAxis) return config[axis_];
    return kind_ == Kind::kDim ? problem.dims[dim_] : constant_;
  }
  /// The same. Errors: InvalidArgument, saying which part has no value, and why. REQUIRES: Resolve.
  Result<std::int64_t> Evaluate(const Config& config, const Problem& problem) const;
  /// With values: "M=4096", "TILE_M=64", "4", "ceil_div(M=4096, TILE_M=64) * 2". REQUIRES: Resolve.
  std::string ToString(const Config& config, const Problem& problem) const;
  /// The same without values: "ceil_div(M, TILE_M) * 2".
  std::string ToString() const;

 private:
  enum class Kind { kConstant, kAxis, kDim, kNamed, kScalar, kNumSms, kSum, kProduct, kQuotient, kCeilDiv, kMin, kMax };
  struct Operands;

  // Divisor and LeastValue of a term without axes.
  std::int64_t KnownDivisor() const;
  std::int64_t KnownLeast() const;
  /// What few terms have.
  Term(Kind kind, Term a, Term b);

  bool IsOperation() const { return operands_ != nullptr; }
  std::int64_t Compute(const Config& config, const Problem& problem) const;
  std::int64_t ScalarIn(const Problem& problem) const;
  /// Of an operation on numbers: the result, or kNoValue and why.
  static std::int64_t Apply(Kind kind, std::int64_t a, std::int64_t b, const char** why);
  Status ResolveName(const TermNames& names);
  /// `leaf(term)`: the text of a term that is no operation.
  template <typename Leaf>
  std::string Text(const Leaf& leaf) const;
  template <typename Predicate>
  bool AllParts(const Predicate& holds) const;

  Kind kind_;
  std::int64_t constant_ = 0;
  IntAxis axis_;
  std::string name_;  // Of an axis, a dim or a scalar.
  Dim dim_;
  int parameter_ = 0;          // kScalar: its index,
  DType dtype_ = DType::kAny;  // and its dtype.
  std::shared_ptr<const Operands> operands_;
};

TUNEONCE_API Term operator+(Term a, Term b);
TUNEONCE_API Term operator*(Term a, Term b);
/// Rounded down.
TUNEONCE_API Term operator/(Term a, Term b);
/// Rounded up.
TUNEONCE_API Term CeilDiv(Term a, Term b);
TUNEONCE_API Term Min(Term a, Term b);
TUNEONCE_API Term Max(Term a, Term b);
/// Multiprocessors of the device that is launched on; cores of the CPU device.
TUNEONCE_API Term NumSms();

/// ceil(extent / tile).
struct Tiles {
  Term extent;
  Term tile;
};

struct GridFields;

/// How many blocks a launch has: terms (Fixed), one of five patterns in use in the field, which are short forms of
/// such, or a function of the caller's. The patterns are those of cuTile's sample kernels (TileGym). All but the
/// function are data, so that a bundle can carry them.
///
/// Numbers do not wrap: a count beyond 64 bits is the largest one, and a tile, occupancy or extent that makes no grid
/// (0 tiles per block, a negative extent) gives -1, so that neither can be launched.
class TUNEONCE_API Grid {
 public:
  enum class Pattern { kTileCoverage, kPersistentTiles, kPersistentRows, kAttention2D, kOneD, kFixed, kCustom };
  using Function = std::function<Dim3(const Config&, const Problem&)>;

  /// One block per tile: (ceil(e0/t0), ceil(e1/t1), ceil(e2/t2)), one to three entries.
  static Grid TileCoverage(std::vector<Tiles> tiles);
  /// Blocks that walk over tiles: min(num_sms / num_ctas * occupancy, number of tiles), in x. None is without a tile:
  /// such blocks made a matmul of one row a fifth slower (benchmarks/families/run.py on an H200, 2026-11-26).
  static Grid PersistentTiles(std::vector<Tiles> tiles, Term num_ctas, Term occupancy);
  /// Blocks that walk over rows: min(num_sms * occupancy, rows), in x.
  static Grid PersistentRows(Term rows, Term occupancy);
  /// (ceil(queries / tile), batch * heads).
  static Grid Attention2D(Tiles queries, Term batch, Term heads);
  /// ceil(elements / block), in x.
  static Grid OneD(Tiles elements);
  /// As many as the terms say: a flattened grid is Fixed(CeilDiv("M", tile_m) * CeilDiv("N", tile_n)).
  static Grid Fixed(Term x, Term y = 1, Term z = 1);
  static Grid Custom(Function function);

  Pattern pattern() const { return pattern_; }
  /// Errors: InvalidArgument for an unknown name, a constant below 1, more or less tiles than the pattern takes.
  Status Resolve(const TermNames& names);
  Status Resolve(const std::vector<std::string>& dim_names) { return Resolve(TermNames{dim_names, {}}); }
  Dim3 operator()(const Config& config, const Problem& problem) const;
  /// The same for one config: what it alone decides is computed. REQUIRES: Resolve.
  Grid For(const Config& config) const;
  /// Whether one of its terms is a scalar, or has one in it. REQUIRES: Resolve; no function.
  bool ReadsScalar() const;
  /// What the grid is made of, with values: "tile_coverage of M=4096 by TILE_M=64, N=8 by 8". REQUIRES: Resolve.
  std::string ToString(const Config& config, const Problem& problem) const;
  /// OK if each of its terms has a value. Errors: as Term::Evaluate. REQUIRES: Resolve.
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
