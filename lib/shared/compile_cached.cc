#include "shared/compile_cached.h"

#include "base/callback.h"
#include "compile/dependency_file.h"
#include "compile/precompiled.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
inline namespace v0 {

std::optional<Artifact> FindArtifact(RecordStore& cache, const Fingerprint& key) {
  Result<std::optional<Artifact>> found = cache.GetArtifact(key);
  if (!found.ok() || !found->has_value()) return std::nullopt;
  Artifact artifact = **std::move(found);
  artifact.key = key;
  return artifact;
}

std::optional<Artifact> FindCurrent(RecordStore& cache, const Fingerprint& key) {
  std::optional<Artifact> found = FindArtifact(cache, key);
  if (found && !DependenciesHold(*found)) found.reset();
  return found;
}

Result<Artifact> CompileCached(const Toolchain& toolchain, RecordStore& cache, const KernelSource& source,
                               const Hints& hints, const Target& target, const WaitLimits& limits, bool* from_cache) {
  *from_cache = false;
  TUNEONCE_ASSIGN_OR_RETURN(Fingerprint key, toolchain.ArtifactKey(source, hints, target));
  if (std::optional<Artifact> found = FindCurrent(cache, key)) {
    *from_cache = true;
    return *std::move(found);
  }
  Result<TuningLease> lease = cache.LeaseArtifact(key, limits);
  // A cache that cannot be locked (a read-only folder, say) must not fail a compile: at worst two compile the same.
  if (!lease.ok() && lease.status().code() != StatusCode::kUnavailable) return lease.status();
  if (std::optional<Artifact> found = FindCurrent(cache, key)) {  // Whoever held the lease before made it.
    *from_cache = true;
    return *std::move(found);
  }
  TUNEONCE_ASSIGN_OR_RETURN(Artifact artifact, toolchain.Compile(source, hints, target, limits));
  if (!artifact.cacheable) return artifact;
  artifact.key = key;
  (void)cache.PutArtifact(key, artifact);  // A full or read-only cache must not fail a compile.
  return artifact;
}

bool IsCompiled(const ToolchainSet& toolchains, RecordStore& cache, const KernelSource& source, const Hints& hints,
                const Target& target) {
  if (FindPrecompiled(source, hints, target).found) return true;
  const Status there = CallForeign("the toolchain or the store", StatusCode::kInternal, [&]() -> Status {
    TUNEONCE_ASSIGN_OR_RETURN(const Toolchain* toolchain, toolchains.For(source.kind));
    TUNEONCE_ASSIGN_OR_RETURN(const Fingerprint key, toolchain->ArtifactKey(source, hints, target));
    return FindCurrent(cache, key) ? Status() : UnavailableError("the store does not have the code");
  });
  return there.ok();
}

}  // namespace v0
}  // namespace tuneonce
