#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "bundle/manifest_readers.h"
#include "definition/source_identity.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Most entries of a variant's lists: each is checked when the bundle is read.
constexpr std::size_t kMostOptions = 256;
constexpr std::size_t kMostSymbolBytes = 1024;
/// The largest number of blocks in one cluster (Geometry::IsLaunchable).
constexpr std::int64_t kMostClusterBlocks = 16;

/// One to three terms, the rest 1.
Result<std::vector<Term>> ReadTerms(const BundleSpace& space, const ManifestNode& node, std::string_view field) {
  std::vector<Term> terms;
  if (const ManifestNode* list_node = node.Find(field)) {
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, list_node->Array());
    if (list.empty() || list.size() > 3) return list_node->Error("expected one to three values");
    TUNEONCE_ASSIGN_OR_RETURN(terms,
                              ReadList(*list_node, 3, [&](const ManifestNode& each) { return ReadTerm(space, each); }));
  }
  terms.resize(3, Term(1));
  return terms;
}

/// [["M", {"axis": "TILE_M"}], ...]: extents over tiles.
Result<std::vector<Tiles>> ReadTiles(const BundleSpace& space, const ManifestNode& node) {
  return ReadList(node, ManifestDocument::kMostValues, [&](const ManifestNode& each) -> Result<Tiles> {
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren pair, each.Array());
    if (pair.size() != 2) return each.Error("expected a list of two entries, [extent, tile]");
    TUNEONCE_ASSIGN_OR_RETURN(Term extent, ReadTerm(space, pair[0]));
    TUNEONCE_ASSIGN_OR_RETURN(Term tile, ReadTerm(space, pair[1]));
    return Tiles{std::move(extent), std::move(tile)};
  });
}

Result<Grid> ReadGrid(const BundleSpace& space, const ManifestNode& variant) {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* node, variant.Get("grid"));
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* pattern_node, node->Get("pattern"));
  TUNEONCE_ASSIGN_OR_RETURN(std::string name, pattern_node->String());
  Result<const GridFields*> pattern = GridFields::Of(name);
  if (!pattern.ok()) return pattern_node->Error(pattern.status().message());
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren members, node->Object());
  for (const ManifestNode& value : members) {
    if (Status used = (*pattern)->CheckField(value.name()); !used.ok()) return value.Error(used.message());
  }
  std::vector<Tiles> tiles;
  if ((*pattern)->most_tiles > 0) {
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* tiles_node, node->Get("tiles"));
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, tiles_node->Array());
    if (Status fits = (*pattern)->CheckTiles(list.size()); !fits.ok()) return tiles_node->Error(fits.message());
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

/// Reads a variant's fields grid, block, cluster, shared_memory and programmatic_launch.
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
  bool is_programmatic = false;
  TUNEONCE_RETURN_IF_ERROR(variant.ReadOptional("programmatic_launch", &is_programmatic));
  if (is_programmatic) geometry.ProgrammaticLaunch();
  if (Status resolved = geometry.Resolve(space.names()); !resolved.ok()) return variant.Error(resolved.message());
  return geometry;
}

Result<CallingConvention> ReadConvention(const ManifestNode& variant, SourceKind kind) {
  const ManifestNode* node = variant.Find("convention");
  if (node == nullptr) {
    return kind == SourceKind::kTileIr ? CallingConvention::kCutilePython : CallingConvention::kPlain;
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::string convention, node->String());
  if (convention == "plain") return CallingConvention::kPlain;
  if (convention == "cutile_python_v1") return CallingConvention::kCutilePython;
  if (convention == "triton") return CallingConvention::kTriton;
  return node->Error("expected plain, cutile_python_v1 or triton, got '" + convention + "'");
}

Status ReadVariantTargets(const ManifestNode& node, SourceKind kind, Variant* variant) {
  const ManifestNode* given = node.Find("targets");
  if (given != nullptr && given->kind() == ManifestNode::Kind::kString) {
    return given->Error(
        "expected an object with min_capability or max_capability: whether a variant runs on the CPU device depends "
        "only on its kind of source");
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<Condition> targets, ReadTargets(node));
  if (targets && kind == SourceKind::kCpuCpp)
    return given->Error("a cpu_cpp source runs on the CPU device, which has no compute capability: remove \"targets\"");
  variant->runs_on = targets ? *targets : kind == SourceKind::kCpuCpp ? OnCpuDevice() : OnGpu();
  return Status();
}

/// A name that tools take as it is: of letters, digits and _ $ . @.
Result<std::string> ReadSymbol(const ManifestNode& node) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string symbol, node.String());
  auto fits = [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_' || c == '$' || c == '.' || c == '@'; };
  if (!symbol.empty() && std::all_of(symbol.begin(), symbol.end(), fits)) return symbol;
  return node.Error("'" + symbol + "' is not a symbol: write the kernel's unmangled name");
}

/// Reads the symbol of a CUDA C++ kernel: an unmangled name, or an instance of a template such as
/// "ns::reduce<BLOCK, float>".
Result<std::string> ReadCudaSymbol(const ManifestNode& node) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string symbol, node.String());
  if (!IsNameExpression(symbol)) return ReadSymbol(node);
  auto fits = [](unsigned char c) {
    return absl::ascii_isalnum(c) || std::string_view("_:<>, *&()+-/%.").find(c) != std::string_view::npos;
  };
  bool is_named = !KernelNameIn(symbol).empty() && !IsNameExpression(KernelNameIn(symbol));
  if (is_named && symbol.size() <= kMostSymbolBytes && std::all_of(symbol.begin(), symbol.end(), fits)) return symbol;
  return node.Error("'" + symbol + "' is not a kernel's name: write name or ns::name<ARGUMENTS>");
}

Result<BundleArtifact> ReadArtifact(const BundleSpace& space, const ManifestNode& variant,
                                    const std::string& variant_name, const ManifestNode& node, SourceKind kind,
                                    BundleFiles* files) {
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"config", "file", "symbol", "block", "shared_memory", "cluster"}));
  BundleArtifact artifact;
  if (const ManifestNode* config = node.Find("config")) {
    TUNEONCE_ASSIGN_OR_RETURN(artifact.pattern, space.ReadPattern(*config, /*whole=*/false));
  }
  const ManifestNode* symbol = node.Find("symbol");
  if (symbol == nullptr) {
    TUNEONCE_ASSIGN_OR_RETURN(symbol, variant.Get("symbol"));
  }
  TUNEONCE_ASSIGN_OR_RETURN(artifact.symbol, IsForNvrtc(kind) ? ReadCudaSymbol(*symbol) : ReadSymbol(*symbol));
  auto read_size = [&](const char* field, std::int64_t least, std::optional<std::int64_t>* value) -> Status {
    const ManifestNode* given = node.Find(field);
    if (given == nullptr) return Status();
    TUNEONCE_ASSIGN_OR_RETURN(*value, given->Int());
    return **value >= least ? Status() : given->Error(absl::StrCat("the value must be at least ", least));
  };
  TUNEONCE_RETURN_IF_ERROR(read_size("block", 1, &artifact.launch.block));
  TUNEONCE_RETURN_IF_ERROR(read_size("shared_memory", 0, &artifact.launch.shared_memory_bytes));
  TUNEONCE_RETURN_IF_ERROR(read_size("cluster", 1, &artifact.launch.cluster));
  if (artifact.launch.cluster > kMostClusterBlocks) {
    return node.Find("cluster")->Error(absl::StrCat("at most ", kMostClusterBlocks, " blocks are possible"));
  }
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* file_node, node.Get("file"));
  TUNEONCE_ASSIGN_OR_RETURN(artifact.file, file_node->String());
  artifact.withheld = files->Withheld(variant_name, artifact.file);
  if (artifact.withheld != nullptr) return artifact;
  Result<BundleText> content = files->Read(artifact.file);
  if (!content.ok()) {
    return Status(content.status().code(), file_node->Error("the artifact " + content.status().message()).message());
  }
  artifact.content = *std::move(content);
  return artifact;
}

/// Decides whether the sources of a variant that was compiled without them were put back. If so they are read, since
/// the compiled code must not run for a source that changed.
Status FindRestoredSources(const ManifestNode& node, const std::string& variant_name, BundleFiles* files) {
  if (!files->IsWithheld(variant_name)) return Status();
  std::vector<std::string> names;
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* list_node, node.Get("artifacts"));
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, list_node->Array());
  for (const ManifestNode& each : list) {
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* file, each.Get("file"));
    TUNEONCE_ASSIGN_OR_RETURN(names.emplace_back(), file->String());
  }
  if (const ManifestNode* headers = node.Find("headers")) {
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren members, headers->Object());
    for (const ManifestNode& value : members) {
      TUNEONCE_ASSIGN_OR_RETURN(names.emplace_back(), value.String());
    }
  }
  auto missing = std::partition(names.begin(), names.end(), [&](const std::string& name) { return files->Has(name); });
  if (missing == names.begin()) return Status();
  if (missing != names.end()) {
    return node.Error(absl::StrCat("the bundle was compiled without its sources, and has '", names.front(),
                                   "' but not '", *missing, "': add all sources of variant '", variant_name,
                                   "', or none"));
  }
  files->ForgetWithheld(variant_name);
  return Status();
}

Status ReadArtifacts(const BundleSpace& space, const ManifestNode& node, const std::string& variant_name,
                     BundleFiles* files, BundleArtifacts* artifacts) {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* list_node, node.Get("artifacts"));
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, list_node->Array());
  if (list.empty()) return list_node->Error("a variant needs at least one artifact");
  artifacts->Reserve(list.size());
  for (const ManifestNode& each : list) {
    TUNEONCE_ASSIGN_OR_RETURN(BundleArtifact artifact,
                              ReadArtifact(space, node, variant_name, each, artifacts->kind, files));
    if (Status added = artifacts->Add(std::move(artifact)); !added.ok()) return each.Error(added.message());
  }
  return Status();
}

Status ReadOptions(const ManifestNode& node, const BundleFiles& files, BundleArtifacts* artifacts) {
  const ManifestNode* options = node.Find("options");
  if (options == nullptr) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, options->Array(kMostOptions));
  for (const ManifestNode& each : list) {
    TUNEONCE_ASSIGN_OR_RETURN(std::string text, each.String());
    Result<std::string> option = BundleOption(artifacts->kind, text, files);
    if (!option.ok()) return Status(option.status().code(), each.Error(option.status().message()).message());
    artifacts->options.push_back(*std::move(option));
  }
  return Status();
}

Status ReadDefines(const BundleSpace& space, const ManifestNode& node, BundleArtifacts* artifacts) {
  const ManifestNode* defines = node.Find("defines");
  if (defines == nullptr) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, defines->Array(kMostOptions));
  for (const ManifestNode& each : list) {
    TUNEONCE_ASSIGN_OR_RETURN(std::size_t axis, space.FindAxis(each));
    TUNEONCE_ASSIGN_OR_RETURN(std::string name, each.String());
    artifacts->defines.emplace_back(std::move(name), axis);
  }
  return Status();
}

/// {"my/tile.h": FILE, ...}: what CUDA C++ and CUDA Tile C++ include by these names, of files in the bundle.
Status ReadHeaders(const ManifestNode& node, const std::string& variant_name, BundleFiles* files,
                   BundleArtifacts* artifacts) {
  const ManifestNode* headers = node.Find("headers");
  if (headers == nullptr) return Status();
  if (files->IsWithheld(variant_name)) return Status();  // Its texts are one with the artifacts'.
  if (!IsForNvrtc(artifacts->kind)) return headers->Error("\"headers\" is only for cuda_cpp and tile_cpp sources");
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren members, headers->Object());
  if (members.size() > kMostOptions)
    return headers->Error(absl::StrCat("at most ", kMostOptions, " headers are possible"));
  KernelSource check;
  for (const ManifestNode& value : members) {
    const std::string name(value.name());
    TUNEONCE_ASSIGN_OR_RETURN(std::string file, value.String());
    Result<BundleText> text = files->Read(file);
    if (!text.ok()) return Status(text.status().code(), value.Error("the header " + text.status().message()).message());
    if (Status fits = check.Header(name, std::string(text->text)).Check(); !fits.ok())
      return value.Error(fits.message());
    artifacts->headers.emplace_back(name, *std::move(text));
  }
  return Status();
}

/// {"T": {"dtype_of": TENSOR}, "ACC": {"axis": AXIS}}: macros that are types.
Status ReadTypes(const BundleSpace& space, const ManifestNode& node, const BundleArtifacts& artifacts,
                 Variant* variant) {
  const ManifestNode* types = node.Find("types");
  if (types == nullptr) return Status();
  if (!IsCpp(artifacts.kind)) {
    return types->Error("\"types\" is only for C++ sources, which receive them as macros");
  }
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren members, types->Object());
  if (members.size() > kMostOptions) return types->Error(absl::StrCat("at most ", kMostOptions, " types are possible"));
  for (const ManifestNode& value : members) {
    const std::string macro(value.name());
    if (Status fits = KernelSource().Define(macro, 1).Check(); !fits.ok()) return value.Error(fits.message());
    auto is_it = [&](const auto& define) { return define.first == macro; };
    if (std::any_of(artifacts.defines.begin(), artifacts.defines.end(), is_it)) {
      return value.Error("'" + macro + "' is also given in \"defines\": give the macro once");
    }
    TUNEONCE_RETURN_IF_ERROR(value.CheckFields({"dtype_of", "axis"}));
    const ManifestNode* axis_node = value.Find("axis");
    const ManifestNode* tensor_node = value.Find("dtype_of");
    if ((axis_node == nullptr) == (tensor_node == nullptr)) return value.Error("expected one of dtype_of and axis");
    if (axis_node != nullptr) {
      TUNEONCE_ASSIGN_OR_RETURN(Axis<std::string> axis, space.FindStringAxis(*axis_node));
      variant->DefineType(macro, axis);
    } else {
      TUNEONCE_ASSIGN_OR_RETURN(std::string tensor, tensor_node->String());
      variant->DefineType(macro, DTypeOf(std::move(tensor)));
    }
  }
  return Status();
}

}  // namespace

Result<BundleVariant> ReadVariant(const BundleSpace& space, const ManifestNode& node, BundleFiles* files) {
  TUNEONCE_RETURN_IF_ERROR(
      node.CheckFields({"name", "backend", "source", "convention", "targets", "grid", "block", "cluster",
                        "shared_memory", "programmatic_launch", "parameters", "assumptions", "requires", "symbol",
                        "artifacts", "defines", "options", "headers", "types"}));
  Variant variant;
  TUNEONCE_ASSIGN_OR_RETURN(variant.name, node.GetString("name"));
  TUNEONCE_RETURN_IF_ERROR(node.ReadOptional("backend", &variant.backend));
  auto artifacts = std::make_shared<BundleArtifacts>();
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* source_node, node.Get("source"));
  TUNEONCE_ASSIGN_OR_RETURN(std::string source, source_node->String());
  std::optional<SourceKind> kind = SourceKindNamed(source);
  if (!kind)
    return source_node->Error("expected tile_ir, tile_cpp, ptx, cubin, cuda_cpp or cpu_cpp, got '" + source + "'");
  artifacts->kind = *kind;
  TUNEONCE_ASSIGN_OR_RETURN(variant.convention, ReadConvention(node, *kind));
  TUNEONCE_RETURN_IF_ERROR(ReadVariantTargets(node, *kind, &variant));
  if (const ManifestNode* names = node.Find("parameters")) {
    TUNEONCE_ASSIGN_OR_RETURN(variant.parameters, names->Strings(kMaxParameters));
  }
  TUNEONCE_ASSIGN_OR_RETURN(variant.assumptions, ReadAssumptions(node));
  if (const ManifestNode* requires_node = node.Find("requires")) {
    TUNEONCE_ASSIGN_OR_RETURN(std::string text, requires_node->String());
    Result<Condition> condition = Condition::Parse(text);
    if (!condition.ok()) return requires_node->Error(condition.status().message());
    variant.Requires(*std::move(condition));
  }
  TUNEONCE_RETURN_IF_ERROR(ReadDefines(space, node, artifacts.get()));
  TUNEONCE_RETURN_IF_ERROR(ReadOptions(node, *files, artifacts.get()));
  TUNEONCE_RETURN_IF_ERROR(FindRestoredSources(node, variant.name, files));
  TUNEONCE_RETURN_IF_ERROR(ReadHeaders(node, variant.name, files, artifacts.get()));
  TUNEONCE_RETURN_IF_ERROR(ReadTypes(space, node, *artifacts, &variant));
  TUNEONCE_RETURN_IF_ERROR(ReadArtifacts(space, node, variant.name, files, artifacts.get()));
  TUNEONCE_ASSIGN_OR_RETURN(GeometryFn geometry, ReadGeometry(space, node));
  if (artifacts->HasLaunchFields()) {
    geometry.ByCode([artifacts](const Config& config) {
      const BundleArtifact* artifact = artifacts->Find(config);
      return artifact == nullptr ? CodeGeometry() : artifact->launch;
    });
  }
  variant.geometry = std::move(geometry);
  // Hints that the author set in the code and that no axis sets are kept.
  variant.hints = HintsOfAxes{IsTile(*kind)};
  variant.source =
      IdentifiedSource{[artifacts](const Config& config, const Problem&) { return artifacts->SourceOf(config); },
                       [artifacts] { return artifacts->Identity(); }};
  return BundleVariant{&node, std::move(variant), std::move(artifacts)};
}

}  // namespace v0
}  // namespace tuneonce
