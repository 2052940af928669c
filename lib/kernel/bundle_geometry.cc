#include "kernel/bundle_geometry.h"

namespace tuneonce {
namespace {

/// 4, "M" (a dim), or {"axis": "TILE_M"}.
Result<Term> ReadTerm(const BundleSpace& space, const ManifestNode& node) {
  if (node.kind() == ManifestNode::Kind::kInt) {
    TUNEONCE_ASSIGN_OR_RETURN(std::int64_t value, node.Int());
    return Term(value);
  }
  if (node.kind() == ManifestNode::Kind::kString) {
    TUNEONCE_ASSIGN_OR_RETURN(Dim dim, space.FindDim(node));
    return Term(space.dims()[static_cast<std::size_t>(dim.index)].c_str());
  }
  if (node.kind() != ManifestNode::Kind::kObject) {
    return node.Error("expected a number, a dim's name, or {\"axis\": NAME}");
  }
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"axis"}));
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* axis_node, node.Get("axis"));
  TUNEONCE_ASSIGN_OR_RETURN(IntAxis axis, space.FindIntAxis(*axis_node));
  return Term(axis);
}

Result<Term> ReadTermField(const BundleSpace& space, const ManifestNode& node, std::string_view field) {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* term, node.Get(field));
  return ReadTerm(space, *term);
}

/// One to three terms, the rest 1.
Result<std::vector<Term>> ReadTerms(const BundleSpace& space, const ManifestNode& node, std::string_view field) {
  std::vector<Term> terms;
  if (const ManifestNode* list_node = node.Find(field)) {
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, list_node->Array());
    if (list->empty() || list->size() > 3) return list_node->Error("expected one to three values");
    for (const ManifestNode& each : *list) {
      TUNEONCE_ASSIGN_OR_RETURN(Term term, ReadTerm(space, each));
      terms.push_back(std::move(term));
    }
  }
  terms.resize(3, Term(1));
  return terms;
}

/// [["M", {"axis": "TILE_M"}], ...]: extents over tiles.
Result<std::vector<Tiles>> ReadTiles(const BundleSpace& space, const ManifestNode& grid) {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* node, grid.Get("tiles"));
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, node->Array());
  std::vector<Tiles> tiles;
  for (const ManifestNode& each : *list) {
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* pair, each.Array());
    if (pair->size() != 2) return each.Error("expected [extent, tile]");
    TUNEONCE_ASSIGN_OR_RETURN(Term extent, ReadTerm(space, (*pair)[0]));
    TUNEONCE_ASSIGN_OR_RETURN(Term tile, ReadTerm(space, (*pair)[1]));
    tiles.push_back(Tiles{std::move(extent), std::move(tile)});
  }
  if (tiles.empty() || tiles.size() > 3) return node->Error("a grid over tiles has one to three dimensions");
  return tiles;
}

Result<Grid> ReadGrid(const BundleSpace& space, const ManifestNode& variant) {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* node, variant.Get("grid"));
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* pattern_node, node->Get("pattern"));
  TUNEONCE_ASSIGN_OR_RETURN(std::string pattern, pattern_node->String());
  if (pattern == "tile_coverage" || pattern == "one_d" || pattern == "attention_2d" || pattern == "persistent_tiles") {
    TUNEONCE_RETURN_IF_ERROR(node->CheckFields({"pattern", "tiles", "num_ctas", "occupancy", "batch", "heads"}));
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<Tiles> tiles, ReadTiles(space, *node));
    if (pattern == "tile_coverage") return Grid::TileCoverage(std::move(tiles));
    if (pattern == "one_d") return Grid::OneD(tiles.front());
    if (pattern == "attention_2d") {
      TUNEONCE_ASSIGN_OR_RETURN(Term batch, ReadTermField(space, *node, "batch"));
      TUNEONCE_ASSIGN_OR_RETURN(Term heads, ReadTermField(space, *node, "heads"));
      return Grid::Attention2D(tiles.front(), batch, heads);
    }
    TUNEONCE_ASSIGN_OR_RETURN(Term num_ctas, ReadTermField(space, *node, "num_ctas"));
    TUNEONCE_ASSIGN_OR_RETURN(Term occupancy, ReadTermField(space, *node, "occupancy"));
    return Grid::PersistentTiles(std::move(tiles), num_ctas, occupancy);
  }
  if (pattern == "persistent_rows") {
    TUNEONCE_RETURN_IF_ERROR(node->CheckFields({"pattern", "rows", "occupancy"}));
    TUNEONCE_ASSIGN_OR_RETURN(Term rows, ReadTermField(space, *node, "rows"));
    TUNEONCE_ASSIGN_OR_RETURN(Term occupancy, ReadTermField(space, *node, "occupancy"));
    return Grid::PersistentRows(rows, occupancy);
  }
  if (pattern == "fixed") {
    TUNEONCE_RETURN_IF_ERROR(node->CheckFields({"pattern", "blocks"}));
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<Term> terms, ReadTerms(space, *node, "blocks"));
    return Grid::Fixed(terms[0], terms[1], terms[2]);
  }
  return pattern_node->Error(
      "expected tile_coverage, persistent_tiles, persistent_rows, attention_2d, one_d or fixed, got '" + pattern + "'");
}

}  // namespace

Result<GeometryFn> ReadGeometry(const BundleSpace& space, const ManifestNode& variant) {
  TUNEONCE_ASSIGN_OR_RETURN(Grid grid, ReadGrid(space, variant));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Term> block, ReadTerms(space, variant, "block"));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Term> cluster, ReadTerms(space, variant, "cluster"));
  GeometryFn geometry(std::move(grid));
  geometry.Block(block[0], block[1], block[2]).Cluster(cluster[0], cluster[1], cluster[2]);
  if (const ManifestNode* shared = variant.Find("shared_memory")) {
    TUNEONCE_ASSIGN_OR_RETURN(Term bytes, ReadTerm(space, *shared));
    geometry.SharedMemory(bytes);
  }
  if (const ManifestNode* programmatic = variant.Find("programmatic_launch")) {
    TUNEONCE_ASSIGN_OR_RETURN(bool is_programmatic, programmatic->Bool());
    if (is_programmatic) geometry.ProgrammaticLaunch();
  }
  TUNEONCE_RETURN_IF_ERROR(geometry.Resolve(space.dims()));
  return geometry;
}

}  // namespace tuneonce
