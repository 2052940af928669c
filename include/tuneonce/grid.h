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

/// The extents of a grid, block or cluster in the three dimensions of CUDA's dim3.
struct Dim3 {
  std::int64_t x = 1;
  std::int64_t y = 1;
  std::int64_t z = 1;

  /// Returns whether the extents are within CUDA's limits for a grid: at least 1, and at most (2^31 - 1, 65535, 65535).
  bool IsLaunchableGrid() const { return x >= 1 && x <= 0x7fffffff && y >= 1 && y <= 65535 && z >= 1 && z <= 65535; }
  friend bool operator==(const Dim3& a, const Dim3& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }
};

/// The names that a Term can refer to: a kernel's dims, in the order of Dim::index, and its scalar parameters.
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

/// An integer expression for geometry, guards, derived values and workspace sizes. Unlike a C++ function it can be
/// written to a file. A term is a constant, the value of an axis, a dim or a scalar (a boolean counts as 0 or 1), the
/// number of multiprocessors, or an operation on other terms:
///
///   Grid::Fixed(CeilDiv("M", tile_m) * CeilDiv("N", tile_n))
///   Grid::Fixed(Min(NumSms() / num_ctas, CeilDiv("M", tile_m)) * occupancy)
///
/// Arithmetic is 64-bit and does not wrap. An overflow, a division by less than 1, and a division of a negative number
/// have no value, and neither has a term that contains one. Launching with such a term returns InvalidArgument. It has
/// value semantics. Thread rule: call Resolve on one thread, and const functions on any thread.
class TUNEONCE_API Term {
 public:
  /// Value() returns this for a term without a value.
  static constexpr std::int64_t kNoValue = std::numeric_limits<std::int64_t>::min();

  Term(std::int64_t constant) : kind_(Kind::kConstant), constant_(constant) {}  // NOLINT
  Term(int constant) : Term(static_cast<std::int64_t>(constant)) {}             // NOLINT
  Term(const IntAxis& axis) : kind_(Kind::kAxis), axis_(axis) {}                // NOLINT
  /// Makes a term whose value is that of the axis. ToString prints `name` for it.
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

  /// Looks up each name in the term among the dims and scalars of `names`. Errors: InvalidArgument for an unknown name,
  /// for a Dim out of range, for a scalar that is neither an integer nor a boolean, and for a term that is a constant
  /// below `least`.
  Status Resolve(const TermNames& names, std::int64_t least);
  /// Looks up each name in the term among `dim_names` alone. Errors: as for the other overload.
  Status Resolve(const std::vector<std::string>& dim_names, std::int64_t least = 1) {
    return Resolve(TermNames{dim_names, {}}, least);
  }
  bool IsConstant() const { return kind_ == Kind::kConstant; }
  /// Returns whether the term depends on the config alone: it consists of constants and axes.
  bool IsOfConfig() const;
  /// Returns a copy of the term for one config, with a constant in place of each part that depends on the config alone.
  Term For(const Config& config) const;
  /// Returns an integer that divides the term's value for `config` for all values of the dims and scalars. The form of
  /// the expression decides it: 16 for 16 * CeilDiv("M", 16). At least 1.
  std::int64_t Divisor(const Config& config) const { return For(config).KnownDivisor(); }
  /// Returns a lower bound of the term's value for `config`, valid for all values of the dims and scalars. It is
  /// kNoValue if the form of the expression shows none.
  std::int64_t LeastValue(const Config& config) const { return For(config).KnownLeast(); }
  /// Returns whether the term depends on dims and scalars alone: it has no axis and no property of the device.
  bool IsOfArguments() const;

  /// Returns whether the term contains a scalar. REQUIRES: Resolve was called.
  bool ReadsScalar() const;
  /// Returns the term's value, or kNoValue if it has none. Does not throw. REQUIRES: Resolve was called.
  [[gnu::always_inline]] std::int64_t Value(const Config& config, const Problem& problem) const {
    if (__builtin_expect(kind_ > Kind::kDim, 0)) return Compute(config, problem);
    if (kind_ == Kind::kAxis) return config[axis_];
    return kind_ == Kind::kDim ? problem.dims[dim_] : constant_;
  }
  /// Returns the term's value. Errors: InvalidArgument if it has none, naming the part without a value and the reason.
  /// REQUIRES: Resolve was called.
  Result<std::int64_t> Evaluate(const Config& config, const Problem& problem) const;
  /// Prints the term with values: "M=4096", "TILE_M=64", "4", "ceil_div(M=4096, TILE_M=64) * 2". REQUIRES: Resolve was
  /// called.
  std::string ToString(const Config& config, const Problem& problem) const;
  /// Prints the term without values: "ceil_div(M, TILE_M) * 2".
  std::string ToString() const;

 private:
  enum class Kind { kConstant, kAxis, kDim, kNamed, kScalar, kNumSms, kSum, kProduct, kQuotient, kCeilDiv, kMin, kMax };
  struct Operands;

  // Implementations of Divisor and LeastValue for a term without axes.
  std::int64_t KnownDivisor() const;
  std::int64_t KnownLeast() const;
  /// Makes the term of an operation with the operands `a` and `b`.
  Term(Kind kind, Term a, Term b);

  bool IsOperation() const { return operands_ != nullptr; }
  std::int64_t Compute(const Config& config, const Problem& problem) const;
  std::int64_t ScalarIn(const Problem& problem) const;
  /// Applies an operation to two numbers. Returns kNoValue and sets `*why` if the result has no value.
  static std::int64_t Apply(Kind kind, std::int64_t a, std::int64_t b, const char** why);
  Status ResolveName(const TermNames& names);
  /// `leaf(term)` returns the text of a term that is not an operation.
  template <typename Leaf>
  std::string Text(const Leaf& leaf) const;
  template <typename Predicate>
  bool AllParts(const Predicate& holds) const;

  Kind kind_;
  std::int64_t constant_ = 0;
  IntAxis axis_;
  std::string name_;  // The name of an axis, a dim or a scalar.
  Dim dim_;
  int parameter_ = 0;          // kScalar: its index.
  DType dtype_ = DType::kAny;  // kScalar: its dtype.
  std::shared_ptr<const Operands> operands_;
};

/// Returns the term `a + b`. It has no value if the sum does not fit 64 bits.
TUNEONCE_API Term operator+(Term a, Term b);
/// Returns the term `a * b`. It has no value if the product does not fit 64 bits.
TUNEONCE_API Term operator*(Term a, Term b);
/// Returns the term `a / b`, rounded down. It has no value if `a` < 0 or `b` < 1.
TUNEONCE_API Term operator/(Term a, Term b);
/// Returns the term `a / b`, rounded up. It has no value if `a` < 0 or `b` < 1.
TUNEONCE_API Term CeilDiv(Term a, Term b);
/// Returns a term whose value is the smaller of two terms' values.
TUNEONCE_API Term Min(Term a, Term b);
/// Returns a term whose value is the larger of two terms' values.
TUNEONCE_API Term Max(Term a, Term b);
/// Returns a term whose value is the number of multiprocessors of the launch's device, or the number of cores of the
/// CPU device.
TUNEONCE_API Term NumSms();

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
