#include "tuneonce/exhaustive_search.h"

#include <algorithm>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/environment.h"
#include "cuda/driver_api.h"
#include "definition/compiler_option.h"
#include "launch/assumption.h"
#include "search/candidate.h"
#include "search/search_call.h"
#include "search/search_plan.h"
#include "search/search_runner.h"
#include "search/table_check.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/option_table.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Declares one config's kernel arguments as a definition, and binds them.
struct ArgumentList {
  std::shared_ptr<const KernelDefinition> definition;
  BoundCall call;
};

Result<ArgumentList> Declare(const std::vector<TrialArgument>& arguments, const Target& target, const Variant& variant,
                             const SearchSpace& space) {
  std::vector<Parameter> parameters;
  for (const TrialArgument& argument : arguments) {
    std::string name = absl::StrCat("argument ", parameters.size() + 1);
    if (argument.is_pointer()) {
      parameters.push_back(In(std::move(name), {}));
      parameters.back().access = argument.access();
      parameters.back().may_be_partial = argument.may_be_partial();
      parameters.back().tolerance = argument.tolerance();
    } else {
      parameters.push_back(Scalar(std::move(name), argument.dtype()));
    }
  }
  KernelDefinition definition("exhaustive_search");
  definition.Parameters(parameters).AddVariant(variant);
  // This checks that each output has a tolerance.
  if (!space.OptionsThatChangeResults().empty()) definition.Space(space);
  TUNEONCE_RETURN_IF_ERROR(definition.Validate());
  ArgumentList list;
  list.definition = std::make_shared<const KernelDefinition>(std::move(definition));
  list.call.problem.target = &target;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    list.call.ResetParameter(i);
    list.call.problem.dtypes[i] = arguments[i].dtype();
    if (arguments[i].is_pointer()) {
      if (arguments[i].memory().data == nullptr) {
        return InvalidArgumentError(absl::StrCat("argument ", i + 1, " is a null pointer"));
      }
      list.call.problem.values[i] = &arguments[i].memory();
    } else {
      list.call.problem.values[i] = arguments[i].scalar();
    }
  }
  return list;
}

/// Returns the driver of the current context, for a search of these options. Errors: what CheckOptions refuses.
Result<const DriverApi*> DriverFor(const SearchOptions& options) {
  TUNEONCE_RETURN_IF_ERROR(CheckOptions(options));
  return DriverOfCurrentContext(Runtime::OrDefault(options.runtime)->environment());
}

using ArgumentsFn = std::function<std::vector<TrialArgument>(const Config&)>;

/// Searches without a definition: each config has its own arguments, and `variant` builds all of them.
/// `complete(config, &candidate)` adds the parts that differ between candidates.
template <typename Complete>
Result<TuningRecord> SearchWithoutDefinition(const SearchSpace& space, StreamView stream, const Variant& variant,
                                             const ArgumentsFn& args_fn, const SearchOptions& options,
                                             const Complete& complete) {
  const auto began = std::chrono::steady_clock::now();
  TUNEONCE_ASSIGN_OR_RETURN(Target target, CurrentTarget(stream.api()));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Config> configs, space.Enumerate(target));
  std::list<std::vector<TrialArgument>> arguments;  // The candidates' calls point into it.
  const auto plan_config = [&](const Config& config) -> Result<PlannedConfig> {
    Candidate candidate;
    candidate.config = config;
    TUNEONCE_RETURN_IF_ERROR(complete(config, &candidate));
    arguments.emplace_back();
    if (args_fn) {
      TUNEONCE_ASSIGN_OR_RETURN(
          arguments.back(), CallUser("args_fn at config {" + config.ToString() + "}", [&] { return args_fn(config); }));
    }
    TUNEONCE_ASSIGN_OR_RETURN(ArgumentList list, Declare(arguments.back(), target, variant, space));
    TUNEONCE_RETURN_IF_ERROR(space.TakeMisuse());
    candidate.definition = std::move(list.definition);
    candidate.call = list.call;
    if (variant.launcher) candidate.variant = &candidate.definition->variants().front();
    PlannedConfig planned;
    planned.config = config;
    planned.alternatives.push_back(std::move(candidate));
    return planned;
  };
  SearchPlan plan;
  plan.kernel = "kernel";
  plan.target = target;
  plan.baseline = space.BaselineOn(target);
  plan.start.began = began;
  plan.start.max_configs = static_cast<std::size_t>(space.max_configs());
  plan.planner = ConfigPlanner(std::move(configs), plan_config);
  TUNEONCE_RETURN_IF_ERROR(plan.planner.Plan(0).status());
  const std::string& symbol = plan.planner.at(0).alternatives.front().source.symbol();
  if (!symbol.empty()) plan.kernel = symbol;
  TUNEONCE_ASSIGN_OR_RETURN(TrialMemory memory, TrialMemory::Create(stream.api(), options.memory_budget_bytes));
  TUNEONCE_ASSIGN_OR_RETURN(SearchOutcome outcome, RunSearch(std::move(plan), stream, options, std::move(memory)));
  return std::move(*outcome.record);
}

}  // namespace

Result<TuningRecord> exhaustive_search(const KernelDefinition& definition, CUstream stream,
                                       const std::vector<Argument>& arguments, const SearchOptions& options) {
  TUNEONCE_ASSIGN_OR_RETURN(const DriverApi* api, DriverFor(options));
  return SearchDefinition(definition, StreamView(*api, stream), arguments, options);
}

Result<TuningRecord> SearchDefinition(const KernelDefinition& definition, StreamView stream,
                                      const std::vector<Argument>& arguments, const SearchOptions& options) {
  auto shared = std::make_shared<KernelDefinition>(definition);
  TUNEONCE_RETURN_IF_ERROR(ValidateForLaunch(*shared));
  BoundCall call;
  TUNEONCE_RETURN_IF_ERROR(CallBinder(*shared).Bind(arguments.data(), arguments.size(), &call));
  TUNEONCE_RETURN_IF_ERROR(AssumptionChecks::CheckConstantExtents(*shared, call));
  TUNEONCE_ASSIGN_OR_RETURN(const Target target, CurrentTarget(stream.api()));
  call.problem.target = &target;
  TUNEONCE_ASSIGN_OR_RETURN(SearchOutcome outcome, SearchCall(std::move(shared), stream, call, options));
  return std::move(*outcome.record);
}

Result<SearchOutcome> SearchCall(std::shared_ptr<const KernelDefinition> definition, StreamView stream,
                                 const BoundCall& call, const SearchOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  TUNEONCE_RETURN_IF_ERROR(CheckTables(*definition, call, stream));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Config> configs,
                            definition->space().Enumerate(*call.problem.target, &call.problem));
  TUNEONCE_ASSIGN_OR_RETURN(TrialMemory memory, TrialMemory::Create(stream.api(), options.memory_budget_bytes));
  SearchScope scope{definition->DimsString(call.problem.dims),
                    std::make_shared<const std::vector<Config>>(std::move(configs)),
                    VariantSet(),
                    {}};
  scope.began = began;
  return SearchCall(std::move(definition), stream, call, std::move(scope), options, std::move(memory));
}

Result<SearchOutcome> SearchCall(std::shared_ptr<const KernelDefinition> definition, StreamView stream,
                                 const BoundCall& call, SearchScope scope, const SearchOptions& options,
                                 TrialMemory memory) {
  TUNEONCE_ASSIGN_OR_RETURN(SearchPlan plan, PlanSearch(definition, call, std::move(scope), options));
  TUNEONCE_ASSIGN_OR_RETURN(SearchOutcome outcome, RunSearch(std::move(plan), stream, options, std::move(memory)));
  TUNEONCE_RETURN_IF_ERROR(AddRooflines(*definition, call.problem, stream.api(), outcome.record.get()));
  return outcome;
}

Result<TuningRecord> exhaustive_search(const SearchSpace& space, CUstream stream,
                                       const std::function<Geometry(const Config&)>& grid_fn,
                                       const std::function<KernelSource(const Config&)>& kernel_fn,
                                       const std::function<std::vector<TrialArgument>(const Config&)>& args_fn,
                                       const std::function<Hints(const Config&)>& hints_fn,
                                       const SearchOptions& options) {
  if (!grid_fn || !kernel_fn || !args_fn) {
    return InvalidArgumentError("exhaustive_search needs grid_fn, kernel_fn and args_fn");
  }
  TUNEONCE_ASSIGN_OR_RETURN(const DriverApi* api, DriverFor(options));
  Variant variant;
  variant.source = [](const Config&, const Problem&) { return KernelSource(); };  // Each candidate has its own.
  SourceTexts texts;
  return SearchWithoutDefinition(
      space, StreamView(*api, stream), variant, args_fn, options,
      [&](const Config& config, Candidate* candidate) -> Status {
        std::string at = " at config {" + config.ToString() + "}";
        TUNEONCE_ASSIGN_OR_RETURN(candidate->geometry, CallUser("grid_fn" + at, [&] { return grid_fn(config); }));
        TUNEONCE_ASSIGN_OR_RETURN(KernelSource source, CallUser("kernel_fn" + at, [&] { return kernel_fn(config); }));
        AddAxisOptions(config, &source);
        candidate->source = SharedSource(std::move(source), &texts);
        TUNEONCE_ASSIGN_OR_RETURN(candidate->hints, CallUser("hints_fn" + at, [&] {
                                    return hints_fn ? hints_fn(config) : Hints::OfConfig(config);
                                  }));
        return Status();
      });
}

Result<TuningRecord> exhaustive_search(const SearchSpace& space, CUstream stream, const Variant::LaunchFn& launch_fn,
                                       const ArgumentsFn& args_fn, const SearchOptions& options) {
  if (!launch_fn) return InvalidArgumentError("exhaustive_search needs launch_fn");
  TUNEONCE_ASSIGN_OR_RETURN(const DriverApi* api, DriverFor(options));
  return SearchWithoutDefinition(space, StreamView(*api, stream), Callable(launch_fn, ""), args_fn, options,
                                 [](const Config&, Candidate*) { return Status(); });
}

}  // namespace v0
}  // namespace tuneonce
