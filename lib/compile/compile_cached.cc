#include "compile/compile_cached.h"

#include <algorithm>

namespace tuneonce {
namespace {

/// Whether a source's content says all that its artifact depends on.
bool IsSelfContained(const KernelSource& source) {
  return std::none_of(source.options.begin(), source.options.end(), [](const std::string& option) {
    return option.rfind("-I", 0) == 0 || option.find("include") != std::string::npos;
  });
}

}  // namespace

Result<Artifact> CompileCached(const Toolchain& toolchain, ArtifactCache& cache, const KernelSource& source,
                               const Hints& hints, const Target& target, const CompileLimits& limits,
                               bool* from_cache) {
  *from_cache = false;
  if (!IsSelfContained(source)) return toolchain.Compile(source, hints, target, limits);
  TUNEONCE_ASSIGN_OR_RETURN(Fingerprint key, toolchain.ArtifactKey(source, hints, target));
  auto cached = [&]() -> std::optional<Artifact> {
    Result<std::optional<Artifact>> found = cache.Get(key);
    std::optional<Artifact> artifact = found.ok() ? *std::move(found) : std::nullopt;
    if (artifact) artifact->key = key;
    return artifact;
  };
  if (std::optional<Artifact> found = cached()) {
    *from_cache = true;
    return *std::move(found);
  }
  Result<ArtifactLease> lease = cache.Lease(key, limits);
  // A cache that cannot be locked (a read-only folder, say) must not fail a compile: at worst two compile the same.
  if (!lease.ok() && lease.status().code() != StatusCode::kUnavailable) return lease.status();
  if (std::optional<Artifact> found = cached()) {  // Whoever held the lease before made it.
    *from_cache = true;
    return *std::move(found);
  }
  TUNEONCE_ASSIGN_OR_RETURN(Artifact artifact, toolchain.Compile(source, hints, target, limits));
  artifact.key = key;
  (void)cache.Put(key, artifact);  // A full or read-only cache must not fail a compile.
  return artifact;
}

}  // namespace tuneonce
