#include "tuneonce/compile/toolchain.h"

#include "absl/strings/str_cat.h"
#include "tuneonce/compile/cubin_toolchain.h"
#include "tuneonce/compile/host_toolchain.h"
#include "tuneonce/compile/nvrtc_toolchain.h"
#include "tuneonce/compile/ptxas_toolchain.h"
#include "tuneonce/compile/tileiras_toolchain.h"

namespace tuneonce {

Result<Artifact> Toolchain::Compile(const KernelSource& source, const Hints& hints, const Target& target,
                                    const CompileLimits& limits) const {
  TUNEONCE_RETURN_IF_ERROR(source.Check());
  Result<Artifact> artifact = DoCompile(source, hints, target, limits);
  if (!artifact.ok()) return artifact;
  if (Result<std::string> version = Version(); version.ok()) artifact->toolchain = *version;
  return artifact;
}

Result<Fingerprint> Toolchain::ArtifactKey(const KernelSource& source, const Hints& hints, const Target& target) const {
  TUNEONCE_ASSIGN_OR_RETURN(std::string version, Version());
  Fingerprinter key;
  key.Add(source.Fingerprint()).Add(target.name()).Add(version);
  if (uses_hints()) key.Add(hints.Fingerprint());
  return key.Finish();
}

const ToolchainSet& ToolchainSet::Default() {
  static const auto* const set = new ToolchainSet(
      {std::make_shared<TileirasToolchain>(), std::make_shared<PtxasToolchain>(), std::make_shared<NvrtcToolchain>(),
       std::make_shared<HostToolchain>(), std::make_shared<CubinToolchain>()});
  return *set;
}

Result<const Toolchain*> ToolchainSet::For(SourceKind kind) const {
  for (const auto& toolchain : toolchains_) {
    if (toolchain->source_kind() == kind) return toolchain.get();
  }
  return UnimplementedError(absl::StrCat("there is no toolchain for ", std::string(SourceKindName(kind)), " sources"));
}

}  // namespace tuneonce
