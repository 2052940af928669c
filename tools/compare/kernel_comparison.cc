#include "compare/kernel_comparison.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/environment.h"
#include "compare/back_end.h"
#include "compare/paired_race.h"
#include "cuda/driver_api.h"
#include "launch/assumption.h"
#include "launch/call_binder.h"
#include "measure/race.h"
#include "measure/statistics.h"
#include "search/candidate.h"
#include "search/search_call.h"
#include "search/search_runner.h"
#include "search/table_check.h"
#include "search/trial_tensors.h"
#include "shared/compile_pool.h"
#include "tuneonce/device.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::vector<const Parameter*> PassedBy(const KernelDefinition& definition) {
  std::vector<const Parameter*> passed;
  for (const Parameter& parameter : definition.parameters()) {
    const bool is_passed = parameter.kind == ParameterKind::kTensor || parameter.kind == ParameterKind::kScalar;
    if (is_passed) passed.push_back(&parameter);
  }
  return passed;
}

/// "'y' (out tensor, float32 [M, N])".
std::string InWords(const Parameter& parameter) {
  std::string text = absl::StrCat("'", parameter.name, "' (");
  if (parameter.kind == ParameterKind::kScalar) {
    return absl::StrCat(text, std::string(DTypeName(parameter.dtype)), " scalar)");
  }
  constexpr std::array<const char*, 3> kAccess = {"in", "out", "inout"};
  absl::StrAppend(&text, kAccess[static_cast<std::size_t>(parameter.access)],
                  parameter.by_pointers ? " table of tensors, " : " tensor, ", std::string(DTypeName(parameter.dtype)),
                  " [");
  for (std::size_t i = 0; i < parameter.dims.size(); ++i) absl::StrAppend(&text, i == 0 ? "" : ", ", parameter.dims[i]);
  return text + "])";
}

bool IsSame(const Parameter& a, const Parameter& b) {
  return a.kind == b.kind && a.access == b.access && a.dtype == b.dtype && a.dims == b.dims &&
         a.by_pointers == b.by_pointers;
}

/// One of the two kernels, before their race.
struct Side {
  const char* name;  ///< "A", before its errors.
  const ComparedKernel& kernel;
  BoundCall call = {};
  VariantSet left_out = {};    ///< The variants of other back ends.
  PlannedConfig planned = {};  ///< The one config, with the ways to build it.
};

/// Adds each note once, because two searches and the race may return the same one.
void AddNotes(const std::vector<std::string>& added, std::vector<std::string>* notes) {
  for (const std::string& note : added) {
    if (std::find(notes->begin(), notes->end(), note) == notes->end()) notes->push_back(note);
  }
}

/// A search among `configs`.
Result<TuningRecord> Search(const Side& side, const std::vector<Config>& configs, StreamView stream,
                            SearchOptions options) {
  const KernelDefinition& definition = *side.kernel.definition;
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<Config> baseline, definition.space().BaselineFor(side.call.problem));
  if (!baseline || std::find(configs.begin(), configs.end(), *baseline) == configs.end()) {
    // The reference of a back end that has not the baseline. It is preferred as the first of others that tie is.
    baseline = configs.front();
    options.baseline_margin = RaceOptions().first_tie;
  }
  TUNEONCE_ASSIGN_OR_RETURN(TrialMemory memory, TrialMemory::Create(stream.api(), options.memory_budget_bytes));
  SearchScope scope{definition.DimsString(side.call.problem.dims),
                    std::make_shared<const std::vector<Config>>(configs),
                    side.left_out,
                    {},
                    baseline};
  TUNEONCE_ASSIGN_OR_RETURN(SearchOutcome outcome, SearchCall(side.kernel.definition, stream, side.call,
                                                              std::move(scope), options, std::move(memory)));
  return std::move(*outcome.record);
}

/// Finds the config that the side runs, and plans it.
Status Choose(StreamView stream, const SearchOptions& options, Side* side, std::vector<std::string>* notes) {
  const KernelDefinition& definition = *side->kernel.definition;
  std::optional<Config> config = side->kernel.config;
  std::string variant = side->kernel.variant;
  if (!config) {
    TUNEONCE_ASSIGN_OR_RETURN(BackEnd back_end, BackEndNamed(side->kernel.backend, definition, side->call.problem));
    side->left_out = back_end.left_out;
    config = back_end.configs.front();
    if (back_end.configs.size() > 1) {
      TUNEONCE_ASSIGN_OR_RETURN(TuningRecord result, Search(*side, back_end.configs, stream, options));
      config = result.best.config;
      variant = result.best.variant;
      AddNotes(result.notes, notes);
    }
  }
  TUNEONCE_RETURN_IF_ERROR(definition.space().CheckGuards(*config, side->call.problem));  // Not even a baseline may.
  const bool enable_tile = Runtime::OrDefault(options.runtime)->environment().enable_tile;
  TUNEONCE_ASSIGN_OR_RETURN(side->planned,
                            PlanConfig(side->kernel.definition, *config, side->call, enable_tile, side->left_out));
  std::vector<Candidate>& ways = side->planned.alternatives;
  auto is_other = [&](const Candidate& way) { return !variant.empty() && way.variant_name() != variant; };
  ways.erase(std::remove_if(ways.begin(), ways.end(), is_other), ways.end());
  if (!ways.empty()) return TrialTensors::CheckOutputs(definition, side->call);
  std::string why;
  for (const PassedOver& each : side->planned.passed_over) {
    if (variant.empty() || each.variant == variant) absl::StrAppend(&why, "; '", each.variant, "': ", each.reason);
  }
  return FailedPreconditionError(absl::StrCat("no variant ", variant.empty() ? "" : "'" + variant + "' ", "builds {",
                                              config->ToString(), "} for this shape", why));
}

/// The way to build the side's config that compiles, with its artifact. Errors: of the last one.
Result<Candidate> Compile(const Side& side, const SearchOptions& options) {
  const Runtime& runtime = *Runtime::OrDefault(options.runtime);
  const std::vector<Candidate>& ways = side.planned.alternatives;
  if (!side.planned.needs_compiling()) return ways.front();
  CompileOptions compile = options.compile;
  if (options.stop.stop_possible()) compile.stop = options.stop;
  if (compile.cache == nullptr) compile.cache = runtime.memory_store();
  CompilePool pool(runtime.compile_slots(), runtime.toolchains(), *side.call.problem.target,
                   {CompileJobOf(side.planned)}, compile, &runtime.trace());
  std::optional<CompiledJob> compiled = pool.Next();
  if (!compiled->artifact.ok() && side.planned.ends_with_callable()) return ways.back();
  const Status& status = compiled->artifact.status();
  if (compiled->was_cut_short || IsTransient(status.code())) return status;
  if (!status.ok()) return InternalError("compile: " + status.message());  // Whatever is wrong with it is its fault.
  Candidate candidate = ways[compiled->alternative];
  candidate.artifact = *std::move(compiled->artifact);
  return candidate;
}

/// Returns true for an error that is the fault of B if A runs with the same arguments.
bool IsFault(const Status& status) {
  const bool is_fault = status.code() == StatusCode::kInternal || status.code() == StatusCode::kResourceExhausted;
  return is_fault && !status.sticky();
}

Result<ComparedRun> RunOf(const Candidate& candidate, const std::vector<double>& samples_us) {
  ComparedRun run;
  run.config = candidate.config;
  run.variant = candidate.variant_name();
  run.resources = candidate.artifact.resources;
  if (!samples_us.empty()) run.measurement = SummarizeStoppedEarly(samples_us);
  TUNEONCE_ASSIGN_OR_RETURN(ParameterLayout layout, LayoutOf(candidate));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::size_t> workspaces, CallUser("a workspace function", [&] {
                              return layout.WorkspaceBytes(candidate.config, candidate.call.problem);
                            }));
  for (std::size_t bytes : workspaces) run.memory_bytes += bytes;
  const std::vector<Parameter>& parameters = candidate.definition->parameters();
  for (const ReachedTensor& each : ReachedTensorsOf(parameters, candidate.call)) {
    run.memory_bytes += each.tensor->bytes;
  }
  return run;
}

/// Runs both side by side.
Status RaceBoth(const Candidate& a, const Candidate& b, StreamView stream, const SearchOptions& options,
                KernelComparison* comparison) {
  TUNEONCE_ASSIGN_OR_RETURN(TrialMemory memory, TrialMemory::Create(stream.api(), options.memory_budget_bytes));
  TUNEONCE_ASSIGN_OR_RETURN(Stream trial_stream, MakeTrialStream(stream));
  std::map<std::size_t, PlannedConfig> planned;
  for (const Candidate* each : {&a, &b}) planned.emplace(planned.size(), PlannedConfig{each->config, {*each}, {}});
  TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<SearchRunner> runner,
                            SearchRunner::Create(planned, trial_stream.view(), options, memory, /*has_baseline=*/true));
  TUNEONCE_ASSIGN_OR_RETURN(Device device, Device::OfCurrentContext(stream.api()));
  Mutex& measuring_lock = stream.api().measuring_lock(device.handle());
  Result<PairedOutcome> raced = CallForeign("the comparison", StatusCode::kInternal,
                                            [&] { return RunPairedRace(*runner, measuring_lock, options, a, b); });
  (void)trial_stream.view().Synchronize();  // As in a search: an error of the stream was returned by the race.
  runner->Close();
  TUNEONCE_RETURN_IF_ERROR(runner->WithDamage(raced.status()));
  const RunnerReport report = runner->Report();
  comparison->timer = report.timer;
  comparison->is_isolated = report.is_isolated;
  AddNotes(report.notes, &comparison->notes);
  comparison->largest_difference = std::move(raced->largest_difference);
  comparison->failure = raced->failure.value_or("");
  comparison->is_wrong = raced->is_wrong;
  comparison->num_pairs = static_cast<int>(raced->a_us.size());
  comparison->speedup = PairedSpeedup(raced->a_us, raced->b_us);
  TUNEONCE_ASSIGN_OR_RETURN(comparison->a, RunOf(a, raced->a_us));
  if (!raced->failure) {
    TUNEONCE_ASSIGN_OR_RETURN(comparison->b, RunOf(b, raced->b_us));
  }
  return Status();
}

void Judge(KernelComparison* comparison) {
  if (!comparison->failure.empty()) {
    comparison->verdict = comparison->is_wrong ? Verdict::kRevert : Verdict::kCrash;
  } else if (!comparison->is_same_code) {
    comparison->verdict = VerdictOf(*comparison->speedup);
    comparison->is_conclusive = IsConclusive(*comparison->speedup);
  }
}

}  // namespace

Status CheckSameSignature(const KernelDefinition& a, const KernelDefinition& b) {
  const std::vector<const Parameter*> of_a = PassedBy(a), of_b = PassedBy(b);
  for (std::size_t i = 0; i < std::max(of_a.size(), of_b.size()); ++i) {
    const bool is_same = i < of_a.size() && i < of_b.size() && IsSame(*of_a[i], *of_b[i]);
    if (is_same) continue;
    auto described = [i](const std::vector<const Parameter*>& all) {
      return i < all.size() ? InWords(*all[i]) : std::string("missing");
    };
    return InvalidArgumentError(absl::StrCat("A and B do not take the same arguments: argument ", i + 1, " is ",
                                             described(of_a), " in A, and ", described(of_b), " in B"));
  }
  return Status();
}

Result<KernelComparison> CompareKernels(const ComparedKernel& a, const ComparedKernel& b, StreamView stream,
                                        const std::vector<Argument>& arguments, const SearchOptions& options) {
  TUNEONCE_RETURN_IF_ERROR(CheckSameSignature(*a.definition, *b.definition));
  TUNEONCE_ASSIGN_OR_RETURN(Target target, CurrentTarget(stream.api()));
  Side of_a{"A", a}, of_b{"B", b};
  KernelComparison comparison;
  for (Side* side : {&of_a, &of_b}) {
    const CallBinder binder(*side->kernel.definition);
    TUNEONCE_RETURN_IF_ERROR(binder.Bind(arguments.data(), arguments.size(), &side->call).WithPrefix(side->name));
    TUNEONCE_RETURN_IF_ERROR(
        AssumptionChecks::CheckConstantExtents(*side->kernel.definition, side->call).WithPrefix(side->name));
    side->call.problem.target = &target;
  }
  TUNEONCE_RETURN_IF_ERROR(CheckTables(*a.definition, of_a.call, stream));  // B has the same signature.
  // Two searches could select two configs of equal speed, so the same question is asked once.
  const bool is_one_question = a.definition == b.definition && a.backend == b.backend && !a.config && !b.config;
  std::vector<Candidate> candidates;
  for (Side* side : {&of_a, &of_b}) {
    Status status;
    if (side == &of_b && is_one_question) {
      of_b.planned = of_a.planned;
    } else {
      status = Choose(stream, options, side, &comparison.notes);
    }
    if (status.ok()) {
      Result<Candidate> candidate = Compile(*side, options);
      status = candidate.status();
      if (candidate.ok()) candidates.push_back(*std::move(candidate));
    }
    if (status.ok()) continue;
    if (side == &of_a || !IsFault(status)) return Status(status).WithPrefix(side->name);
    comparison.failure = status.message();
  }
  if (comparison.failure.empty()) {
    TUNEONCE_RETURN_IF_ERROR(RaceBoth(candidates[0], candidates[1], stream, options, &comparison));
    comparison.is_same_code = LaunchesAlike(candidates[0], candidates[1]);
  } else {
    TUNEONCE_ASSIGN_OR_RETURN(comparison.a, RunOf(candidates[0], {}));
  }
  Judge(&comparison);
  return comparison;
}

}  // namespace v0
}  // namespace tuneonce
