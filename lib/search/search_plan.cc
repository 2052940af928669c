#include "search/search_plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/environment.h"
#include "cuda/driver_api.h"
#include "definition/config_set_contents.h"
#include "measure/roofline.h"
#include "search/portfolio.h"
#include "search/record_origin.h"
#include "search/search_engine.h"
#include "search/search_runner.h"
#include "search/trial_tensors.h"
#include "tuneonce/device.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

namespace {

/// Maximum number of extents of a bucket that are verified, the measured one included. Nine classes of trailing zeros,
/// the ends, a prime and the launch make 14, and each odd factor of the axes doubles the classes. Further classes are
/// verified when they are launched.
constexpr std::size_t kMostVerifiedDims = 40;

VerificationScope VerificationOf(const std::shared_ptr<const KernelDefinition>& definition, const BoundCall& call,
                                 const SearchScope& scope) {
  VerificationScope verification;
  verification.definition = definition;
  verification.launched = scope.launched != nullptr ? scope.launched : &call;
  verification.measured = call.problem.dims;
  verification.is_on_fills = scope.is_on_fills;
  verification.left_out = scope.left_out;
  if (!scope.classes) return verification;
  verification.classes = scope.classes;
  verification.dims =
      VerificationDims(*definition, verification.launched->problem.dims, *verification.classes, kMostVerifiedDims);
  return verification;
}

/// Returns what plans one config of the definition for a call.
ConfigPlanner::PlanFn PlannerOf(const std::shared_ptr<const KernelDefinition>& definition, const BoundCall& call,
                                bool enable_tile, VariantSet left_out) {
  auto texts = std::make_shared<SourceTexts>();
  return [definition, call, enable_tile, left_out, texts](const Config& config) -> Result<PlannedConfig> {
    TUNEONCE_ASSIGN_OR_RETURN(PlannedConfig planned,
                              PlanConfig(definition, config, call, enable_tile, left_out, texts.get()));
    TUNEONCE_RETURN_IF_ERROR(definition->space().TakeMisuse().WithPrefix("kernel '" + definition->name() + "'"));
    planned.is_excluded = planned.alternatives.empty() && definition->has_config_requirements() &&
                          !IsAccepted(*definition, config, call, left_out);
    if (!planned.is_excluded) PruneImpossible(*call.problem.target, &planned);
    return planned;
  };
}

/// Plans what decides where the candidates run: all of a search that tries all, else the baseline and the first config.
Status PlanAhead(const SearchOptions& options, SearchPlan* plan) {
  const std::vector<Config>& configs = plan->planner.configs();
  const bool may_be_cut_short = options.budgets.wall.count() > 0 || options.budgets.trials > 0;
  const bool takes_all = !may_be_cut_short && configs.size() <= plan->start.max_configs;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const bool is_needed = takes_all || i == 0 || (plan->baseline && configs[i] == *plan->baseline);
    if (is_needed) TUNEONCE_RETURN_IF_ERROR(plan->planner.Plan(i).status());
  }
  if (takes_all && plan->planner.planned().empty() && !plan->planner.refusal().empty()) {
    return FailedPreconditionError(plan->planner.refusal());
  }
  for (const auto& [index, planned] : plan->planner.planned()) {
    for (const Candidate& candidate : planned.alternatives) {
      TUNEONCE_RETURN_IF_ERROR(TrialTensors::CheckOutputs(*candidate.definition, candidate.call));
    }
  }
  return Status();
}

Status NameDevice(const Device& device, TuningKey* key) {
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  key->device_name = identity.name;
  key->capability = Target::Of(identity).capability();
  key->num_sms = identity.num_sms;
  key->driver_version = identity.driver_version;
  return Status();
}

}  // namespace

Result<SearchPlan> PlanSearch(const std::shared_ptr<const KernelDefinition>& definition, const BoundCall& call,
                              SearchScope scope, const SearchOptions& options) {
  const Environment& environment = Runtime::OrDefault(options.runtime)->environment();
  SearchPlan plan;
  plan.kernel = definition->name();
  plan.key = scope.key;
  plan.target = *call.problem.target;
  plan.fatal = scope.fatal;
  plan.baseline = scope.baseline;
  if (!plan.baseline) {
    TUNEONCE_ASSIGN_OR_RETURN(plan.baseline, BaselineOf(definition, call, *scope.configs, scope.left_out));
  }
  plan.start.began = scope.began;
  plan.start.max_configs = static_cast<std::size_t>(definition->space().max_configs());
  plan.start.known = scope.known;
  plan.start.required = scope.required;
  std::vector<Config> baselines = definition->space().BaselinesOn(plan.target);
  const std::size_t num_baselines = baselines.size();
  std::move(baselines.begin(), baselines.end(), std::back_inserter(plan.start.required));
  plan.start.portfolio = scope.portfolio;
  plan.verification = VerificationOf(definition, call, scope);
  const std::size_t num_configs = scope.configs->size();
  plan.planner =
      ConfigPlanner(std::move(scope.configs), PlannerOf(definition, call, environment.enable_tile, scope.left_out));
  // The baselines are added to a sample.
  if (num_configs >= kSampledConfigs && num_configs <= kSampledConfigs + num_baselines) {
    TUNEONCE_ASSIGN_OR_RETURN(ConfigSet set, definition->space().Configs(plan.target, &call.problem));
    if (set.size() > SearchSpace::kMostConfigs) {
      plan.note = absl::StrCat("the space has ", set.size(),
                               " configs, of which the search could try a random sample of ", num_configs);
    }
  }
  return plan;
}

Result<SearchOutcome> RunSearch(SearchPlan plan, StreamView stream, const SearchOptions& options, TrialMemory memory) {
  TUNEONCE_RETURN_IF_ERROR(PlanAhead(options, &plan));
  TUNEONCE_ASSIGN_OR_RETURN(Stream trial_stream, MakeTrialStream(stream));
  const StreamView trials = trial_stream.view();
  TUNEONCE_ASSIGN_OR_RETURN(
      std::unique_ptr<SearchRunner> runner,
      SearchRunner::Create(plan.planner.planned(), trials, options, memory, plan.baseline.has_value()));
  TUNEONCE_ASSIGN_OR_RETURN(Device device, Device::OfCurrentContext(stream.api()));
  Mutex& measuring_lock = stream.api().measuring_lock(device.handle());
  // Not on the stack, because a thread of the host may have little.
  auto engine = std::make_unique<SearchEngine>(plan.kernel, plan.key, plan.target, plan.baseline, options, *runner,
                                               measuring_lock);
  engine->LeaveOut(std::move(plan.fatal));
  std::unique_ptr<FinalistChecks> checks;
  if (plan.verification) {
    checks = std::make_unique<FinalistChecks>(*std::move(plan.verification), *runner, trials, memory, options,
                                              measuring_lock);
    engine->VerifyBy(checks.get());
  }
  // User callbacks catch their own exceptions, so any other is from this library: a lack of memory or threads.
  Result<SearchOutcome> found = CallForeign(
      "kernel '" + plan.kernel + "': the search", StatusCode::kInternal,
      [&]() -> Result<SearchOutcome> { return engine->Run(std::move(plan.planner), std::move(plan.start)); });
  if (Status status = runner->WithDamage(found.status()); !status.ok()) found = std::move(status);
  if (found.ok()) {
    TUNEONCE_RETURN_IF_ERROR(NameDevice(device, &found->record->key));
    StampOrigin(found->record.get());
    if (!plan.note.empty()) found->record->notes.push_back(std::move(plan.note));
  }
  engine.reset();
  // The last work in the stream may still use the caller's tensors, for inputs that are restored. The search returned
  // its error.
  (void)trials.Synchronize();
  runner->Close();
  return found;
}

Status AddRooflines(const KernelDefinition& definition, const Problem& problem, const DriverApi& api,
                    TuningRecord* record) {
  double bytes = 0;
  double operations = 0;
  TUNEONCE_RETURN_IF_ERROR(CallUser("a function given to Work", [&] {
    bytes = definition.WorkBytes(problem);
    operations = definition.WorkOperations(problem);
    return Status();
  }));
  if (std::isnan(bytes) || std::isnan(operations)) {
    record->notes.push_back(absl::StrCat("the roofline is incomplete: the ", std::isnan(bytes) ? "bytes" : "operations",
                                         " of one run have no value at this shape, or do not fit 64 bits (`work`)"));
  }
  if (!(bytes > 0)) bytes = 0;
  if (!(operations > 0)) operations = 0;
  if (bytes <= 0 && operations <= 0) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(Device device, Device::OfCurrentContext(api));
  TUNEONCE_ASSIGN_OR_RETURN(DevicePeaks peaks, DevicePeaks::Of(device));
  auto add = [&](CandidateOutcome& outcome) {
    if (outcome.kind != OutcomeKind::kMeasured) return;
    outcome.roofline = ComputeRoofline(bytes, operations, outcome.measurement.mean_us, peaks);
  };
  std::for_each(record->candidates.begin(), record->candidates.end(), add);
  add(record->best);
  if (record->baseline) add(*record->baseline);
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
