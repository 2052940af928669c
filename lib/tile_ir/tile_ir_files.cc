// TileIrFiles: a variant whose configs are files.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "tile_ir/tile_ir.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
namespace {

/// Larger than any: what is beyond is no bytecode, but a file of another kind.
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

/// The pattern with the config's values in place of "{AXIS}".
Result<std::string> PathOf(const std::string& pattern, const Config& config) {
  std::string path;
  for (std::size_t at = 0; at < pattern.size();) {
    std::size_t open = pattern.find('{', at);
    std::size_t close = open == std::string::npos ? open : pattern.find('}', open);
    if (close == std::string::npos) return path + pattern.substr(at);
    std::string axis = pattern.substr(open + 1, close - open - 1);
    const AxisValue* value = config.Find(axis);
    if (value == nullptr) {
      return InvalidArgumentError(absl::StrCat("TileIrFiles(\"", pattern, "\"): the space has no axis '", axis, "'"));
    }
    absl::StrAppend(&path, pattern.substr(at, open - at), AxisValueString(*value));
    at = close + 1;
  }
  return path;
}

/// The one kernel of the bytecode.
Result<std::string> SymbolIn(const std::string& path, const std::string& bytecode) {
  TUNEONCE_ASSIGN_OR_RETURN(TileIrModule module, ReadTileIr(bytecode));
  if (module.entries.size() == 1) return module.entries.front().name;
  return InvalidArgumentError(absl::StrCat(
      path, " has ", module.entries.size(), " kernels; name one of them: TileIrFiles(pattern, symbol)",
      module.entries.empty() ? "" : ": ",
      absl::StrJoin(module.entries, ", ", [](std::string* out, const TileIrEntry& entry) { out->append(entry.name); })));
}

Result<KernelSource> Read(const std::string& pattern, const std::string& symbol, const Config& config) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string path, PathOf(pattern, config));
  TUNEONCE_ASSIGN_OR_RETURN(std::string bytecode, ReadFile(path, kMostBytes));
  std::string name = symbol;
  if (name.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(name, SymbolIn(path, bytecode));
  }
  return KernelSource::TileIr(std::move(bytecode), std::move(name));
}

}  // namespace

Variant TileIrFiles(std::string pattern, std::string symbol) {
  std::string absolute = AbsolutePath(pattern);
  Variant variant([pattern = std::move(absolute), symbol = std::move(symbol)](const Config& config) {
    Result<KernelSource> source = Read(pattern, symbol, config);
    if (source.ok()) return *std::move(source);
    return KernelSource::Mistaken(SourceKind::kTileIr, source.status());
  });
  return variant.Named("tile").On(OnGpu()).Convention(CallingConvention::kCutilePython);
}

}  // namespace tuneonce
