#ifndef TUNEONCE_LIB_COMPILE_CUBIN_TOOLCHAIN_H_
#define TUNEONCE_LIB_COMPILE_CUBIN_TOOLCHAIN_H_

#include <string>

#include "tuneonce/toolchain.h"

namespace tuneonce {
inline namespace v0 {

/// Passes machine code through as it is: cubins, fatbins, and for the CPU device shared objects. Errors of Compile:
/// InvalidArgument if the content is none, is cut, or does not say which kernels it has and none is named.
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

#endif  // TUNEONCE_LIB_COMPILE_CUBIN_TOOLCHAIN_H_
