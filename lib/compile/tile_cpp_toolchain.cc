#include "compile/tile_cpp_toolchain.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "compile/tile_front_end.h"
#include "tile_ir/tile_ir.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// "13.5" of "tileiras release 13.5, V13.5.37" is 1305; 0 if the text has no such number.
int ReleaseIn(const std::string& version) {
  const std::size_t at = version.find("release ");
  if (at == std::string::npos) return 0;
  const std::string text = version.substr(at + 8, version.find(',', at) - at - 8);
  const std::size_t dot = text.find('.');
  int major = 0;
  int minor = 0;
  const bool is_number = dot != std::string::npos && absl::SimpleAtoi(text.substr(0, dot), &major) &&
                         absl::SimpleAtoi(text.substr(dot + 1), &minor);
  return is_number ? 100 * major + minor : 0;
}

/// The hints as they are merged into those of `entry`: one for all targets also replaces the text's hint for one.
Hints HintsOver(const TileIrEntry& entry, const Hints& hints) {
  auto given = hints.by_target().find("default");
  if (hints.update() != Hints::Update::kMerge || given == hints.by_target().end()) return hints;
  std::map<std::string, HintValues> all = hints.by_target();
  for (const auto& [target, baked] : entry.hints) {
    if (target == "default") continue;
    for (const auto& [name, value] : given->second) {
      const std::string in_bytecode(BytecodeHintName(name));
      if (baked.count(in_bytecode) == 0) continue;
      HintValues& of_target = all[target];
      if (of_target.count(name) == 0 && of_target.count(in_bytecode) == 0) of_target[name] = value;
    }
  }
  // Large clusters have been checked with the hints that were given.
  return Hints(ByTarget<HintValues>(std::move(all))).Set(Hints::Update::kMerge).AllowNonPortableClusters();
}

}  // namespace

TileCppToolchain::TileCppToolchain(std::shared_ptr<const Toolbox> tools, double most_run_seconds)
    : front_end_(std::make_unique<TileFrontEnd>(tools, most_run_seconds)), tileiras_(kTileiras, tools) {}

TileCppToolchain::~TileCppToolchain() = default;

std::int64_t TileCppToolchain::num_front_end_runs() const { return front_end_->num_runs(); }

Result<std::string> TileCppToolchain::Version() const {
  TUNEONCE_ASSIGN_OR_RETURN(const NvrtcLibrary* nvrtc, front_end_->Nvrtc());
  Result<std::string> tileiras = tileiras_.Version();
  if (!tileiras.ok()) {
    return UnavailableError(absl::StrCat("CUDA Tile C++ needs tileiras: ", tileiras.status().message(),
                                         "; pip install nvidia-cuda-tileiras, or set TUNEONCE_TILEIRAS"));
  }
  int major = 0;
  int minor = 0;
  nvrtc->Version(&major, &minor);
  if (const int release = ReleaseIn(*tileiras); release != 0 && release < 100 * major + minor) {
    return UnavailableError(absl::StrCat("CUDA Tile C++ needs a tileiras that reads the Tile IR of NVRTC ",
                                         nvrtc->VersionText(), ", but the tileiras that was found is ", *tileiras,
                                         "; pip install nvidia-cuda-tileiras==", major, ".", minor, ".*"));
  }
  std::string version = absl::StrCat("tile nvrtc ", nvrtc->VersionText(), " build ", nvrtc->build);
  for (const std::string& folder : front_end_->Headers().folders) absl::StrAppend(&version, " -I", folder);
  return absl::StrCat(version, " ", *tileiras);
}

std::string TileCppToolchain::Description() const {
  Result<std::string> version = Version();
  if (!version.ok()) return version.status().message();
  Result<const NvrtcLibrary*> nvrtc = front_end_->Nvrtc();
  return absl::StrCat((*nvrtc)->path, " nvrtc ", (*nvrtc)->VersionText(),
                      ", which has cuda_tile.h; other headers: ", front_end_->Headers().ToString(), "; ",
                      tileiras_.Description());
}

std::shared_ptr<void> TileCppToolchain::Announce(const std::vector<const KernelSource*>& sources,
                                                 const Target& target) const {
  return front_end_->Announce(sources, target);
}

Result<Artifact> TileCppToolchain::DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                                             const WaitLimits& limits) const {
  if (target.is_cpu_device) return InvalidArgumentError("a tile_cpp source cannot run on the CPU device");
  TUNEONCE_RETURN_IF_ERROR(hints.CheckFor(target));
  const auto start = std::chrono::steady_clock::now();
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<const LoweredTileKernel> lowered,
                            front_end_->Lower(source, target, limits));
  TUNEONCE_ASSIGN_OR_RETURN(const TileIrModule module, ReadTileIr(lowered->bytecode));
  KernelSource tile_ir = KernelSource::TileIr(lowered->bytecode, lowered->symbol);
  tile_ir.options = TileOptions::Of(source.options).of_tileiras;
  const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
  WaitLimits left = limits;
  left.timeout = std::max(std::chrono::milliseconds(1), limits.timeout - spent);
  TUNEONCE_ASSIGN_OR_RETURN(Artifact artifact,
                            tileiras_.Compile(tile_ir, HintsOver(module.entries.front(), hints), target, left));
  const Artifact& made_of = lowered->made_of;
  artifact.dependencies = made_of.dependencies;
  artifact.absent = made_of.absent;
  artifact.cacheable = artifact.cacheable && made_of.cacheable;
  artifact.seconds += made_of.seconds;
  if (!made_of.log.empty()) artifact.log = absl::StrCat(made_of.log, artifact.log.empty() ? "" : "\n", artifact.log);
  return artifact;
}

}  // namespace v0
}  // namespace tuneonce
