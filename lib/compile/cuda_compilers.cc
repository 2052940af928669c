#include "compile/tileiras_toolchain.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compile/cubin.h"
#include "compile/tool.h"
#include "tile_ir/tile_ir.h"
#include "tile_ir/tile_ir_assumptions.h"
#include "tile_ir/tile_ir_math.h"

namespace tuneonce {
inline namespace v0 {
namespace {

Result<Tool> FindTileiras(const Toolbox& tools) { return tools.Find("tileiras", tools.environment().tileiras); }

/// The entry to compile hints for. Errors: InvalidArgument, listing those there are.
Result<TileIrEntry> EntryOf(const TileIrModule& module, const std::string& symbol) {
  auto entry = std::find_if(module.entries.begin(), module.entries.end(),
                            [&](const TileIrEntry& e) { return e.name == symbol; });
  if (symbol.empty() && module.entries.size() == 1) entry = module.entries.begin();
  if (entry != module.entries.end()) return *entry;
  return InvalidArgumentError(absl::StrCat(
      "no entry '", symbol, "' in the bytecode; it has ",
      module.entries.empty() ? "none" : absl::StrJoin(module.entries, ", ", [](std::string* out, const TileIrEntry& e) {
        out->append(e.name);
      })));
}

/// Removes from `options` those that mean flags of the bytecode, which tileiras has no options for.
TileIrMath TakeMathOptions(std::vector<std::string>* options) {
  auto take = [&](const char* name) {
    auto rest = std::remove(options->begin(), options->end(), name);
    const bool is_there = rest != options->end();
    options->erase(rest, options->end());
    return is_there;
  };
  TileIrMath math;
  math.flush_to_zero = take("--ftz");
  math.approximate = take("--approx");
  return math;
}

}  // namespace

Result<std::string> TileirasToolchain::Version() const {
  TUNEONCE_ASSIGN_OR_RETURN(Tool tileiras, FindTileiras(*tools_));
  return "tileiras " + tileiras.version;
}

std::string TileirasToolchain::Description() const {
  Result<Tool> tileiras = FindTileiras(*tools_);
  return tileiras.ok() ? absl::StrCat(tileiras->path, " ", tileiras->version) : tileiras.status().message();
}

Result<Artifact> TileirasToolchain::DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                                              const WaitLimits& limits) const {
  if (target.is_cpu_device) return InvalidArgumentError("a tile_ir source cannot run on the CPU device");
  TUNEONCE_RETURN_IF_ERROR(hints.CheckFor(target));
  TUNEONCE_ASSIGN_OR_RETURN(TileIrModule module, ReadTileIr(source.content));
  TUNEONCE_ASSIGN_OR_RETURN(TileIrEntry entry, EntryOf(module, source.symbol));
  TUNEONCE_ASSIGN_OR_RETURN(Tool tileiras, FindTileiras(*tools_));
  std::string bytecode = source.content;
  if (!hints.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(bytecode, PatchTileIrHints(source.content, hints, entry.name));
  }
  std::vector<std::string> options = source.options;
  const TileIrMath math = TakeMathOptions(&options);
  if (math.flush_to_zero || math.approximate) {
    TUNEONCE_ASSIGN_OR_RETURN(bytecode, PatchTileIrMath(bytecode, math, entry.name));
  }

  TUNEONCE_ASSIGN_OR_RETURN(TemporaryFolder folder, tools_->MakeFolder());
  TUNEONCE_ASSIGN_OR_RETURN(std::string input, folder.WriteFile("kernel.tileir", bytecode));
  std::string output = folder.path() + "/kernel.cubin";
  std::vector<std::string> arguments = {tileiras.path, "--gpu-name", target.name()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.insert(arguments.end(), {input, "-o", output});
  TUNEONCE_ASSIGN_OR_RETURN(Artifact artifact, CompileToFile(arguments, output, folder, limits));
  artifact.symbol = entry.name;
  artifact.parameters = entry.parameters;
  // A newer front end may use operations that are not known here, which its tileiras compiles.
  Result<TileIrAssumptions> assumed = ReadTileIrAssumptions(source.content, entry.name);
  if (assumed.ok()) artifact.assumptions = std::move(assumed->of_parameters);
  artifact.cacheable = !NamesFiles(source.options);
  TUNEONCE_RETURN_IF_ERROR(DescribeCubin(&artifact).WithPrefix(tileiras.path));
  if (std::string note = BakedHintsNote(entry, hints); !note.empty()) {
    absl::StrAppend(&artifact.log, artifact.log.empty() ? "" : "\n", note);
  }
  return artifact;
}

}  // namespace v0
}  // namespace tuneonce
