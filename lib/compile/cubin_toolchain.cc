#include "compile/cubin_toolchain.h"

#include "compile/cubin.h"

namespace tuneonce {

Result<Artifact> CubinToolchain::DoCompile(const KernelSource& source, const Hints&, const Target& target,
                                           const CompileLimits&) const {
  if (target.is_cpu_device) return InvalidArgumentError("a cubin cannot run on the CPU device");
  Artifact artifact;
  artifact.image = source.content;
  artifact.symbol = source.symbol;
  TUNEONCE_RETURN_IF_ERROR(DescribeCubin(&artifact));
  return artifact;
}

}  // namespace tuneonce
