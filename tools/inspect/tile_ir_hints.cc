#include "inspect/tile_ir_hints.h"

#include <utility>

#include "base/environment.h"
#include "compile/tile_front_end.h"
#include "tile_ir/tile_ir.h"

namespace tuneonce {
inline namespace v0 {

Result<TileIrHints> TileIrHints::Of(std::string_view bytecode) {
  TUNEONCE_ASSIGN_OR_RETURN(TileIrModule module, ReadTileIr(bytecode));
  TileIrHints hints;
  hints.major = module.major;
  hints.minor = module.minor;
  for (TileIrEntry& entry : module.entries) {
    std::string text = HintsByTargetString(entry.hints);
    hints.entries.push_back(
        {std::move(entry.name), std::move(entry.parameters), std::move(entry.hints), std::move(text)});
  }
  return hints;
}

Result<PatchedTileIr> PatchHints(std::string_view bytecode, const Hints& hints, std::string_view entry) {
  TUNEONCE_ASSIGN_OR_RETURN(TileIrModule before, ReadTileIr(bytecode));
  PatchedTileIr patched;
  TUNEONCE_ASSIGN_OR_RETURN(patched.bytecode, PatchTileIrHints(bytecode, hints, entry));
  for (const TileIrEntry& each : before.entries) {
    std::string note = hints.empty() ? "" : BakedHintsNote(each, hints);
    if (!note.empty()) patched.notes.push_back(std::move(note));
  }
  return patched;
}

Result<std::string> TileIrOf(const KernelSource& source, const Target& target) {
  TUNEONCE_ASSIGN_OR_RETURN(KernelSource lowered, LowerToTileIr(source, target, Environment::Read()));
  return std::move(lowered.content);
}

}  // namespace v0
}  // namespace tuneonce
