#include "tuneonce/kernel/grid.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tuneonce {
namespace {

/// ceil(extent / tile); 0 for a tile below 1, which the launch then refuses.
std::int64_t CeilDiv(const Tiles& tiles, const Config& config, const Problem& problem) {
  std::int64_t extent = tiles.extent.Value(config, problem);
  std::int64_t tile = tiles.tile.Value(config, problem);
  return tile < 1 ? 0 : extent / tile + (extent % tile != 0 ? 1 : 0);
}

}  // namespace

Status Term::Resolve(const std::vector<std::string>& dim_names) {
  if (kind_ != Kind::kDim || dim_name_.empty()) {
    if (kind_ == Kind::kDim && (dim_.index < 0 || dim_.index >= static_cast<int>(dim_names.size()))) {
      return InvalidArgumentError(absl::StrCat("there is no dim number ", dim_.index));
    }
    return Status();
  }
  auto it = std::find(dim_names.begin(), dim_names.end(), dim_name_);
  if (it == dim_names.end()) {
    return InvalidArgumentError(
        absl::StrCat("unknown dim '", dim_name_, "'; the kernel has: ", absl::StrJoin(dim_names, ", ")));
  }
  dim_.index = static_cast<int>(it - dim_names.begin());
  return Status();
}

Grid Grid::TileCoverage(std::vector<Tiles> tiles) { return Grid(Pattern::kTileCoverage, std::move(tiles), {}); }

Grid Grid::PersistentTiles(std::vector<Tiles> tiles, Term num_ctas, Term occupancy) {
  return Grid(Pattern::kPersistentTiles, std::move(tiles), {std::move(num_ctas), std::move(occupancy)});
}

Grid Grid::PersistentRows(Term rows, Term occupancy) {
  return Grid(Pattern::kPersistentRows, {}, {std::move(rows), std::move(occupancy)});
}

Grid Grid::Attention2D(Tiles queries, Term batch, Term heads) {
  return Grid(Pattern::kAttention2D, {std::move(queries)}, {std::move(batch), std::move(heads)});
}

Grid Grid::OneD(Tiles elements) { return Grid(Pattern::kOneD, {std::move(elements)}, {}); }

Grid Grid::Fixed(Term x, Term y, Term z) {
  return Grid(Pattern::kFixed, {}, {std::move(x), std::move(y), std::move(z)});
}

Grid Grid::Custom(Function function) {
  Grid grid(Pattern::kCustom, {}, {});
  grid.function_ = std::move(function);
  return grid;
}

Status Grid::Resolve(const std::vector<std::string>& dim_names) {
  bool needs_tiles = pattern_ == Pattern::kTileCoverage || pattern_ == Pattern::kPersistentTiles;
  if (needs_tiles && (tiles_.empty() || tiles_.size() > 3)) {
    return InvalidArgumentError("a grid over tiles has one to three dimensions");
  }
  for (Tiles& tiles : tiles_) {
    TUNEONCE_RETURN_IF_ERROR(tiles.extent.Resolve(dim_names).WithPrefix("grid"));
    TUNEONCE_RETURN_IF_ERROR(tiles.tile.Resolve(dim_names).WithPrefix("grid"));
  }
  for (Term& term : terms_) TUNEONCE_RETURN_IF_ERROR(term.Resolve(dim_names).WithPrefix("grid"));
  return Status();
}

Dim3 Grid::operator()(const Config& config, const Problem& problem) const {
  auto term = [&](std::size_t i) { return terms_[i].Value(config, problem); };
  auto count = [&](std::size_t i) { return i < tiles_.size() ? CeilDiv(tiles_[i], config, problem) : 1; };
  switch (pattern_) {
    case Pattern::kTileCoverage:
      return Dim3{count(0), count(1), count(2)};
    case Pattern::kPersistentTiles: {
      std::int64_t num_ctas = std::max<std::int64_t>(1, term(0));
      std::int64_t blocks = std::max<std::int64_t>(1, problem.target.num_sms / num_ctas);
      return Dim3{std::min(blocks, count(0) * count(1) * count(2)) * term(1), 1, 1};
    }
    case Pattern::kPersistentRows:
      return Dim3{std::min<std::int64_t>(problem.target.num_sms * term(1), term(0)), 1, 1};
    case Pattern::kAttention2D:
      return Dim3{count(0), term(0) * term(1), 1};
    case Pattern::kOneD:
      return Dim3{count(0), 1, 1};
    case Pattern::kFixed:
      return Dim3{term(0), term(1), term(2)};
    case Pattern::kCustom:
      return function_(config, problem);
  }
  return Dim3{};
}

}  // namespace tuneonce
