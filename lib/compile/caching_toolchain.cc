#include "compile/caching_toolchain.h"

#include <algorithm>

namespace tuneonce {

bool IsSelfContained(const KernelSource& source) {
  return std::none_of(source.options.begin(), source.options.end(), [](const std::string& option) {
    return option.rfind("-I", 0) == 0 || option.find("include") != std::string::npos;
  });
}

Result<Artifact> CachingToolchain::CompileOrGet(const KernelSource& source, const Hints& hints, const Target& target,
                                                const CompileLimits& limits, bool* from_cache) const {
  *from_cache = false;
  if (!IsSelfContained(source)) return toolchain_.Compile(source, hints, target, limits);
  TUNEONCE_ASSIGN_OR_RETURN(Fingerprint key, ArtifactKey(source, hints, target));
  auto cached = [&]() -> std::optional<Artifact> {
    Result<std::optional<Artifact>> found = cache_.Get(key);
    return found.ok() ? *std::move(found) : std::nullopt;
  };
  if (std::optional<Artifact> found = cached()) {
    *from_cache = true;
    return *std::move(found);
  }
  TUNEONCE_ASSIGN_OR_RETURN(ArtifactLease lease, cache_.Lease(key, limits));
  if (std::optional<Artifact> found = cached()) {  // Whoever held the lease before made it.
    *from_cache = true;
    return *std::move(found);
  }
  TUNEONCE_ASSIGN_OR_RETURN(Artifact artifact, toolchain_.Compile(source, hints, target, limits));
  (void)cache_.Put(key, artifact);  // A full or read-only cache must not fail a compile.
  return artifact;
}

}  // namespace tuneonce
