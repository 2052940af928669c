#include "tuneonce/toolchain.h"

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "tuneonce/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Toolchains may be a host's own, of which nothing is known.
template <typename Function>
auto CallToolchain(SourceKind kind, const char* function_name, const Function& function) {
  return CallForeign(
      absl::StrCat("the toolchain for ", std::string(SourceKindName(kind)), " sources, in ", function_name, ","),
      StatusCode::kInternal, function);
}

}  // namespace

Result<Artifact> Toolchain::Compile(const KernelSource& source, const Hints& hints, const Target& target,
                                    const WaitLimits& limits) const {
  TUNEONCE_RETURN_IF_ERROR(source.Check());
  Result<Artifact> artifact =
      CallToolchain(source.kind, "Compile", [&] { return DoCompile(source, hints, target, limits); });
  if (!artifact.ok()) return artifact;
  Result<std::string> version = CallToolchain(source.kind, "Version", [&] { return Version(); });
  if (version.ok()) artifact->toolchain = *version;
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
