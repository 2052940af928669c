#include "search/search_plan.h"

#include <algorithm>
#include <utility>

#include "base/callback.h"
#include "base/environment.h"
#include "cuda/driver_api.h"
#include "measure/roofline.h"
#include "search/proposed_configs.h"
#include "search/search_session.h"
#include "tuneonce/device.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {
Fingerprint SearchPlan::CandidatesFingerprint() const {
  Fingerprinter list;
  list.Add(kernel).Add(target.name()).Add(baseline ? baseline->Canonical() : "");
  for (const PlannedConfig& config : planned) {
    list.Add(config.config.Canonical()).Add(config.alternatives.size());
    for (const Candidate& candidate : config.alternatives) {
      list.Add(candidate.variant_name());
      const Dims& dims = candidate.call.problem.dims;
      for (int i = 0; i < dims.count(); ++i) list.Add(static_cast<std::uint64_t>(dims[Dim{i}]));
    }
  }
  return list.Finish();
}

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
  if (!scope.classes) return verification;
  verification.classes = scope.classes;
  verification.dims =
      VerificationDims(*definition, verification.launched->problem.dims, *verification.classes, kMostVerifiedDims);
  return verification;
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
  plan.target = call.problem.target;
  plan.fatal = scope.fatal;
  plan.baseline = scope.baseline;
  if (!plan.baseline) {
    TUNEONCE_ASSIGN_OR_RETURN(plan.baseline, definition->space().BaselineFor(call.problem));
  }
  ProposedConfigs proposed = ProposeConfigs(*definition, call.problem, device, scope.configs, plan.baseline,
                                            options.max_proposed, environment);
  for (const Config& config : proposed.configs) {
    plan.planned.emplace_back();
    TUNEONCE_ASSIGN_OR_RETURN(plan.planned.back(),
                              PlanConfig(definition, config, call, environment.enable_tile, scope.left_out));
  }
  TUNEONCE_RETURN_IF_ERROR(definition->space().TakeMisuse().WithPrefix("kernel '" + definition->name() + "'"));
  plan.note = std::move(proposed.note);
  plan.verification = VerificationOf(definition, call, scope);
  return plan;
}

Result<SearchOutcome> RunSearch(SearchPlan plan, StreamView stream, const SearchOptions& options, TrialMemory memory) {
  TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<SearchSession> session,
                            SearchSession::Open(std::move(plan), stream, options, std::move(memory)));
  return session->Run();
}

Status AddRooflines(const KernelDefinition& definition, const Problem& problem, const DriverApi& api,
                    TuningResult* result) {
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
  auto add = [&](Success& success) {
    success.roofline = ComputeRoofline(bytes, operations, success.measurement.mean_us, peaks);
  };
  std::for_each(result->successes.begin(), result->successes.end(), add);
  add(result->best);
  if (result->baseline) add(*result->baseline);
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
