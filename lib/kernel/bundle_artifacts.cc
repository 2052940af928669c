#include "kernel/bundle_artifacts.h"

#include <algorithm>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tuneonce/kernel/parameter_block.h"
#include "tuneonce/kernel/tile_ir.h"

namespace tuneonce {
namespace {

Status CheckTileIr(const KernelDefinition& definition, const Variant& variant, const BundleArtifact& artifact) {
  TUNEONCE_ASSIGN_OR_RETURN(TileIrModule module, ReadTileIr(*artifact.content));
  auto entry = std::find_if(module.entries.begin(), module.entries.end(),
                            [&](const TileIrEntry& e) { return e.name == artifact.symbol; });
  if (entry == module.entries.end()) {
    return InvalidArgumentError(absl::StrCat(
        "it has no kernel '", artifact.symbol, "'; it has: ",
        absl::StrJoin(module.entries, ", ", [](std::string* out, const TileIrEntry& e) { out->append(e.name); })));
  }
  if (variant.convention != CallingConvention::kCutilePython) return Status();
  // Pointers (64 bits) and numbers of a size are told apart by the type's name.
  TUNEONCE_ASSIGN_OR_RETURN(ParameterLayout layout,
                            ParameterLayout::Create(definition, variant.convention, variant.parameters));
  std::vector<std::size_t> sizes;
  for (const std::string& type : entry->parameters) {
    std::string inner = type.substr(type.find('<') + 1);
    bool is_eight =
        inner.compare(0, 3, "ptr") == 0 || inner.compare(0, 3, "i64") == 0 || inner.compare(0, 3, "f64") == 0;
    bool is_four = inner.compare(0, 3, "i32") == 0 || inner.compare(0, 3, "f32") == 0;
    bool is_two =
        inner.compare(0, 3, "i16") == 0 || inner.compare(0, 3, "f16") == 0 || inner.compare(0, 4, "bf16") == 0;
    sizes.push_back(is_eight ? 8 : is_four ? 4 : is_two ? 2 : 1);
  }
  if (sizes.size() != layout.num_parameters()) {
    return InvalidArgumentError(absl::StrCat("kernel '", artifact.symbol, "' has ", sizes.size(),
                                             " parameters; the manifest declares ", layout.num_parameters()));
  }
  return layout.CheckAgainst(sizes);
}

/// Number of parameters of a PTX entry; nothing if it has no such entry.
std::optional<std::size_t> PtxParameters(const std::string& ptx, const std::string& symbol) {
  for (std::size_t at = ptx.find(".entry"); at != std::string::npos; at = ptx.find(".entry", at + 1)) {
    std::size_t name = ptx.find_first_not_of(" \t\r\n", at + 6);
    std::size_t end = name == std::string::npos ? name : ptx.find_first_of(" \t\r\n({", name);
    if (end == std::string::npos || ptx.compare(name, end - name, symbol) != 0) continue;
    std::size_t body = ptx.find('{', end);
    std::size_t close = ptx.find(')', end);
    std::size_t count = 0;
    for (std::size_t p = ptx.find(".param", end); p < std::min(body, close); p = ptx.find(".param", p + 1)) ++count;
    return count;
  }
  return std::nullopt;
}

Status CheckPtx(const KernelDefinition& definition, const Variant& variant, const BundleArtifact& artifact) {
  std::optional<std::size_t> count = PtxParameters(*artifact.content, artifact.symbol);
  if (!count) return InvalidArgumentError("it has no kernel '" + artifact.symbol + "'");
  TUNEONCE_ASSIGN_OR_RETURN(ParameterLayout layout,
                            ParameterLayout::Create(definition, variant.convention, variant.parameters));
  std::size_t hidden = variant.convention == CallingConvention::kTriton ? 2 : 0;
  if (*count <= layout.num_parameters() && *count + hidden >= layout.num_parameters()) return Status();
  return InvalidArgumentError(absl::StrCat("kernel '", artifact.symbol, "' has ", *count,
                                           " parameters; the manifest declares ", layout.num_parameters()));
}

}  // namespace

const BundleArtifact* BundleArtifacts::Find(const Config& config) const {
  for (const BundleArtifact& artifact : list) {
    if (artifact.pattern.Matches(config)) return &artifact;
  }
  return nullptr;
}

bool BundleArtifacts::HasLaunchFields() const {
  return std::any_of(list.begin(), list.end(), [](const BundleArtifact& a) { return a.block || a.shared_memory; });
}

KernelSource BundleArtifacts::SourceOf(const Config& config) const {
  const BundleArtifact* artifact = Find(config);
  if (artifact == nullptr) throw std::runtime_error("the bundle has no artifact for it");  // Checked when it was read.
  KernelSource source;
  source.kind = kind;
  source.content = *artifact->content;
  source.symbol = artifact->symbol;
  source.options = options;
  for (const auto& [name, axis] : defines) source.Define(name, config[axis]);
  return source;
}

Status CheckKernel(const KernelDefinition& definition, const Variant& variant, SourceKind kind,
                   const BundleArtifact& artifact) {
  if (kind == SourceKind::kTileIr) return CheckTileIr(definition, variant, artifact);
  if (kind == SourceKind::kPtx) return CheckPtx(definition, variant, artifact);
  // A cubin is checked when it is loaded, C++ when it is compiled; a symbol that occurs nowhere is wrong for sure.
  if (artifact.content->find(artifact.symbol) != std::string::npos) return Status();
  return InvalidArgumentError("it has no kernel '" + artifact.symbol + "'");
}

}  // namespace tuneonce
