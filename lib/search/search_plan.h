#ifndef TUNEONCE_LIB_SEARCH_SEARCH_PLAN_H_
#define TUNEONCE_LIB_SEARCH_SEARCH_PLAN_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "search/candidate.h"
#include "search/finalist_checks.h"
#include "search/search_call.h"
#include "search/search_engine.h"
#include "search/trial_memory.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// A search that is ready to run: its configs, and how each is planned when it is tried.
struct SearchPlan {
  std::string kernel;
  std::string key;  ///< The key that it is for, in progress reports.
  Target target;
  std::optional<Config> baseline;
  std::vector<KnownFatal> fatal;
  ConfigPlanner planner;
  SearchEngine::Start start;
  std::string note;  ///< A note for the user about the selection of candidates; may be empty.
  /// What finalists are verified for besides the measured call. Empty in a search without a definition.
  std::optional<VerificationScope> verification;
};

/// Makes a plan that calls the definition's functions for each config that is tried. REQUIRES: what `call` points to
/// outlives the plan; CheckTables, of a caller's call. Errors: as exhaustive_search, before anything is compiled.
Result<SearchPlan> PlanSearch(const std::shared_ptr<const KernelDefinition>& definition, const BoundCall& call,
                              SearchScope scope, const SearchOptions& options);
/// Runs a planned search on a stream of its own, and waits until nothing uses the caller's tensors any more. Errors: as
/// SearchEngine::Run, TrialTensors::CheckOutputs and SearchRunner::Create.
Result<SearchOutcome> RunSearch(SearchPlan plan, StreamView stream, const SearchOptions& options, TrialMemory memory);
/// Adds rooflines: what the definition states that a run must move and compute, in relation to the device's peaks.
Status AddRooflines(const KernelDefinition& definition, const Problem& problem, const DriverApi& api,
                    TuningRecord* record);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_SEARCH_PLAN_H_
