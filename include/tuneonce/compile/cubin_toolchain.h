#ifndef TUNEONCE_COMPILE_CUBIN_TOOLCHAIN_H_
#define TUNEONCE_COMPILE_CUBIN_TOOLCHAIN_H_

#include <string>

#include "tuneonce/compile/toolchain.h"

namespace tuneonce {

/// Passes machine code through as it is.
class TUNEONCE_API CubinToolchain final : public Toolchain {
 public:
  SourceKind source_kind() const override { return SourceKind::kCubin; }
  std::string Description() const override { return "cubin, as is"; }
  /// Errors: InvalidArgument if the content is not an ELF image, or the target is the CPU device.
  Result<Artifact> Compile(const KernelSource& source, const Hints& hints, const Target& target) const override;
};

}  // namespace tuneonce

#endif  // TUNEONCE_COMPILE_CUBIN_TOOLCHAIN_H_
