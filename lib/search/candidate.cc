#include "search/candidate.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/short_list.h"
#include "cuda/library.h"
#include "definition/source_identity.h"
#include "launch/assumption.h"
#include "launch/code_assumptions.h"
#include "launch/launch_words.h"
#include "launch/parameter_block.h"
#include "launch/requirement_check.h"
#include "launch/source_parameters.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Shared memory that any kernel may have without asking the driver for more.
constexpr std::int64_t kDefaultSharedMemoryBytes = 48 * 1024;

/// The driver puts a Tile IR kernel's real block, shared memory and cluster; a launch that names others is refused.
Status CheckTileGeometry(const Geometry& geometry) {
  if (geometry.block == Dim3{} && geometry.cluster == Dim3{} && geometry.shared_memory_bytes == 0) return Status();
  return InvalidArgumentError(absl::StrCat(
      "a Tile IR kernel needs block (1, 1, 1) without cluster and dynamic shared memory, but the geometry is ",
      geometry.ToString()));
}

/// The variants that may build `config`.
Result<std::vector<const Variant*>> VariantsOf(const KernelDefinition& definition, const Config& config,
                                               const Target& target) {
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<const Variant*> variants, definition.VariantsFor(target));
  std::vector<const Variant*> of_backend;
  std::copy_if(variants.begin(), variants.end(), std::back_inserter(of_backend),
               [&](const Variant* variant) { return variant->IsBackendOf(config); });
  if (!of_backend.empty()) return of_backend;
  const std::string& backend = std::get<std::string>(*config.Find("backend"));
  return InvalidArgumentError(
      absl::StrCat("kernel '", definition.name(), "': no variant for ", target.name(), " has the back end '", backend,
                   "'; the back ends are: ", ShortListOf(variants, &Variant::BackendName, backend)));
}

/// Returns OK if the key with `left_out` suits the config built by the variant. Errors: FailedPrecondition, naming the
/// part of the requirement that fails for the key.
Status CheckAtoms(const KernelDefinition& definition, const Variant& variant, const Config& config,
                  VariantSet left_out) {
  for (std::size_t atom : RequirementAtomsOf(definition, variant, config)) {
    if (!left_out.Has(definition.variants().size() + atom)) continue;
    return FailedPreconditionError("variant '" + variant.name + "' requires '" +
                                   definition.requirement_atoms()[atom].ToString() + "' for {" + config.ToString() +
                                   "}, which does not hold for these arguments");
  }
  return Status();
}

/// Sets `*source` to the source that the candidate is compiled from.
Result<Candidate> MakeCandidate(const std::shared_ptr<const KernelDefinition>& definition, const Variant& variant,
                                const Config& config, const BoundCall& call, KernelSource* source) {
  std::string where = " of kernel '" + definition->name() + "' at config {" + config.ToString() + "}";
  Candidate candidate;
  candidate.config = config;
  candidate.call = call;
  candidate.convention = variant.convention;
  candidate.definition = definition;
  candidate.variant = &variant;
  if (candidate.is_callable()) return candidate;
  TUNEONCE_ASSIGN_OR_RETURN(*source, MakeDecidedSource(*definition, variant, config, call.problem));
  TUNEONCE_ASSIGN_OR_RETURN(candidate.hints, CallUser("the hints function" + where, [&] {
                              return variant.hints ? variant.hints(config) : Hints::OfConfig(config);
                            }));
  TUNEONCE_ASSIGN_OR_RETURN(candidate.geometry, CallUser("the geometry function" + where,
                                                         [&] { return variant.geometry(config, call.problem); }));
  if (IsTile(source->kind)) {
    TUNEONCE_RETURN_IF_ERROR(CheckTileGeometry(candidate.geometry).WithPrefix("the geometry function" + where));
  }
  return candidate;
}

/// Returns OK if the target can launch the geometry, as far as that is known before compiling.
Status CheckLimits(const Geometry& geometry, const Target& target) {
  auto product = [](const Dim3& dim) { return dim.x * dim.y * dim.z; };
  const struct {
    const char* what;
    std::int64_t needed;
    std::int64_t limit;
  } limits[] = {{"threads per block", product(geometry.block), target.max_threads_per_block},
                {"blocks per cluster", product(geometry.cluster), target.max_cluster_size},
                {"bytes of shared memory", geometry.shared_memory_bytes, target.max_shared_memory_bytes}};
  for (const auto& [what, needed, limit] : limits) {
    if (limit <= 0 || needed <= limit) continue;  // A limit of 0 is unknown.
    return ResourceExhaustedError(
        absl::StrCat("the config needs ", needed, " ", what, ", but ", target.name(), " has at most ", limit));
  }
  return Status();
}

std::vector<std::uint64_t> WordsOf(const Candidate& candidate, const ParameterLayout& layout, const Problem& problem) {
  return LaunchWords(*candidate.definition, *candidate.variant, layout, candidate.config, problem);
}

}  // namespace

Result<PlannedConfig> PlanConfig(const std::shared_ptr<const KernelDefinition>& definition, const Config& config,
                                 const BoundCall& call, bool enable_tile, VariantSet left_out, SourceTexts* texts,
                                 bool asks_guards) {
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<const Variant*> variants,
                            VariantsOf(*definition, config, *call.problem.target));
  PlannedConfig planned;
  planned.config = config;
  for (const Variant* variant : variants) {
    if (left_out.Has(static_cast<std::size_t>(variant - definition->variants().data()))) {
      planned.passed_over.push_back(PassedOver{variant->name, "the variant does not accept these arguments"});
      continue;
    }
    TUNEONCE_ASSIGN_OR_RETURN(ParameterLayout layout,
                              ParameterLayout::Create(*definition, variant->convention, variant->parameters));
    TUNEONCE_ASSIGN_OR_RETURN(AssumptionChecks of_variant, AssumptionChecks::Create(*definition, *variant, layout));
    const AssumptionChecks assumptions = of_variant.For(config);
    Status suits = CheckAtoms(*definition, *variant, config, left_out);
    if (suits.ok()) suits = assumptions.Verify(call);
    if (suits.ok() && asks_guards) suits = CheckRequirementGuards(*variant, config, call.problem);
    if (!suits.ok()) {
      planned.passed_over.push_back(PassedOver{variant->name, suits.message()});
      continue;
    }
    KernelSource source;
    TUNEONCE_ASSIGN_OR_RETURN(Candidate candidate, MakeCandidate(definition, *variant, config, call, &source));
    if (candidate.is_callable()) {
      planned.alternatives.push_back(std::move(candidate));
      break;  // A launcher needs nothing that could be missing.
    } else if (IsTile(source.kind) && !enable_tile) {
      planned.passed_over.push_back(PassedOver{variant->name, "Tile IR is disabled (ENABLE_TILE=0)"});
    } else if (Status covered = CheckAssumptionsOfCode(assumptions, layout, config, source); !covered.ok()) {
      planned.passed_over.push_back(PassedOver{variant->name, covered.message()});
    } else if (Status waits = CheckProgrammaticLaunch(candidate.geometry, source); !waits.ok()) {
      planned.passed_over.push_back(PassedOver{variant->name, waits.message()});
    } else {
      candidate.source = SharedSource(std::move(source), texts);
      planned.alternatives.push_back(std::move(candidate));
    }
  }
  return planned;
}

namespace {

/// Returns whether a variant whose assumptions and parts of its requirement that decide the key hold `is_right`.
template <typename Predicate>
bool AnyVariantOf(const KernelDefinition& definition, const Config& config, const BoundCall& call, VariantSet left_out,
                  const Predicate& is_right) {
  Result<std::vector<const Variant*>> variants = VariantsOf(definition, config, *call.problem.target);
  if (!variants.ok()) return false;
  return std::any_of(variants->begin(), variants->end(), [&](const Variant* variant) {
    if (left_out.Has(static_cast<std::size_t>(variant - definition.variants().data()))) return false;
    if (!CheckAtoms(definition, *variant, config, left_out).ok()) return false;
    Result<AssumptionChecks> of_variant = AssumptionChecks::Create(definition, *variant);
    return of_variant.ok() && of_variant->For(config).Hold(call) && is_right(*variant);
  });
}

}  // namespace

const Config* FittingFallback(const SearchSpace& space, const Target& target, const Problem& problem) {
  const std::optional<Config>& fallback = space.fallback();
  return fallback && space.Contains(*fallback, target, &problem).ok() ? &*fallback : nullptr;
}

Result<std::optional<Config>> BaselineOf(const std::shared_ptr<const KernelDefinition>& definition,
                                         const BoundCall& call, const std::vector<Config>& configs,
                                         VariantSet left_out) {
  const SearchSpace& space = definition->space();
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<Config> baseline, space.BaselineFor(call.problem));
  if (!baseline || !definition->has_config_requirements()) return baseline;
  auto accepts = [&](const Config& config) { return IsAccepted(*definition, config, call, left_out); };
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<Config> accepted, space.BaselineFor(call.problem, accepts));
  if (accepted) return accepted;
  const Config* fallback = FittingFallback(space, *call.problem.target, call.problem);
  if (fallback != nullptr && accepts(*fallback)) return std::optional<Config>(*fallback);
  auto first = std::find_if(configs.begin(), configs.end(), accepts);
  return first == configs.end() ? baseline : *first;
}

bool IsAccepted(const KernelDefinition& definition, const Config& config, const BoundCall& call, VariantSet left_out) {
  return AnyVariantOf(definition, config, call, left_out, [&](const Variant& variant) {
    return CheckRequirementGuards(variant, config, call.problem).ok();
  });
}

bool IsAcceptedByKey(const KernelDefinition& definition, const Config& config, const BoundCall& call,
                     VariantSet left_out) {
  return AnyVariantOf(definition, config, call, left_out, [](const Variant&) { return true; });
}

void PruneImpossible(const Target& target, PlannedConfig* planned) {
  std::vector<Candidate> possible;
  for (Candidate& candidate : planned->alternatives) {
    Status status = candidate.is_callable() ? Status() : CheckGeometry(candidate);
    const bool is_valid = status.ok();
    if (is_valid && !candidate.is_callable()) status = CheckLimits(candidate.geometry, target);
    if (status.ok()) {
      possible.push_back(std::move(candidate));
      continue;
    }
    planned->failure = is_valid ? OutcomeKind::kResources : OutcomeKind::kLaunch;
    planned->passed_over.push_back(PassedOver{candidate.variant_name(), status.message()});
  }
  planned->alternatives = std::move(possible);
}

CompileJob CompileJobOf(const PlannedConfig& planned) {
  CompileJob job;
  job.label = planned.config.ToString();
  for (const Candidate& candidate : planned.alternatives) {
    if (candidate.is_callable()) break;
    job.alternatives.push_back(CompileJob::Alternative{candidate.source, candidate.hints});
  }
  return job;
}

void RefuseUnsuitableCode(const PlannedConfig& planned, CompileJob* job) {
  for (std::size_t i = 0; i < job->alternatives.size(); ++i) {
    if (!IsTile(job->alternatives[i].source.kind())) continue;
    Candidate candidate;
    candidate.definition = planned.alternatives[i].definition;
    candidate.variant = planned.alternatives[i].variant;
    candidate.config = planned.config;
    candidate.convention = planned.alternatives[i].convention;
    job->alternatives[i].accepts = [candidate,
                                    call = planned.alternatives[i].call](const Artifact& artifact) -> Status {
      Candidate compiled = candidate;
      compiled.artifact.assumptions = artifact.assumptions;
      bool has_more = false;
      TUNEONCE_ASSIGN_OR_RETURN(AssumptionChecks assumptions, AssumptionsOf(compiled, &has_more));
      return has_more ? assumptions.Verify(call) : Status();
    };
  }
}

Status CheckGeometry(const Candidate& candidate) {
  if (candidate.geometry.IsLaunchable() || candidate.variant == nullptr) return candidate.geometry.Check();
  return candidate.variant->geometry.Check(candidate.config, candidate.call.problem);
}

Result<ParameterLayout> LayoutOf(const Candidate& candidate) {
  static const std::vector<std::string> kAll;
  return ParameterLayout::Create(*candidate.definition, candidate.convention,
                                 candidate.variant == nullptr ? kAll : candidate.variant->parameters);
}

Result<AssumptionChecks> AssumptionsOf(const Candidate& candidate, bool* has_more) {
  TUNEONCE_ASSIGN_OR_RETURN(ParameterLayout layout, LayoutOf(candidate));
  TUNEONCE_ASSIGN_OR_RETURN(AssumptionChecks of_variant,
                            AssumptionChecks::Create(*candidate.definition, *candidate.variant, layout));
  AssumptionChecks assumptions = of_variant.For(candidate.config);
  bool has_any = false;
  TUNEONCE_RETURN_IF_ERROR(
      AddAssumptionsOfCode(layout, candidate.config, candidate.artifact.assumptions, &assumptions, &has_any));
  if (has_more != nullptr) *has_more = has_any;
  return assumptions;
}

Status CheckParameters(const ParameterLayout& layout, const Candidate& candidate) {
  TUNEONCE_RETURN_IF_ERROR(CheckSource(layout, candidate.source.Whole()));
  if (candidate.artifact.parameters.empty()) return Status();
  return CheckTileTypes(layout, *candidate.definition, candidate.call.problem, candidate.artifact.parameters);
}

Status AllowSharedMemory(const KernelHandle& kernel, std::int64_t bytes) {
  if (bytes <= kDefaultSharedMemoryBytes) return Status();
  return kernel.SetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(bytes))
      .WithPrefix(std::to_string(bytes) + " bytes of shared memory");
}

Result<std::shared_ptr<const LoadedKernel>> LoadCandidate(const DriverApi& api, const Candidate& candidate) {
  if (candidate.is_callable()) {
    auto launched_by_host = std::make_shared<LoadedKernel>();
    launched_by_host->variant = candidate.variant;
    return std::shared_ptr<const LoadedKernel>(std::move(launched_by_host));
  }
  TUNEONCE_ASSIGN_OR_RETURN(ParameterLayout layout, LayoutOf(candidate));
  TUNEONCE_RETURN_IF_ERROR(CheckParameters(layout, candidate));
  std::optional<AssumptionChecks> assumptions;
  if (candidate.variant != nullptr && !candidate.artifact.assumptions.empty()) {
    bool has_more = false;
    TUNEONCE_ASSIGN_OR_RETURN(AssumptionChecks of_code, AssumptionsOf(candidate, &has_more));
    if (has_more) assumptions = std::move(of_code);
  }
  TUNEONCE_ASSIGN_OR_RETURN(Library library, Library::Load(api, candidate.artifact.image));
  TUNEONCE_ASSIGN_OR_RETURN(KernelHandle kernel, library.GetKernel(candidate.artifact.symbol));
  Result<std::vector<std::size_t>> sizes = kernel.ParameterSizes();
  if (sizes.ok()) {
    TUNEONCE_RETURN_IF_ERROR(
        layout.CheckAgainst(*sizes, MayHideParameters(candidate.source.kind(), candidate.convention)));
  } else if (sizes.status().code() != StatusCode::kUnimplemented) {
    return sizes.status();
  }
  if (candidate.geometry.shared_memory_bytes > std::numeric_limits<int>::max()) return CheckGeometry(candidate);
  TUNEONCE_RETURN_IF_ERROR(AllowSharedMemory(kernel, candidate.geometry.shared_memory_bytes));
  return std::shared_ptr<const LoadedKernel>(new LoadedKernel{
      std::move(library), kernel.get(), candidate.artifact.symbol, candidate.variant,
      candidate.artifact.code_fingerprint, candidate.geometry.shared_memory_bytes, std::move(assumptions)});
}

bool LaunchesAlike(const Candidate& a, const Candidate& b, const std::vector<Dims>& dims) {
  if (a.is_callable() || b.is_callable()) return false;  // The host's functions cannot be compared.
  // Another variant may take other parameters, in another order.
  if (!(a.artifact.code_fingerprint == b.artifact.code_fingerprint) || a.definition != b.definition ||
      a.variant != b.variant || a.convention != b.convention || !(a.geometry == b.geometry)) {
    return false;
  }
  if (a.variant == nullptr) return true;  // In a search without a definition the config decides no argument.
  if (HasFilledDescriptor(*a.definition, *a.variant)) return false;
  Result<ParameterLayout> layout = LayoutOf(a);
  if (!layout.ok()) return false;
  Problem problem = a.call.problem;
  if (WordsOf(a, *layout, problem) != WordsOf(b, *layout, problem)) return false;
  return std::all_of(dims.begin(), dims.end(), [&](const Dims& each) {
    problem.dims = each;
    return WordsOf(a, *layout, problem) == WordsOf(b, *layout, problem);
  });
}

Fingerprint CandidateIdentity(const Candidate& candidate) {
  Fingerprinter identity;
  if (candidate.definition == nullptr) return identity.Finish();
  identity.Add(candidate.config.Canonical()).Add(candidate.variant_name());
  identity.Add(candidate.definition->name()).Add(candidate.definition->version());  // All there is of a launcher.
  if (candidate.is_callable()) return identity.Finish();
  identity.Add(candidate.artifact.code_fingerprint);
  Result<ParameterLayout> layout = LayoutOf(candidate);
  if (!layout.ok() || candidate.variant == nullptr) return identity.Finish();
  // Scalars that the key does not name differ between launches, and are probed like the dims.
  AddProbedWords(*candidate.definition, *candidate.variant, *layout, candidate.config,
                 candidate.definition->DecidedByKey(candidate.call.problem), &identity);
  return identity.Finish();
}

}  // namespace v0
}  // namespace tuneonce
