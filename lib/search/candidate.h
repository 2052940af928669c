#ifndef TUNEONCE_LIB_SEARCH_CANDIDATE_H_
#define TUNEONCE_LIB_SEARCH_CANDIDATE_H_

#include <cuda.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/library.h"
#include "definition/shared_source.h"
#include "launch/assumption.h"
#include "launch/call_binder.h"
#include "launch/parameter_block.h"
#include "launch/variant_set.h"
#include "shared/compile_pool.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/plugin/artifact.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// One config, built by one variant, during a search: what is compiled, and how it is launched.
struct Candidate {
  Config config;
  std::shared_ptr<const KernelDefinition> definition;
  const Variant* variant = nullptr;  ///< A variant of `definition`, or null in a search without a definition.
  BoundCall call;                    ///< The caller's arguments; trials run on scratch (TrialTensors).
  CallingConvention convention = CallingConvention::kPlain;
  SharedSource source;
  Hints hints;
  Geometry geometry;
  Artifact artifact;  ///< Empty before compilation.

  /// True if the host launches it: it has no source, geometry and artifact, and nothing is compiled or loaded.
  bool is_callable() const { return variant != nullptr && variant->launcher; }
  std::string variant_name() const { return variant == nullptr ? std::string() : variant->name; }
};

/// The ways to build one config, in order of preference. A launcher of the host's has no alternative after it.
struct PlannedConfig {
  Config config;
  std::vector<Candidate> alternatives;
  std::vector<PassedOver> passed_over;          ///< Left out before compiling: Tile IR, if it is switched off.
  OutcomeKind failure = OutcomeKind::kCompile;  ///< The outcome if no alternative remains.
  /// What the variants require excludes the config. It is then not a candidate, and has not failed.
  bool is_excluded = false;

  /// False if the first way is taken as it is.
  bool needs_compiling() const { return !alternatives.empty() && !alternatives.front().is_callable(); }
  /// True if the host launches it where none of the others compiles.
  bool ends_with_callable() const { return !alternatives.empty() && alternatives.back().is_callable(); }
};

/// Plans one config: calls the source, hints and geometry functions of the variants that may build it on
/// `call.problem.target` for these arguments, except those in `left_out`. Without `enable_tile` (Environment's) Tile IR
/// is skipped. Errors: Unimplemented without a variant; InvalidArgument if a function throws (named, with the config),
/// if the config's `backend` names no variant, or for a Tile IR kernel that sets block, shared memory or cluster, which
/// its cubin decides. `texts` (may be null) keeps the texts of the sources of all configs that are planned with it.
/// Without `asks_guards` the parts of requirements that are asked like guards are passed over, for a config that was
/// selected for other launches of the call's key. REQUIRES: what `call` points to outlives the candidates.
Result<PlannedConfig> PlanConfig(const std::shared_ptr<const KernelDefinition>& definition, const Config& config,
                                 const BoundCall& call, bool enable_tile, VariantSet left_out = {},
                                 SourceTexts* texts = nullptr, bool asks_guards = true);

/// Returns whether some variant on `call.problem.target` that is not in `left_out` may build the config for the call:
/// its assumptions and its requirement hold. REQUIRES: the call's target is set.
bool IsAccepted(const KernelDefinition& definition, const Config& config, const BoundCall& call, VariantSet left_out);
/// Returns whether some variant may build the config for launches of the call's key. Parts of requirements that are
/// asked like guards may still exclude it from some of these launches.
bool IsAcceptedByKey(const KernelDefinition& definition, const Config& config, const BoundCall& call,
                     VariantSet left_out);
/// Returns the space's fallback config if the device and the problem's dims allow it, or null.
const Config* FittingFallback(const SearchSpace& space, const Target& target, const Problem& problem);
/// Returns the config that a search for the call compares with, and that runs in place of a selected one: the first
/// baseline for the problem that IsAccepted accepts; else the space's fallback config or the first of `configs`, where
/// the requirements of the variants exclude the baselines. Nothing if the space has no baseline for the problem.
Result<std::optional<Config>> BaselineOf(const std::shared_ptr<const KernelDefinition>& definition,
                                         const BoundCall& call, const std::vector<Config>& configs,
                                         VariantSet left_out);

/// Removes the ways to build the config that the target cannot launch: those with more threads per block, blocks per
/// cluster or declared shared memory than it has, or with an invalid grid for the call. They are then passed over, and
/// nothing is compiled for them.
void PruneImpossible(const Target& target, PlannedConfig* planned);

/// Source and hints of every way to compile `config`, for CompilePool.
CompileJob CompileJobOf(const PlannedConfig& planned);

/// A candidate's code in a context, ready to launch. Shared by all that launch it; unloaded with the last of them.
struct LoadedKernel {
  std::optional<Library> library;  ///< Empty, and `function` null, where the host launches.
  CUfunction function = nullptr;   ///< KernelHandle::get.
  std::string symbol;
  const Variant* variant = nullptr;      ///< The variant that built it, or null in a search without a definition.
  Fingerprint code;                      ///< Artifact::code_fingerprint.
  std::int64_t shared_memory_bytes = 0;  ///< Dynamic, that the kernel was prepared for.
  /// What each launch is checked for, where the code assumes more than its variant declares.
  std::optional<AssumptionChecks> assumptions;
};

/// Makes the compiles of `job`, which is `planned`'s, fail where the code assumes what the call does not fulfil or the
/// definition contradicts, so that the next way to build the config is taken. REQUIRES: what the call points to
/// outlives the job.
void RefuseUnsuitableCode(const PlannedConfig& planned, CompileJob* job);

/// OK if the geometry can be launched. Errors: InvalidArgument, with what the grid was made of.
Status CheckGeometry(const Candidate& candidate);

/// How a launch of the candidate passes its parameters.
Result<ParameterLayout> LayoutOf(const Candidate& candidate);

/// What the candidate's variant and its code assume; of code whose artifact states no assumptions, the variant's alone.
/// `*has_more` (may be null) is set to whether the code assumes more than the variant declares. Errors: InvalidArgument
/// for what the definition contradicts. REQUIRES: it has a variant.
Result<AssumptionChecks> AssumptionsOf(const Candidate& candidate, bool* has_more = nullptr);

/// Compares the candidate's source, and the parameters that its artifact names, with what a launch passes. Errors:
/// InvalidArgument, naming the parameter that differs.
Status CheckParameters(const ParameterLayout& layout, const Candidate& candidate);

/// Allows launches of the kernel to use this much dynamic shared memory, which drivers require above 48 KiB. REQUIRES:
/// `bytes` fits an int.
Status AllowSharedMemory(const KernelHandle& kernel, std::int64_t bytes);

/// Loads an artifact into the current context and prepares the kernel for `geometry` (dynamic shared memory), after
/// checking the kernel's parameters against the definition's: count and sizes as the driver gives them (from CUDA 12.4
/// on), and as Tile IR, CUDA Tile C++ and PTX declare them. Of one that the host launches nothing is loaded. Errors: as
/// Library::Load; InvalidArgument, naming the parameter that differs, or what the code assumes and the definition
/// contradicts.
Result<std::shared_ptr<const LoadedKernel>> LoadCandidate(const DriverApi& api, const Candidate& candidate);

/// Returns whether launches of both compiled candidates do the same: code, variant, geometry, and every argument and
/// workspace size that depends on the config are equal, at the dims that the candidates were planned for and at each of
/// `dims`. A host's function that fills a descriptor cannot be compared, so kernels with such a parameter are never
/// equal, and neither are candidates with a launcher. Calls functions of the definition.
bool LaunchesAlike(const Candidate& a, const Candidate& b, const std::vector<Dims>& dims = {});

/// Identifies a compiled candidate in records, so that a record states which code was measured and verified: the
/// kernel's name and version, the config, the variant, the code, and what the launch computes from the config at three
/// fixed shapes. It does not depend on the call that the candidate was planned for. Calls functions of the definition.
Fingerprint CandidateIdentity(const Candidate& candidate);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_CANDIDATE_H_
