#include "tuneonce/plugin/toolchain.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "compile/command_toolchain.h"
#include "compile/cubin.h"
#include "compile/precompiled.h"
#include "definition/precompiled_code.h"
#include "tuneonce/plugin/fingerprint.h"

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

/// Toolchains may be a host's own, of which nothing is known.
template <typename Function>
auto CallToolchain(SourceKind kind, const char* function_name, const Function& function) {
  return CallForeign(
      absl::StrCat("the toolchain for ", std::string(SourceKindName(kind)), " sources, in ", function_name, ","),
      StatusCode::kInternal, function);
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

Result<Artifact> Toolchain::Compile(const KernelSource& source, const Hints& hints, const Target& target,
                                    const WaitLimits& limits) const {
  TUNEONCE_RETURN_IF_ERROR(source.Check());
  Result<Artifact> artifact =
      CallToolchain(source.kind, "Compile", [&] { return DoCompile(source, hints, target, limits); });
  if (!artifact.ok()) return artifact;
  Result<std::string> version = CallToolchain(source.kind, "Version", [&] { return Version(); });
  if (version.ok()) artifact->toolchain = *version;
  const bool states_code = !(artifact->code_fingerprint == tuneonce::Fingerprint());
  if (!states_code) artifact->code_fingerprint = Fingerprinter().Add(artifact->image).Add(artifact->symbol).Finish();
  return artifact;
}

std::shared_ptr<void> Toolchain::Announce(const std::vector<const KernelSource*>&, const Target&) const {
  return nullptr;
}

Result<Fingerprint> Toolchain::ArtifactKey(const KernelSource& source, const Hints& hints, const Target& target) const {
  TUNEONCE_ASSIGN_OR_RETURN(std::string version, CallToolchain(source.kind, "Version", [&] { return Version(); }));
  TUNEONCE_ASSIGN_OR_RETURN(bool has_hints, CallToolchain(source.kind, "uses_hints", [&] { return uses_hints(); }));
  Fingerprinter key;
  key.Add(source.Fingerprint()).Add(target.name()).Add(version);
  if (has_hints) key.Add(hints.Fingerprint());
  if (!source.file.empty()) key.Add(source.file);  // Its folder is where headers are looked for first.
  return key.Finish();
}

Result<const Toolchain*> ToolchainSet::For(SourceKind kind) const {
  for (const auto& toolchain : toolchains_) {
    TUNEONCE_ASSIGN_OR_RETURN(SourceKind taken,
                              CallToolchain(kind, "source_kind", [&] { return toolchain->source_kind(); }));
    if (taken == kind) return toolchain.get();
  }
  return UnimplementedError(absl::StrCat("no toolchain for ", std::string(SourceKindName(kind)), " sources"));
}

}  // namespace v0
}  // namespace tuneonce
