#include "compile/cubin_toolchain.h"

#include "base/elf_image.h"
#include "base/fat_binary.h"
#include "compile/cubin.h"
#include "tuneonce/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// An image of which no more is known than its bytes.
Status DescribeByBytes(Artifact* artifact) {
  if (artifact->symbol.empty())
    return InvalidArgumentError("the image does not list its kernels: pass the kernel's name as the symbol");
  artifact->code_fingerprint = Fingerprinter().Add(artifact->image).Add(artifact->symbol).Finish();
  return Status();
}

Status DescribeSharedObject(Artifact* artifact) {
  Result<ElfImage> image = ElfImage::Parse(artifact->image);
  if (!image.ok()) {
    return InvalidArgumentError("the image is not a shared object, which the CPU device loads: " +
                                image.status().message());
  }
  if (image->machine() == kMachineCuda) return InvalidArgumentError("a cubin cannot run on the CPU device");
  return DescribeByBytes(artifact);
}

}  // namespace

Result<Artifact> CubinToolchain::DoCompile(const KernelSource& source, const Hints&, const Target& target,
                                           const WaitLimits&) const {
  Artifact artifact;
  artifact.image = source.content;
  artifact.symbol = source.symbol;
  if (target.is_cpu_device) {
    TUNEONCE_RETURN_IF_ERROR(DescribeSharedObject(&artifact));
  } else if (IsFatBinary(artifact.image)) {
    TUNEONCE_RETURN_IF_ERROR(CheckFatBinary(artifact.image));
    TUNEONCE_RETURN_IF_ERROR(DescribeByBytes(&artifact));
  } else {
    TUNEONCE_RETURN_IF_ERROR(DescribeCubin(&artifact));
  }
  return artifact;
}

}  // namespace v0
}  // namespace tuneonce
