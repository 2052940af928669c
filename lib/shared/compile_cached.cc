#include "shared/compile_cached.h"

#include "base/callback.h"
#include "compile/dependency_file.h"
#include "compile/precompiled.h"
#include "tuneonce/artifact_cache.h"
#include "tuneonce/fingerprint.h"

namespace tuneonce {
inline namespace v0 {

std::optional<Artifact> FindCurrent(ArtifactCache& cache, const Fingerprint& key) {
  Result<std::optional<Artifact>> found = cache.Get(key);
  if (!found.ok() || !found->has_value() || !DependenciesHold(**found)) return std::nullopt;
  Artifact artifact = **std::move(found);
  artifact.key = key;
  return artifact;
}

Result<Artifact> CompileCached(const Toolchain& toolchain, ArtifactCache& cache, const KernelSource& source,
                               const Hints& hints, const Target& target, const WaitLimits& limits, bool* from_cache) {
  *from_cache = false;
  TUNEONCE_ASSIGN_OR_RETURN(Fingerprint key, toolchain.ArtifactKey(source, hints, target));
  if (std::optional<Artifact> found = FindCurrent(cache, key)) {
    *from_cache = true;
    return *std::move(found);
  }
  Result<ArtifactLease> lease = cache.Lease(key, limits);
  // A cache that cannot be locked (a read-only folder, say) must not fail a compile: at worst two compile the same.
  if (!lease.ok() && lease.status().code() != StatusCode::kUnavailable) return lease.status();
  if (std::optional<Artifact> found = FindCurrent(cache, key)) {  // Whoever held the lease before made it.
    *from_cache = true;
    return *std::move(found);
  }
  TUNEONCE_ASSIGN_OR_RETURN(Artifact artifact, toolchain.Compile(source, hints, target, limits));
  if (!artifact.cacheable) return artifact;
  artifact.key = key;
  (void)cache.Put(key, artifact);  // A full or read-only cache must not fail a compile.
  return artifact;
}

bool IsCompiled(const ToolchainSet& toolchains, ArtifactCache& cache, const KernelSource& source, const Hints& hints,
                const Target& target) {
  if (FindPrecompiled(source, hints, target).found) return true;
  const Status there = CallForeign("the toolchain or its artifact cache", StatusCode::kInternal, [&]() -> Status {
    TUNEONCE_ASSIGN_OR_RETURN(const Toolchain* toolchain, toolchains.For(source.kind));
    TUNEONCE_ASSIGN_OR_RETURN(const Fingerprint key, toolchain->ArtifactKey(source, hints, target));
    return FindCurrent(cache, key) ? Status() : UnavailableError("the code is not in the artifact cache");
  });
  return there.ok();
}

}  // namespace v0
}  // namespace tuneonce
