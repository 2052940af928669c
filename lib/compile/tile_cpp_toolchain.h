#ifndef TUNEONCE_LIB_COMPILE_TILE_CPP_TOOLCHAIN_H_
#define TUNEONCE_LIB_COMPILE_TILE_CPP_TOOLCHAIN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compile/command_toolchain.h"
#include "compile/nvrtc_library.h"
#include "compile/toolbox.h"
#include "tuneonce/plugin/toolchain.h"

namespace tuneonce {
inline namespace v0 {

class TileFrontEnd;

/// CUDA Tile C++ -> cubin: NVRTC lowers it to Tile IR (TileFrontEnd), which tileiras compiles as any other
/// (kTileiras). C++20, and functions that do not state where they run are tile functions and the device's,
/// unless the source's options differ. Hints are patched into the bytecode, where they replace those of the text that
/// have the same name, for whatever target; the text's others stay. The artifact's symbol is the lowered name, and its
/// dependencies are the headers that NVRTC read. NVRTC is found as TileFrontEnd::Nvrtc states.
class TileCppToolchain final : public Toolchain {
 public:
  /// What one run of NVRTC should take at most, so that the first results come soon and workers share the runs.
  static constexpr double kMostRunSeconds = 2;

  explicit TileCppToolchain(std::shared_ptr<const Toolbox> tools, double most_run_seconds = kMostRunSeconds);
  ~TileCppToolchain() override;

  SourceKind source_kind() const override { return SourceKind::kTileCpp; }
  bool uses_hints() const override { return true; }
  Result<std::string> Version() const override;
  std::string Description() const override;
  std::shared_ptr<void> Announce(const std::vector<const KernelSource*>& sources, const Target& target) const override;

  /// Runs of NVRTC so far.
  std::int64_t num_front_end_runs() const;

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                             const WaitLimits& limits) const override;

  const std::unique_ptr<TileFrontEnd> front_end_;
  const CommandToolchain tileiras_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_TILE_CPP_TOOLCHAIN_H_
