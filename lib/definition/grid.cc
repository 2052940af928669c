#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/short_list.h"
#include "tuneonce/geometry.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Pattern = Grid::Pattern;

/// The number of blocks for a tile, an occupancy or an extent that is invalid. No launch can have it.
constexpr std::int64_t kNoGrid = -1;

constexpr GridFields kPatterns[] = {
    {Pattern::kTileCoverage, "tile_coverage", 3, {}},
    {Pattern::kPersistentTiles, "persistent_tiles", 3, {"num_ctas", "occupancy"}},
    {Pattern::kPersistentRows, "persistent_rows", 0, {"rows", "occupancy"}},
    {Pattern::kAttention2D, "attention_2d", 1, {"batch", "heads"}},
    {Pattern::kOneD, "one_d", 1, {}},
    {Pattern::kFixed, "fixed", 0, {"blocks"}},
};

/// Returns the product of two counts, which saturates.
std::int64_t Product(std::int64_t a, std::int64_t b) {
  if (a < 0 || b < 0) return kNoGrid;
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

/// ceil(extent / tile).
std::int64_t CeilDiv(const Tiles& tiles, const Config& config, const Problem& problem) {
  std::int64_t extent = tiles.extent.Value(config, problem);
  std::int64_t tile = tiles.tile.Value(config, problem);
  if (tile < 1 || extent < 0) return kNoGrid;
  return extent / tile + (extent % tile != 0 ? 1 : 0);
}

/// The name, or nothing: kCustom.
const GridFields* FieldsOf(Pattern pattern) {
  auto it = std::find_if(std::begin(kPatterns), std::end(kPatterns),
                         [&](const GridFields& fields) { return fields.pattern == pattern; });
  return it == std::end(kPatterns) ? nullptr : it;
}

std::string Text(std::string_view text) { return std::string(text); }

}  // namespace

Result<const GridFields*> GridFields::Of(std::string_view name) {
  auto it = std::find_if(std::begin(kPatterns), std::end(kPatterns),
                         [&](const GridFields& fields) { return fields.name == name; });
  if (it != std::end(kPatterns)) return it;
  return InvalidArgumentError(
      absl::StrCat("unknown grid pattern '", Text(name), "'; expected ",
                   ShortListOf(
                       kPatterns, [](const GridFields& each) { return Text(each.name); }, name)));
}

Status GridFields::CheckField(std::string_view field) const {
  if (field == "pattern" || (field == "tiles" && most_tiles > 0)) return Status();
  if (!field.empty() && std::find(terms.begin(), terms.end(), field) != terms.end()) return Status();
  std::vector<std::string> used;
  if (most_tiles > 0) used.push_back("tiles");
  for (std::string_view term : terms) {
    if (!term.empty()) used.push_back(Text(term));
  }
  return InvalidArgumentError(absl::StrCat(
      "the grid pattern ", Text(this->name), " does not use '", Text(field), "', only ", ShortList(used, field),
      field == "batch" || field == "heads" ? "; a batch can be an entry of tiles: [\"B\", 1]" : ""));
}

Status GridFields::CheckTiles(std::size_t count) const {
  if (count >= (most_tiles > 0 ? 1u : 0u) && count <= most_tiles) return Status();
  return InvalidArgumentError(absl::StrCat("the grid pattern ", Text(name), " has ",
                                           most_tiles == 0   ? "no tiles"
                                           : most_tiles == 1 ? "one entry in tiles"
                                                             : "one to three entries in tiles",
                                           ", not ", count,
                                           most_tiles == 1 ? ": for more dimensions use tile_coverage" : ""));
}

Status Grid::Resolve(const TermNames& names) {
  if (const GridFields* fields = FieldsOf(pattern_)) {
    TUNEONCE_RETURN_IF_ERROR(fields->CheckTiles(tiles_.size()));
  } else if (!function_) {
    return InvalidArgumentError("the grid function is empty: pass a function that can be called");
  }
  for (Tiles& tiles : tiles_) {
    TUNEONCE_RETURN_IF_ERROR(tiles.extent.Resolve(names, /*least=*/1).WithPrefix("grid"));
    TUNEONCE_RETURN_IF_ERROR(tiles.tile.Resolve(names, /*least=*/1).WithPrefix("grid"));
  }
  for (Term& term : terms_) TUNEONCE_RETURN_IF_ERROR(term.Resolve(names, /*least=*/1).WithPrefix("grid"));
  return Status();
}

Status Grid::CheckTerms(const Config& config, const Problem& problem) const {
  for (const Tiles& tiles : tiles_) {
    TUNEONCE_RETURN_IF_ERROR(tiles.extent.Evaluate(config, problem).status());
    TUNEONCE_RETURN_IF_ERROR(tiles.tile.Evaluate(config, problem).status());
  }
  for (const Term& term : terms_) TUNEONCE_RETURN_IF_ERROR(term.Evaluate(config, problem).status());
  return Status();
}

std::string Grid::ToString(const Config& config, const Problem& problem) const {
  const GridFields* fields = FieldsOf(pattern_);
  if (fields == nullptr) return "a function of the definition";
  std::vector<std::string> parts;
  for (const Tiles& tiles : tiles_) {
    parts.push_back(absl::StrCat(tiles.extent.ToString(config, problem), " by ", tiles.tile.ToString(config, problem)));
  }
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    std::string name = pattern_ == Pattern::kFixed ? std::string() : Text(fields->terms[i]) + " ";
    parts.push_back(absl::StrCat(name, terms_[i].ToString(config, problem)));
  }
  return absl::StrCat(Text(fields->name), " of ", absl::StrJoin(parts, ", "));
}

Grid Grid::For(const Config& config) const {
  Grid grid = *this;
  for (Tiles& tiles : grid.tiles_) tiles = {tiles.extent.For(config), tiles.tile.For(config)};
  for (Term& term : grid.terms_) term = term.For(config);
  return grid;
}

bool Grid::ReadsScalar() const {
  auto reads = [](const Term& term) { return term.ReadsScalar(); };
  return std::any_of(terms_.begin(), terms_.end(), reads) ||
         std::any_of(tiles_.begin(), tiles_.end(),
                     [&](const Tiles& tiles) { return reads(tiles.extent) || reads(tiles.tile); });
}

Dim3 Grid::operator()(const Config& config, const Problem& problem) const {
  auto term = [&](std::size_t i) { return terms_[i].Value(config, problem); };
  auto count = [&](std::size_t i) { return i < tiles_.size() ? CeilDiv(tiles_[i], config, problem) : 1; };
  // As many blocks as fit the device at a time, but no block without work.
  auto persistent = [](std::int64_t sms, std::int64_t occupancy, std::int64_t parts) {
    return Dim3{std::min(Product(std::max<std::int64_t>(1, sms), occupancy), parts), 1, 1};
  };
  switch (pattern_) {
    case Pattern::kTileCoverage:
      return Dim3{count(0), count(1), count(2)};
    case Pattern::kPersistentTiles:
      if (term(0) < 1 || term(1) < 1) return Dim3{kNoGrid, 1, 1};
      return persistent(problem.target->num_sms / term(0), term(1), Product(Product(count(0), count(1)), count(2)));
    case Pattern::kPersistentRows:
      if (term(0) < 0 || term(1) < 1) return Dim3{kNoGrid, 1, 1};
      return persistent(problem.target->num_sms, term(1), term(0));
    case Pattern::kAttention2D:
      return Dim3{count(0), Product(term(0), term(1)), 1};
    case Pattern::kOneD:
      return Dim3{count(0), 1, 1};
    case Pattern::kFixed:
      return Dim3{term(0), term(1), term(2)};
    case Pattern::kCustom:
      return function_(config, problem);
  }
  return Dim3{};
}

}  // namespace v0
}  // namespace tuneonce
