#ifndef TUNEONCE_LIB_COMPILE_CUBIN_H_
#define TUNEONCE_LIB_COMPILE_CUBIN_H_

#include <string>

#include "tuneonce/toolchain.h"

namespace tuneonce {
inline namespace v0 {

/// EM_CUDA: an ELF file with this machine is a cubin.
inline constexpr int kMachineCuda = 190;

/// Reads `artifact->image` as a cubin and fills in its kernels, the resources of `artifact->symbol` (by default the
/// only kernel's; a C++ name becomes the mangled one, where it is one kernel's) and the code fingerprint. Errors:
/// InvalidArgument if the image is not a whole cubin, or has no such kernel.
Status DescribeCubin(Artifact* artifact);

/// Passes machine code through unchanged: cubins, fatbins, and shared objects for the CPU device. Errors of Compile:
/// InvalidArgument if the content is not machine code of such a kind, if it is truncated, or if it does not list its
/// kernels and the source names no symbol.
class TUNEONCE_API CubinToolchain final : public Toolchain {
 public:
  SourceKind source_kind() const override { return SourceKind::kCubin; }
  Result<std::string> Version() const override { return std::string("cubin"); }
  std::string Description() const override { return "cubin, as is"; }

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                             const WaitLimits& limits) const override;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_CUBIN_H_
