#ifndef TUNEONCE_RUNTIME_AUTOTUNE_POLICY_H_
#define TUNEONCE_RUNTIME_AUTOTUNE_POLICY_H_

#include <functional>
#include <memory>
#include <optional>

#include "tuneonce/search/exhaustive_search.h"
#include "tuneonce/store/record_store.h"

namespace tuneonce {

/// How a TunedKernel decides. All defaults suit an inference engine.
struct AutotunePolicy {
  /// Of the search on a miss. Its defaults, but for `quiet`, which is true here.
  SearchOptions search = QuietSearch();
  /// Where records are remembered. Null (default): MemoryStore::Process().
  std::shared_ptr<RecordStore> store;
  /// Neither measure nor store: launch the baseline, else the fallback, else the first valid config.
  /// Default: Environment::disable_autotune, read once at Create.
  std::optional<bool> disabled;
  /// Tune a bucket at its upper bound where memory allows; else at the shape at hand. Default true. Off: always at the
  /// shape at hand.
  bool tune_at_bucket_bound = true;
  /// Called on the tuning thread after each search with its result. Exceptions from it are dropped.
  std::function<void(const TuningResult&)> on_tuned;

 private:
  static SearchOptions QuietSearch() {
    SearchOptions options;
    options.quiet = true;
    return options;
  }
};

}  // namespace tuneonce

#endif  // TUNEONCE_RUNTIME_AUTOTUNE_POLICY_H_
