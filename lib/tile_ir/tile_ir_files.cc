// TileIrFiles: a variant whose configs are files of bytecode.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/short_list.h"
#include "definition/source_identity.h"
#include "tile_ir/tile_ir.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// The name of the one kernel in the bytecode.
Result<std::string> SymbolIn(const std::string& bytecode) {
  TUNEONCE_ASSIGN_OR_RETURN(TileIrModule module, ReadTileIr(bytecode));
  if (module.entries.size() == 1) return module.entries.front().name;
  return InvalidArgumentError(absl::StrCat("the bytecode has ", module.entries.size(), " kernels (",
                                           ShortListOf(module.entries, &TileIrEntry::name),
                                           "), not one: name the kernel, TileIrFiles(pattern, symbol)"));
}

}  // namespace

Variant TileIrFiles(std::string file_pattern, std::string symbol) {
  Variant variant([file = AbsolutePath(file_pattern), symbol = std::move(symbol)](const Config& config) {
    KernelSource source = SourceInFile(SourceKind::kTileIr, file, symbol, config);
    if (!source.Check().ok() || !source.symbol.empty()) return source;
    Result<std::string> found = SymbolIn(source.content);
    if (!found.ok()) return KernelSource::None(SourceKind::kTileIr, found.status().WithPrefix(file));
    source.symbol = *std::move(found);
    return source;
  });
  return variant.Named("tile").ForTarget(OnGpu()).Convention(CallingConvention::kCutilePython);
}

}  // namespace v0
}  // namespace tuneonce
