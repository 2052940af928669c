#ifndef TUNEONCE_LIB_COMPILE_PTXAS_TOOLCHAIN_H_
#define TUNEONCE_LIB_COMPILE_PTXAS_TOOLCHAIN_H_

#include <memory>
#include <string>
#include <utility>

#include "compile/toolbox.h"
#include "tuneonce/toolchain.h"

namespace tuneonce {
inline namespace v0 {

/// PTX -> cubin by ptxas, found as tileiras is (`Environment::ptxas`; see TileirasToolchain). PTX for an
/// architecture's own features (".target sm_90a") is compiled for that name. Hints do not apply.
class TUNEONCE_API PtxasToolchain final : public Toolchain {
 public:
  explicit PtxasToolchain(std::shared_ptr<const Toolbox> tools) : tools_(std::move(tools)) {}

  SourceKind source_kind() const override { return SourceKind::kPtx; }
  Result<std::string> Version() const override;
  std::string Description() const override;

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                             const WaitLimits& limits) const override;

  const std::shared_ptr<const Toolbox> tools_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_PTXAS_TOOLCHAIN_H_
