#include "bundle/bundle_geometry.h"

#include "bundle/bundle_term.h"

namespace tuneonce {
inline namespace v0 {
namespace {

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
Result<std::vector<Tiles>> ReadTiles(const BundleSpace& space, const ManifestNode& node) {
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, node.Array());
  std::vector<Tiles> tiles;
  for (const ManifestNode& each : *list) {
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* pair, each.Array());
    if (pair->size() != 2) return each.Error("expected a list of two entries, [extent, tile]");
    TUNEONCE_ASSIGN_OR_RETURN(Term extent, ReadTerm(space, (*pair)[0]));
    TUNEONCE_ASSIGN_OR_RETURN(Term tile, ReadTerm(space, (*pair)[1]));
    tiles.push_back(Tiles{std::move(extent), std::move(tile)});
  }
  return tiles;
}

Result<Grid> ReadGrid(const BundleSpace& space, const ManifestNode& variant) {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* node, variant.Get("grid"));
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* pattern_node, node->Get("pattern"));
  TUNEONCE_ASSIGN_OR_RETURN(std::string name, pattern_node->String());
  Result<const GridFields*> pattern = GridFields::Of(name);
  if (!pattern.ok()) return pattern_node->Error(pattern.status().message());
  TUNEONCE_ASSIGN_OR_RETURN(auto members, node->Object());
  for (const auto& [field, value] : *members) {
    if (Status used = (*pattern)->CheckField(field); !used.ok()) return value.Error(used.message());
  }
  std::vector<Tiles> tiles;
  if ((*pattern)->most_tiles > 0) {
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* tiles_node, node->Get("tiles"));
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, tiles_node->Array());
    if (Status fits = (*pattern)->CheckTiles(list->size()); !fits.ok()) return tiles_node->Error(fits.message());
    TUNEONCE_ASSIGN_OR_RETURN(tiles, ReadTiles(space, *tiles_node));
  }
  std::vector<Term> terms;
  for (std::string_view field : (*pattern)->terms) {
    if (field.empty()) continue;
    if ((*pattern)->pattern == Grid::Pattern::kFixed) {
      TUNEONCE_RETURN_IF_ERROR(node->Get(field).status());
      TUNEONCE_ASSIGN_OR_RETURN(terms, ReadTerms(space, *node, field));
      break;
    }
    TUNEONCE_ASSIGN_OR_RETURN(Term term, ReadTermField(space, *node, field));
    terms.push_back(std::move(term));
  }
  Grid grid = (*pattern)->Make(std::move(tiles), std::move(terms));
  if (Status resolved = grid.Resolve(space.names()); !resolved.ok()) return node->Error(resolved.message());
  return grid;
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
  if (Status resolved = geometry.Resolve(space.names()); !resolved.ok()) return variant.Error(resolved.message());
  return geometry;
}

}  // namespace v0
}  // namespace tuneonce
