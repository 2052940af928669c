#include "runtime/code_loader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compile/compile_cached.h"
#include "compile/compile_pool.h"
#include "tuneonce/artifact_cache.h"
#include "tuneonce/record_store.h"
#include "tuneonce/toolchain.h"

namespace tuneonce {

Result<std::shared_ptr<const LoadedKernel>> CodeLoader::Compile(const Config& config, const BoundCall& call,
                                                                const std::string& preferred) const {
  TUNEONCE_ASSIGN_OR_RETURN(PlannedConfig planned, PlanConfig(definition_, config, call));
  if (planned.alternatives.empty()) return FailedPreconditionError(planned.passed_over.front().reason);
  std::stable_partition(planned.alternatives.begin(), planned.alternatives.end(),
                        [&](const Candidate& candidate) { return candidate.variant->name == preferred; });
  const ToolchainSet& toolchains =
      policy_.search.toolchains != nullptr ? *policy_.search.toolchains : ToolchainSet::Default();
  CompileOptions options = policy_.search.compile;
  options.interrupted = policy_.search.interrupted;
  CompilePool pool(toolchains, call.problem.target, {CompileJobOf(planned)}, options);
  CompiledJob compiled = *pool.Next();
  Candidate& candidate = planned.alternatives[compiled.alternative];
  TUNEONCE_ASSIGN_OR_RETURN(candidate.artifact, std::move(compiled.artifact));
  return LoadCandidate(api_, candidate);
}

std::shared_ptr<const LoadedKernel> CodeLoader::LoadStored(const Fingerprint& artifact_key, const std::string& variant,
                                                           const Config& config, const BoundCall& call) const {
  ArtifactCache* artifacts = policy_.store->artifacts();
  if (artifacts == nullptr || artifact_key == Fingerprint()) return nullptr;
  Result<PlannedConfig> planned = PlanConfig(definition_, config, call);
  if (!planned.ok()) return nullptr;
  for (Candidate& candidate : planned->alternatives) {
    if (candidate.variant->name != variant) continue;
    std::optional<Artifact> artifact = FindCurrent(*artifacts, artifact_key);
    if (!artifact) return nullptr;
    candidate.artifact = *std::move(artifact);
    Result<std::shared_ptr<const LoadedKernel>> loaded = LoadCandidate(api_, candidate);
    return loaded.ok() ? *std::move(loaded) : nullptr;
  }
  return nullptr;
}

}  // namespace tuneonce
