#include "search/search_plan.h"

#include <algorithm>
#include <utility>

#include "base/callback.h"
#include "base/environment.h"
#include "cuda/driver_api.h"
#include "measure/roofline.h"
#include "search/proposed_configs.h"
#include "search/search_engine.h"
#include "search/search_runner.h"
#include "search/trial_stream.h"
#include "search/trial_tensors.h"
#include "tuneonce/device.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Makes what a search needs of the device, has `run` use it, and ends it.
template <typename Run>
Result<SearchOutcome> OnTrialStream(const SearchPlan& plan, StreamView stream, const SearchOptions& options,
                                    TrialMemory memory, const Run& run) {
  for (const PlannedConfig& config : plan.planned) {
    for (const Candidate& candidate : config.alternatives) {
      TUNEONCE_RETURN_IF_ERROR(TrialTensors::CheckSizes(*candidate.definition, candidate.call));
    }
  }
  TUNEONCE_ASSIGN_OR_RETURN(Stream trial_stream, MakeTrialStream(stream));
  TUNEONCE_ASSIGN_OR_RETURN(
      std::unique_ptr<SearchRunner> runner,
      SearchRunner::Create(plan.planned, trial_stream.view(), options, memory, plan.baseline.has_value()));
  TUNEONCE_ASSIGN_OR_RETURN(Device device, Device::OfCurrentContext(stream.api()));
  // Not on the stack, of which a host's thread may have little.
  auto engine = std::make_unique<SearchEngine>(plan.kernel, plan.key, plan.target, plan.baseline, options, *runner,
                                               stream.api().measuring_lock(device.handle()));
  engine->LeaveOut(plan.lethal);
  // What others wrote is caught where it is called: what is left is ours, a lack of memory or threads.
  Result<SearchOutcome> outcome =
      CallForeign("kernel '" + plan.kernel + "': the search", StatusCode::kInternal, [&] { return run(*engine); });
  // What was put into the stream last may still read the caller's tensors: inputs that are put back. An error of it was
  // the search's before.
  (void)trial_stream.view().Synchronize();
  return runner->Finish(std::move(outcome));
}

}  // namespace

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

Result<SearchPlan> PlanSearch(const std::shared_ptr<const KernelDefinition>& definition, StreamView stream,
                              const BoundCall& call, const SearchScope& scope, const SearchOptions& options) {
  const Environment& environment = Runtime::OrDefault(options.runtime)->environment();
  TUNEONCE_ASSIGN_OR_RETURN(Device current, Device::OfCurrentContext(stream.api()));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity device, current.Identity());
  SearchPlan plan;
  plan.kernel = definition->name();
  plan.key = scope.key;
  plan.target = call.problem.target;
  plan.lethal = scope.lethal;
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
  return plan;
}

Result<SearchOutcome> RunSearch(SearchPlan plan, StreamView stream, const SearchOptions& options, TrialMemory memory) {
  return OnTrialStream(plan, stream, options, std::move(memory), [&](SearchEngine& engine) -> Result<SearchOutcome> {
    Result<SearchOutcome> outcome = engine.Run(std::move(plan.planned));
    if (outcome.ok() && !plan.note.empty()) outcome->result.notes.push_back(plan.note);
    return outcome;
  });
}

Result<TuningResult> RunPart(SearchPlan plan, StreamView stream, const SearchOptions& options, TrialMemory memory,
                             CandidateSource& source) {
  TUNEONCE_ASSIGN_OR_RETURN(
      SearchOutcome outcome,
      OnTrialStream(plan, stream, options, std::move(memory), [&](SearchEngine& engine) -> Result<SearchOutcome> {
        TUNEONCE_ASSIGN_OR_RETURN(TuningResult result, engine.RunPart(std::move(plan.planned), source));
        return SearchOutcome{std::move(result), nullptr, nullptr};
      }));
  return std::move(outcome.result);
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
