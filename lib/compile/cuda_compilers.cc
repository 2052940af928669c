// The rows of CommandToolchain that make cubins.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "compile/command_toolchain.h"
#include "compile/compiler_remarks.h"
#include "compile/cubin.h"
#include "compile/toolbox.h"
#include "tile_ir/tile_ir.h"

namespace tuneonce {
inline namespace v0 {
namespace {

Result<CompilerCommand> FindNvidiaTool(const Toolbox& tools, const char* name, const std::string& explicit_path) {
  TUNEONCE_ASSIGN_OR_RETURN(Tool tool, tools.Find(name, explicit_path));
  return CompilerCommand{
      {tool.path}, absl::StrCat(name, " ", tool.version), absl::StrCat(tool.path, " ", tool.version)};
}

Result<CompilerCommand> FindTileiras(const Toolbox& tools) {
  return FindNvidiaTool(tools, "tileiras", tools.environment().tileiras);
}
Result<CompilerCommand> FindPtxas(const Toolbox& tools) {
  return FindNvidiaTool(tools, "ptxas", tools.environment().ptxas);
}

Status FinishCubin(CommandRun* run) {
  run->artifact.cacheable = !NamesFiles(run->source.options);
  return DescribeCubin(&run->artifact).WithPrefix(run->command.words.front());
}

/// "sm_90a" if the PTX is for the target's own features, which only that name gives; else the target's name.
std::string ArchitectureFor(const std::string& ptx, const Target& target) {
  std::string name = target.name();
  std::size_t at = ptx.find(".target " + name);
  if (at == std::string::npos) return name;
  at += 8 + name.size();
  if (at < ptx.size() && std::islower(static_cast<unsigned char>(ptx[at])) != 0) name += ptx[at];
  return name;
}

Status PreparePtx(CommandRun* run) {
  const KernelSource& source = run->source;
  run->text = std::string(WithoutByteOrderMark(source.content));
  run->arguments = {"--verbose", "--gpu-name", ArchitectureFor(source.content, run->target)};
  run->arguments.insert(run->arguments.end(), source.options.begin(), source.options.end());
  run->artifact.symbol = source.symbol;
  return Status();
}

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

/// Whether a tileiras of this version ("tileiras release 13.5, V13.5.37") has the options for remarks: from 13.3 on.
bool HasRemarks(const std::string& version) {
  constexpr int kMajor = 13, kMinor = 3;
  int major = 0, minor = 0;
  if (std::sscanf(version.c_str(), "tileiras release %d.%d", &major, &minor) != 2) return false;
  return major > kMajor || (major == kMajor && minor >= kMinor);
}

std::string RemarksFile(const CommandRun& run) { return run.folder.path() + "/remarks.yaml"; }

std::vector<std::string> ReadRemarks(const CommandRun& run) {
  constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  const Result<std::string> yaml = ReadFile(RemarksFile(run), kMostBytes);
  return yaml.ok() ? RemarksIn(*yaml) : std::vector<std::string>();  // Without a file there was nothing to remark.
}

Status PrepareTileIr(CommandRun* run) {
  const KernelSource& source = run->source;
  TUNEONCE_RETURN_IF_ERROR(run->hints.CheckFor(run->target));
  TUNEONCE_ASSIGN_OR_RETURN(TileIrModule module, ReadTileIr(source.content));
  TUNEONCE_ASSIGN_OR_RETURN(TileIrEntry entry, EntryOf(module, source.symbol));
  run->text = source.content;
  if (!run->hints.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(run->text, PatchTileIrHints(source.content, run->hints, entry.name));
  }
  std::vector<std::string> options = source.options;
  const TileIrMath math = TakeMathOptions(&options);
  if (math.flush_to_zero || math.approximate) {
    TUNEONCE_ASSIGN_OR_RETURN(run->text, PatchTileIrMath(run->text, math, entry.name));
  }
  run->arguments = {"--gpu-name", run->target.name()};
  if (HasRemarks(run->command.version)) {
    run->arguments.insert(run->arguments.end(), {"--remarks=all", "--remark-format=yaml",
                                                 absl::StrCat("--remarks-output-file=", RemarksFile(*run))});
  }
  run->arguments.insert(run->arguments.end(), options.begin(), options.end());
  // A newer front end may use operations that are not known here, which its tileiras compiles.
  Result<TileIrAssumptions> assumed = ReadTileIrAssumptions(source.content, entry.name);
  if (assumed.ok()) run->artifact.assumptions = std::move(assumed->of_parameters);
  run->note = BakedHintsNote(entry, run->hints);
  run->artifact.symbol = std::move(entry.name);
  run->artifact.parameters = std::move(entry.parameters);
  return Status();
}

}  // namespace

const CompilerRow kTileiras = {SourceKind::kTileIr, /*uses_hints=*/true, "kernel.tileir", "kernel.cubin",
                               FindTileiras,        PrepareTileIr,       FinishCubin,     ReadRemarks};
const CompilerRow kPtxas = {SourceKind::kPtx, /*uses_hints=*/false, "kernel.ptx", "kernel.cubin",
                            FindPtxas,        PreparePtx,           FinishCubin};

}  // namespace v0
}  // namespace tuneonce
