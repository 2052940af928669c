#include "tuneonce/compile/cubin_toolchain.h"

namespace tuneonce {

Result<Artifact> CubinToolchain::Compile(const KernelSource& source, const Hints&, const Target& target) const {
  if (target.is_cpu_device) return InvalidArgumentError("a cubin cannot run on the CPU device");
  if (source.content.compare(0, 4,
                             "\x7f"
                             "ELF") != 0) {
    return InvalidArgumentError("the content is not a cubin: it does not start as an ELF file");
  }
  Artifact artifact;
  artifact.image = source.content;
  artifact.symbol = source.symbol;
  artifact.code_fingerprint = Fingerprinter().Add(source.content).Add(source.symbol).Finish();
  return artifact;
}

}  // namespace tuneonce
