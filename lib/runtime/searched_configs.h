#ifndef TUNEONCE_LIB_RUNTIME_SEARCHED_CONFIGS_H_
#define TUNEONCE_LIB_RUNTIME_SEARCHED_CONFIGS_H_

#include <chrono>
#include <optional>
#include <vector>

#include "runtime/code_loader.h"
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
  explicit SearchedConfigs(const KernelParts& kernel) : to_(kernel), loader_(kernel) {}

  /// Searches the whole space at the bucket's bound, or else at the shape at hand, within the policy's budgets and the
  /// request's limits. It counts the search and tells the observer that it begins. Never returns nothing. Errors: those
  /// of the search.
  Result<std::optional<FoundConfig>> Find(const ConfigQuestion& question, StoreMiss* miss) override;
  /// Searches among `only` and the baseline in the same way. The record is of the key.
  Result<SearchOutcome> Compare(const TuneRequest& request, const KeyInStore& in_store, const Config& only);

 private:
  using Configs = std::vector<Config>;
  /// What the store knows that a search for a key starts from.
  struct Knowledge {
    std::vector<CandidateOutcome> outcomes;  ///< From an earlier search for the key.
    /// What that search selected, and the fastest others, which are selected if it is gone or fails now.
    Configs incumbents;
  };
  /// Races what `old`, a record from before an update (StoreMiss), selected, what tied with it, the two next fastest
  /// and the portfolio. Returns nothing if `old` is not of a search that covers this one, or one of the others is
  /// faster by more than a tie: then all is searched.
  Result<std::optional<SearchOutcome>> Confirm(const TuneRequest& request, const KeyInStore& in_store,
                                               const TuningRecord& old, std::chrono::steady_clock::time_point begin);
  /// `only`: null, or the configs that are tried beside the baseline.
  Result<SearchOutcome> Search(const TuneRequest& request, const KeyInStore& in_store, const Configs* only,
                               std::chrono::steady_clock::time_point begin);
  Result<SearchOutcome> SearchAtBound(const TuneRequest& request, const KeyInStore& in_store, const Configs* only,
                                      std::chrono::steady_clock::time_point begin);
  /// `begin`: when the search began.
  Result<SearchOutcome> SearchAt(const TuneRequest& request, const KeyInStore& in_store, const Configs* only,
                                 const TuningCall& at, std::chrono::steady_clock::time_point begin, TrialMemory memory);
  /// The configs that may run for `call`: of `only` those and the baselines, null: all.
  Result<std::shared_ptr<const Configs>> ConfigsAt(const TuneRequest& request, const KeyInStore& in_store,
                                                   const Configs* only, const BoundCall& call) const;
  Result<SearchPlan> PlanAt(const TuneRequest& request, const KeyInStore& in_store, const Configs* only,
                            const BoundCall& call, std::chrono::steady_clock::time_point begin,
                            const SearchOptions& options) const;
  /// Returns the policy's options within the request's limits.
  SearchOptions OptionsOf(const TuneRequest& request) const;
  /// Returns what a record of the key holds that was made by a search which was cut short, or which had another list of
  /// configs. `measured_at`: the dims at which this search measures; times at others are not kept.
  Knowledge KnowledgeOf(const KeyInStore& in_store, const BoundCall& call, const std::string& measured_at) const;
  /// Returns configs that were fast for other keys of the kernel, on this device or another one, in this version or
  /// another one, as far as the store knows. Empty where the search tries all configs.
  Configs PortfolioFor(const KeyInStore& in_store, std::size_t num_configs, const SearchOptions& options) const;
  /// `of_other_shapes`: only of keys of other shapes.
  Configs PortfolioOfOthers(const KeyInStore& in_store, bool of_other_shapes) const;
  /// Returns the configs that ended the process of an earlier search for this key.
  std::vector<KnownFatal> FatalAt(const TuningKey& key) const;

  const KernelParts to_;
  const CodeLoader loader_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_SEARCHED_CONFIGS_H_
