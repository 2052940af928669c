#include "runtime/code_loader.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "compile/dependency_file.h"
#include "search/candidate.h"
#include "shared/compile_cached.h"
#include "shared/compile_pool.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {
Result<Candidate> CodeLoader::Built(const Config& config, const BoundCall& call, VariantSet left_out,
                                    const std::string& preferred, bool may_compile, const StopToken& stop) const {
  const bool enable_tile = policy_.search.runtime->environment().enable_tile;
  // A variant that is preferred was selected for other calls of the key, too.
  const bool is_selected = !preferred.empty();
  TUNEONCE_ASSIGN_OR_RETURN(PlannedConfig planned, PlanConfig(definition_, config, call, enable_tile, left_out,
                                                              /*texts=*/nullptr, /*asks_guards=*/!is_selected));
  if (planned.alternatives.empty()) return FailedPreconditionError(planned.passed_over.front().reason);
  std::stable_partition(planned.alternatives.begin(), planned.alternatives.end(),
                        [&](const Candidate& candidate) { return candidate.variant->name == preferred; });
  if (!planned.needs_compiling()) return planned.alternatives.front();
  const Runtime& runtime = *policy_.search.runtime;
  CompileOptions options = policy_.search.compile;
  // Stored code is loaded even after the time is over, because only compiling takes long.
  if (may_compile) options.stop = stop;
  CompileJob job = CompileJobOf(planned);
  if (!is_selected) RefuseUnsuitableCode(planned, &job);
  job.may_compile = may_compile;
  CompilePool pool(runtime.compile_slots(), runtime.toolchains(), *call.problem.target, {std::move(job)}, options,
                   &runtime.trace());
  CompiledJob compiled = *pool.Next();
  if (!compiled.artifact.ok() && planned.ends_with_callable()) return planned.alternatives.back();
  if (!compiled.artifact.ok() && !may_compile && stop.stop_requested()) {
    return DeadlineExceededError("kernel '" + definition_->name() + "': the call ended before {" + config.ToString() +
                                 "} was compiled");
  }
  if (!compiled.artifact.ok() && !may_compile) {
    return compiled.artifact.status().WithPrefix(
        "kernel '" + definition_->name() +
        "': AutotunePolicy::Mode::kStoredOnly compiles nothing, and the store has no code for {" + config.ToString() +
        "}: use a store in which this config was warmed up, or use another mode");
  }
  Candidate& candidate = planned.alternatives[compiled.alternative];
  TUNEONCE_ASSIGN_OR_RETURN(candidate.artifact, std::move(compiled.artifact));
  return candidate;
}

Result<std::shared_ptr<const LoadedKernel>> CodeLoader::Compile(const Config& config, const BoundCall& call,
                                                                VariantSet left_out, const std::string& preferred,
                                                                bool may_compile, const StopToken& stop,
                                                                Fingerprint* artifact, Fingerprint* identity,
                                                                std::string* toolchain) const {
  TUNEONCE_ASSIGN_OR_RETURN(Candidate candidate, Built(config, call, left_out, preferred, may_compile, stop));
  if (artifact != nullptr) *artifact = candidate.artifact.key;
  if (identity != nullptr) *identity = CandidateIdentity(candidate);
  if (toolchain != nullptr) *toolchain = candidate.artifact.toolchain;
  return ready_keys_.LoadOnce(candidate);
}

std::shared_ptr<const LoadedKernel> CodeLoader::LoadStored(const Fingerprint& artifact_key, const std::string& variant,
                                                           const Config& config, const BoundCall& call,
                                                           Fingerprint* identity) const {
  std::optional<Candidate> candidate = Stored(artifact_key, variant, config, call);
  if (!candidate) return nullptr;
  if (identity != nullptr) *identity = CandidateIdentity(*candidate);
  Result<std::shared_ptr<const LoadedKernel>> loaded = ready_keys_.LoadOnce(*candidate);
  return loaded.ok() ? *std::move(loaded) : nullptr;
}

Result<Fingerprint> CodeLoader::IdentityOf(const Fingerprint& artifact, const std::string& variant,
                                           const Config& config, const BoundCall& call, VariantSet left_out) const {
  if (std::optional<Candidate> stored = Stored(artifact, variant, config, call)) return CandidateIdentity(*stored);
  TUNEONCE_ASSIGN_OR_RETURN(Candidate built,
                            Built(config, call, left_out, variant, /*may_compile=*/false, StopToken()));
  return CandidateIdentity(built);
}

bool CodeLoader::HasCode(const Fingerprint& artifact, const std::string& variant, const Config& config,
                         const BoundCall& call, VariantSet left_out) const {
  return Stored(artifact, variant, config, call) ||
         Built(config, call, left_out, variant, /*may_compile=*/false, nullptr).ok();
}

bool CodeLoader::HasChanged(const CandidateOutcome& verified, const KeyInStore& key, const BoundCall& call) const {
  if (verified.artifact == Fingerprint()) return false;
  std::optional<Artifact> artifact = ArtifactOf(verified.artifact);
  // Without other files the artifact's key stands for its code.
  if (!artifact || (artifact->dependencies.empty() && artifact->absent.empty())) return false;
  if (!DependenciesHold(*artifact)) return true;
  const std::optional<Config> config = key.ConfigOf(verified.config);
  std::optional<Candidate> candidate = config ? Planned(verified.variant, *config, call) : std::nullopt;
  if (!candidate) return false;
  candidate->artifact = *std::move(artifact);
  return CandidateIdentity(*candidate) != verified.identity;
}

std::string CodeLoader::VariantOf(const std::string& preferred, const Config& config, const BoundCall& call,
                                  VariantSet left_out) const {
  const bool enable_tile = policy_.search.runtime->environment().enable_tile;
  Result<PlannedConfig> planned =
      PlanConfig(definition_, config, call, enable_tile, left_out, /*texts=*/nullptr, /*asks_guards=*/false);
  if (!planned.ok()) return "";
  const std::vector<Candidate>& ways = planned->alternatives;
  if (ways.size() == 1) return ways.front().variant->name;
  const bool has_preferred = std::any_of(
      ways.begin(), ways.end(), [&](const Candidate& candidate) { return candidate.variant->name == preferred; });
  return has_preferred ? preferred : "";
}

std::optional<Artifact> CodeLoader::ArtifactOf(const Fingerprint& key) const {
  // Compiled code is in the cache, which is usually the store. Code that a bundle brought along is in the store.
  const std::shared_ptr<RecordStore>& cache = policy_.search.compile.cache;
  std::optional<Artifact> found = FindArtifact(*cache, key);
  if (!found && cache != policy_.store) found = FindArtifact(*policy_.store, key);
  return found;
}

std::optional<Candidate> CodeLoader::Planned(const std::string& variant, const Config& config,
                                             const BoundCall& call) const {
  Result<PlannedConfig> planned =
      PlanConfig(definition_, config, call, policy_.search.runtime->environment().enable_tile, /*left_out=*/{},
                 /*texts=*/nullptr, /*asks_guards=*/false);
  if (!planned.ok()) return std::nullopt;
  for (Candidate& candidate : planned->alternatives) {
    if (candidate.variant->name == variant) return std::move(candidate);
  }
  return std::nullopt;
}

std::optional<Candidate> CodeLoader::Stored(const Fingerprint& artifact_key, const std::string& variant,
                                            const Config& config, const BoundCall& call) const {
  if (artifact_key == Fingerprint()) return std::nullopt;
  std::optional<Candidate> candidate = Planned(variant, config, call);
  if (!candidate) return std::nullopt;
  std::optional<Artifact> artifact = ArtifactOf(artifact_key);
  if (!artifact || !DependenciesHold(*artifact)) return std::nullopt;
  candidate->artifact = *std::move(artifact);
  return candidate;
}

}  // namespace v0
}  // namespace tuneonce
