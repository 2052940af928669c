#include "compile/precompiled.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "compile/command_toolchain.h"
#include "compile/cubin.h"
#include "definition/precompiled_code.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// The image as the toolchain made it: a cubin's own tables say all else.
Result<Artifact> ArtifactOf(PrecompiledCode::Image image, const Target& target) {
  if (target.is_cpu_device && image.cpu != HostCpuModel()) {
    return InvalidArgumentError(absl::StrCat("the bundle's code for the CPU device was compiled for the CPU model '",
                                             image.cpu, "', but this machine has '", HostCpuModel(), "'"));
  }
  KernelSource cubin = KernelSource::Cubin(std::move(image.bytes), std::move(image.symbol));
  TUNEONCE_ASSIGN_OR_RETURN(Artifact artifact, CubinToolchain().Compile(cubin, Hints(), target));
  artifact.toolchain = std::move(image.toolchain);
  artifact.parameters = std::move(image.parameters);
  artifact.assumptions = std::move(image.assumptions);
  return artifact;
}

}  // namespace

PrecompiledLookup FindPrecompiled(const KernelSource& source, const Hints& hints, const Target& target) {
  PrecompiledLookup lookup;
  if (source.precompiled == nullptr) return lookup;
  const PrecompiledCode& code = *source.precompiled;
  if (!code.IsFor(target.name())) {
    lookup.why_not = absl::StrCat(code.Description(), ", not for ", target.name());
    return lookup;
  }
  Result<std::optional<PrecompiledCode::Image>> image = code.Find(PrecompiledKey(source, hints, target));
  if (!image.ok()) {
    lookup.why_not = image.status().message();
  } else if (!*image) {
    lookup.why_not = absl::StrCat(
        code.Description(), ", but has no code for this config and dtype, or its sources were changed since then");
  } else if (!(*image)->refusal.ok()) {
    lookup.found.emplace((*image)->refusal);
  } else if (Result<Artifact> artifact = ArtifactOf(**std::move(image), target); artifact.ok()) {
    lookup.found.emplace(std::move(artifact));
  } else {
    lookup.why_not = absl::StrCat(code.Description(), ", but ", artifact.status().message());
  }
  return lookup;
}

Status WithReason(const Status& failed, const PrecompiledLookup& lookup) {
  if (failed.ok() || lookup.why_not.empty()) return failed;
  return Status(failed.code(), absl::StrCat(lookup.why_not, "; ", failed.message()));
}

}  // namespace v0
}  // namespace tuneonce
