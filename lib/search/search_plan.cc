#include "search/search_plan.h"

#include <algorithm>
#include <utility>

#include "base/callback.h"
#include "base/environment.h"
#include "cuda/driver_api.h"
#include "measure/roofline.h"
#include "search/matmul_heuristics.h"
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

Status NameDevice(const Device& device, TuningKey* key) {
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  key->device_name = identity.name;
  key->capability = Target::Of(identity).capability();
  key->num_sms = identity.num_sms;
  key->driver_version = identity.driver_version;
  return Status();
}

}  // namespace

Result<SearchPlan> PlanSearch(const std::shared_ptr<const KernelDefinition>& definition, StreamView stream,
                              const BoundCall& call, const SearchScope& scope, const SearchOptions& options) {
  const Environment& environment = Runtime::OrDefault(options.runtime)->environment();
  TUNEONCE_ASSIGN_OR_RETURN(Device current, Device::OfCurrentContext(stream.api()));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity device, current.Identity());
  SearchPlan plan;
  plan.kernel = definition->name();
  plan.key = scope.key;
  plan.target = *call.problem.target;
  plan.fatal = scope.fatal;
  plan.baseline = scope.baseline;
  if (!plan.baseline) {
    TUNEONCE_ASSIGN_OR_RETURN(plan.baseline, BaselineOf(definition, call, scope.configs, scope.left_out));
  }
  ProposedConfigs proposed = ProposeConfigs(*definition, call.problem, device, scope.configs, plan.baseline,
                                            options.max_proposed, environment);
  SourceTexts texts;
  std::string refusal;
  for (const Config& config : proposed.configs) {
    plan.planned.emplace_back();
    TUNEONCE_ASSIGN_OR_RETURN(plan.planned.back(),
                              PlanConfig(definition, config, call, environment.enable_tile, scope.left_out, &texts));
    // What the variants require excludes a config; it is not a candidate that failed.
    if (plan.planned.back().alternatives.empty() && definition->has_config_requirements() &&
        !IsAccepted(*definition, config, call, scope.left_out)) {
      if (refusal.empty()) refusal = plan.planned.back().passed_over.front().reason;
      plan.planned.pop_back();
      continue;
    }
    PruneImpossible(plan.target, &plan.planned.back());
  }
  if (plan.planned.empty() && !refusal.empty()) return FailedPreconditionError(refusal);
  TUNEONCE_RETURN_IF_ERROR(definition->space().TakeMisuse().WithPrefix("kernel '" + definition->name() + "'"));
  plan.note = std::move(proposed.note);
  plan.verification = VerificationOf(definition, call, scope);
  return plan;
}

Result<SearchOutcome> RunSearch(SearchPlan plan, StreamView stream, const SearchOptions& options, TrialMemory memory) {
  for (const PlannedConfig& config : plan.planned) {
    for (const Candidate& candidate : config.alternatives) {
      TUNEONCE_RETURN_IF_ERROR(TrialTensors::CheckSizes(*candidate.definition, candidate.call));
    }
  }
  TUNEONCE_ASSIGN_OR_RETURN(Stream trial_stream, MakeTrialStream(stream));
  const StreamView trials = trial_stream.view();
  TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<SearchRunner> runner,
                            SearchRunner::Create(plan.planned, trials, options, memory, plan.baseline.has_value()));
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
  Result<SearchOutcome> found =
      CallForeign("kernel '" + plan.kernel + "': the search", StatusCode::kInternal,
                  [&]() -> Result<SearchOutcome> { return engine->Run(std::move(plan.planned)); });
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
