#include "kernel/bundle_variant.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "kernel/bundle_geometry.h"

namespace tuneonce {
namespace {

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

/// {"min_capability": 80, "max_capability": 129}.
Status ReadTargets(const ManifestNode& node, SourceKind kind, Variant* variant) {
  variant->runs_on = kind == SourceKind::kHostCpp ? OnCpuDevice() : OnGpu();
  const ManifestNode* targets = node.Find("targets");
  if (targets == nullptr) return Status();
  TUNEONCE_RETURN_IF_ERROR(targets->CheckFields({"min_capability", "max_capability"}));
  std::int64_t from = 0, to = 10000;
  if (const ManifestNode* least = targets->Find("min_capability")) {
    TUNEONCE_ASSIGN_OR_RETURN(from, least->Int());
  }
  if (const ManifestNode* most = targets->Find("max_capability")) {
    TUNEONCE_ASSIGN_OR_RETURN(to, most->Int());
  }
  if (kind == SourceKind::kHostCpp) return targets->Error("the CPU device has no compute capability");
  variant->runs_on = CapabilityRange(static_cast<int>(from), static_cast<int>(to));
  return Status();
}

Status ReadAssumptions(const ManifestNode& node, Variant* variant) {
  const ManifestNode* assumptions = node.Find("assumptions");
  if (assumptions == nullptr) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, assumptions->Array());
  for (const ManifestNode& each : *list) {
    TUNEONCE_RETURN_IF_ERROR(each.CheckFields({"tensor", "aligned", "contiguous", "dimension", "stride",
                                               "stride_divisible_by", "extent_divisible_by", "no_overlap"}));
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* tensor_node, each.Get("tensor"));
    TUNEONCE_ASSIGN_OR_RETURN(std::string tensor, tensor_node->String());
    int dimension = 0;
    if (const ManifestNode* dimension_node = each.Find("dimension")) {
      TUNEONCE_ASSIGN_OR_RETURN(std::int64_t value, dimension_node->Int());
      dimension = static_cast<int>(std::clamp<std::int64_t>(value, -1, kMaxRank));
    }
    std::size_t before = variant->assumptions.size();
    auto add = [&](const char* field, auto make) -> Status {
      const ManifestNode* value_node = each.Find(field);
      if (value_node == nullptr) return Status();
      TUNEONCE_ASSIGN_OR_RETURN(std::int64_t value, value_node->Int());
      variant->assumptions.push_back(make(value));
      return Status();
    };
    TUNEONCE_RETURN_IF_ERROR(add("aligned", [&](std::int64_t v) { return Aligned(tensor, v); }));
    TUNEONCE_RETURN_IF_ERROR(add("stride", [&](std::int64_t v) { return StrideIs(tensor, dimension, v); }));
    TUNEONCE_RETURN_IF_ERROR(
        add("stride_divisible_by", [&](std::int64_t v) { return StrideDivisibleBy(tensor, dimension, v); }));
    TUNEONCE_RETURN_IF_ERROR(
        add("extent_divisible_by", [&](std::int64_t v) { return ExtentDivisibleBy(tensor, dimension, v); }));
    if (const ManifestNode* contiguous_node = each.Find("contiguous")) {
      TUNEONCE_ASSIGN_OR_RETURN(bool is_contiguous, contiguous_node->Bool());
      if (is_contiguous) variant->assumptions.push_back(Contiguous(tensor));
    }
    if (const ManifestNode* other_node = each.Find("no_overlap")) {
      TUNEONCE_ASSIGN_OR_RETURN(std::string other, other_node->String());
      variant->assumptions.push_back(NoOverlap(tensor, other));
    }
    if (variant->assumptions.size() == before) return each.Error("it assumes nothing");
  }
  return Status();
}

Status ReadArtifacts(const BundleSpace& space, const ManifestNode& node, const ReadArtifactFn& read,
                     BundleArtifacts* artifacts) {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* list_node, node.Get("artifacts"));
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, list_node->Array());
  if (list->empty()) return list_node->Error("a variant needs at least one artifact");
  for (const ManifestNode& each : *list) {
    TUNEONCE_RETURN_IF_ERROR(each.CheckFields({"config", "file", "symbol", "block", "shared_memory"}));
    BundleArtifact artifact;
    if (const ManifestNode* config = each.Find("config")) {
      TUNEONCE_ASSIGN_OR_RETURN(artifact.pattern, space.ReadPattern(*config, /*whole=*/false));
    }
    const ManifestNode* symbol = each.Find("symbol");
    if (symbol == nullptr) {
      TUNEONCE_ASSIGN_OR_RETURN(symbol, node.Get("symbol"));
    }
    TUNEONCE_ASSIGN_OR_RETURN(artifact.symbol, symbol->String());
    if (const ManifestNode* block = each.Find("block")) {
      TUNEONCE_ASSIGN_OR_RETURN(std::int64_t threads, block->Int());
      artifact.block = threads;
    }
    if (const ManifestNode* shared = each.Find("shared_memory")) {
      TUNEONCE_ASSIGN_OR_RETURN(std::int64_t bytes, shared->Int());
      artifact.shared_memory = bytes;
    }
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* file_node, each.Get("file"));
    TUNEONCE_ASSIGN_OR_RETURN(std::string file, file_node->String());
    if (file.empty() || file.front() == '/' || file.find('\\') != std::string::npos ||
        absl::StrCat("/", file, "/").find("/../") != std::string::npos) {
      return file_node->Error("'" + file + "' lies outside the bundle: give a path relative to its folder");
    }
    Result<std::string> content = read(file);
    if (!content.ok()) {
      return Status(content.status().code(), file_node->Error(content.status().message()).message());
    }
    artifact.content = std::make_shared<const std::string>(*std::move(content));
    artifact.node = &each;
    artifacts->list.push_back(std::move(artifact));
  }
  return Status();
}

}  // namespace

Result<BundleVariant> ReadVariant(const BundleSpace& space, const ManifestNode& node, const ReadArtifactFn& read) {
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"name", "source", "convention", "targets", "grid", "block", "cluster",
                                             "shared_memory", "programmatic_launch", "parameters", "assumptions",
                                             "symbol", "artifacts", "defines", "options"}));
  Variant variant;
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* name_node, node.Get("name"));
  TUNEONCE_ASSIGN_OR_RETURN(variant.name, name_node->String());
  auto artifacts = std::make_shared<BundleArtifacts>();
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* source_node, node.Get("source"));
  TUNEONCE_ASSIGN_OR_RETURN(std::string source, source_node->String());
  std::optional<SourceKind> kind = SourceKindNamed(source);
  if (!kind) return source_node->Error("expected tile_ir, ptx, cubin, cuda_cpp or host_cpp, got '" + source + "'");
  artifacts->kind = *kind;
  TUNEONCE_ASSIGN_OR_RETURN(variant.convention, ReadConvention(node, *kind));
  TUNEONCE_RETURN_IF_ERROR(ReadTargets(node, *kind, &variant));
  if (const ManifestNode* names = node.Find("parameters")) {
    TUNEONCE_ASSIGN_OR_RETURN(variant.parameters, names->Strings());
  }
  TUNEONCE_RETURN_IF_ERROR(ReadAssumptions(node, &variant));
  if (const ManifestNode* defines = node.Find("defines")) {
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, defines->Array());
    for (const ManifestNode& each : *list) {
      TUNEONCE_ASSIGN_OR_RETURN(IntAxis axis, space.FindIntAxis(each));
      TUNEONCE_ASSIGN_OR_RETURN(std::string name, each.String());
      artifacts->defines.emplace_back(std::move(name), axis);
    }
  }
  if (const ManifestNode* options = node.Find("options")) {
    TUNEONCE_ASSIGN_OR_RETURN(artifacts->options, options->Strings());
  }
  TUNEONCE_RETURN_IF_ERROR(ReadArtifacts(space, node, read, artifacts.get()));
  TUNEONCE_ASSIGN_OR_RETURN(GeometryFn geometry, ReadGeometry(space, node));
  if (artifacts->HasLaunchFields()) {
    variant.geometry = [geometry, artifacts](const Config& config, const Problem& problem) {
      Geometry of_call = geometry(config, problem);
      if (const BundleArtifact* artifact = artifacts->Find(config)) artifact->Apply(&of_call);
      return of_call;
    };
  } else {
    variant.geometry = geometry;
  }
  if (*kind != SourceKind::kTileIr) variant.hints = [](const Config&) { return Hints(); };
  variant.source = [artifacts](const Config& config, const Problem&) { return artifacts->SourceOf(config); };
  return BundleVariant{&node, std::move(variant), std::move(artifacts)};
}

}  // namespace tuneonce
