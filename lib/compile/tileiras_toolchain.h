#ifndef TUNEONCE_LIB_COMPILE_TILEIRAS_TOOLCHAIN_H_
#define TUNEONCE_LIB_COMPILE_TILEIRAS_TOOLCHAIN_H_

#include <memory>
#include <string>
#include <utility>

#include "compile/toolbox.h"
#include "tuneonce/toolchain.h"

namespace tuneonce {
inline namespace v0 {

/// CUDA Tile IR bytecode -> cubin by tileiras, run as a process with a clean environment, a folder and a process group
/// of its own. Hints are checked and patched into the bytecode first; without hints the bytecode stays as it is, and
/// the artifact's log names the hints that it brings along.
///
/// tileiras is the first of: `Environment::tileiras` (then nothing else); PyPI's nvidia-cuda-tileiras in this library's
/// own site-packages, $VIRTUAL_ENV, ~/.local, /usr/local/lib, /usr/lib (nvidia/cu13/bin below site-packages or
/// dist-packages); $CUDA_HOME/bin; /usr/local/cuda/bin; PATH.
class TUNEONCE_API TileirasToolchain final : public Toolchain {
 public:
  explicit TileirasToolchain(std::shared_ptr<const Toolbox> tools) : tools_(std::move(tools)) {}

  SourceKind source_kind() const override { return SourceKind::kTileIr; }
  bool uses_hints() const override { return true; }
  Result<std::string> Version() const override;
  std::string Description() const override;

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                             const WaitLimits& limits) const override;

  const std::shared_ptr<const Toolbox> tools_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_TILEIRAS_TOOLCHAIN_H_
