#ifndef TUNEONCE_LIB_SEARCH_SEARCH_CALL_H_
#define TUNEONCE_LIB_SEARCH_SEARCH_CALL_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/call_binder.h"
#include "search/candidate.h"
#include "search/extent_classes.h"
#include "search/trial_memory.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// The record of a search, and the code of it that stays loaded. Other code was unloaded when the search ended.
struct SearchOutcome {
  /// Never null. On the heap, because the thread of a host may have a small stack.
  std::unique_ptr<TuningRecord> record = std::make_unique<TuningRecord>();
  std::shared_ptr<const LoadedKernel> best;
  std::shared_ptr<const LoadedKernel> baseline;  ///< The baseline's code. Also null without TuningRecord::baseline.
};

/// exhaustive_search with a driver that is named, which may be none of the loaded ones (a wrapped one).
Result<TuningRecord> SearchDefinition(const KernelDefinition& definition, StreamView stream,
                                      const std::vector<Argument>& arguments, const SearchOptions& options = {});

/// exhaustive_search for arguments that are bound already. REQUIRES: `definition` was validated, and what `call` points
/// to outlives the call; `call.problem.target` is the current device's.
Result<SearchOutcome> SearchCall(std::shared_ptr<const KernelDefinition> definition, StreamView stream,
                                 const BoundCall& call, const SearchOptions& options);
/// A candidate that ended the process it was tried in, in an earlier search.
struct KnownFatal {
  CandidateOutcome failure;
  std::string toolchain;  ///< The toolchain that made its code. Code of another toolchain may be tried.
};
/// Over what a search goes.
struct SearchScope {
  std::string key;                                     ///< The key that it is for, in progress reports.
  std::shared_ptr<const std::vector<Config>> configs;  ///< That the definition's space lists.
  VariantSet left_out;
  std::vector<KnownFatal> fatal;        ///< Not tried again.
  std::optional<Config> baseline = {};  ///< In place of the space's, which may be none of `configs`.
  /// The launch that the search is for, where that is not the call which is measured; null: it is. Outlives the search.
  const BoundCall* launched = nullptr;
  bool is_on_fills = false;  ///< VerificationScope::is_on_fills.
  /// The extents that launches of the key may have. Empty: the selected config serves this call's dims only.
  std::optional<ExtentClasses> classes = {};
  // As SearchEngine::Start.
  std::optional<std::chrono::steady_clock::time_point> began = {};
  std::vector<CandidateOutcome> known = {};
  std::vector<Config> required = {};
  std::vector<Config> portfolio = {};
};
/// Searches with a scope, for a caller that holds memory of the same budget: a bucket's tensors. REQUIRES: CheckTables.
Result<SearchOutcome> SearchCall(std::shared_ptr<const KernelDefinition> definition, StreamView stream,
                                 const BoundCall& call, SearchScope scope, const SearchOptions& options,
                                 TrialMemory memory);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_SEARCH_CALL_H_
