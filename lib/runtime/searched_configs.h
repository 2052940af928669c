#ifndef TUNEONCE_LIB_RUNTIME_SEARCHED_CONFIGS_H_
#define TUNEONCE_LIB_RUNTIME_SEARCHED_CONFIGS_H_

#include <chrono>
#include <optional>
#include <vector>

#include "runtime/config_provider.h"
#include "runtime/kernel_parts.h"
#include "search/search_call.h"
#include "search/search_plan.h"
#include "search/trial_memory.h"
#include "tuneonce/autotune_policy.h"

namespace tuneonce {
inline namespace v0 {

/// The configs that searches select. REQUIRES: `kernel`'s parts outlive it.
class SearchedConfigs : public ConfigProvider {
 public:
  explicit SearchedConfigs(const KernelParts& kernel) : to_(kernel) {}

  /// Searches the whole space at the bucket's bound, or else at the shape at hand, within the policy's budgets and the
  /// request's limits. It counts the search and tells the observer that it begins. Never returns nothing. Errors: those
  /// of the search.
  Result<std::optional<FoundConfig>> Find(const ConfigQuestion& question, StoreMiss* miss) override;
  /// Searches among `only` and the baseline in the same way. The record is of the key.
  Result<SearchOutcome> Compare(const TuneRequest& request, const KeyInStore& in_store, const Config& only);

 private:
  /// `only`: null, or the one config that is tried beside the baseline.
  Result<SearchOutcome> Search(const TuneRequest& request, const KeyInStore& in_store, const Config* only);
  Result<SearchOutcome> SearchAtBound(const TuneRequest& request, const KeyInStore& in_store, const Config* only,
                                      std::chrono::steady_clock::time_point begin);
  /// `begin`: from when on the budget counts.
  Result<SearchOutcome> SearchAt(const TuneRequest& request, const KeyInStore& in_store, const Config* only,
                                 const TuningCall& at, std::chrono::steady_clock::time_point begin, TrialMemory memory);
  Result<SearchPlan> PlanAt(const TuneRequest& request, const KeyInStore& in_store, const Config* only,
                            const BoundCall& call, const SearchOptions& options) const;
  /// Returns the policy's options within the request's limits, of which what passed since `begin` is spent.
  SearchOptions OptionsOf(const TuneRequest& request, std::chrono::steady_clock::time_point begin) const;
  /// Returns the configs that ended the process of an earlier search for this key.
  std::vector<KnownFatal> FatalAt(const TuningKey& key) const;

  const KernelParts to_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_SEARCHED_CONFIGS_H_
