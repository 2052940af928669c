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
  /// Where records are remembered, and the winners' artifacts, if the store keeps any and `search.compile.cache` is
  /// null. Null (default): DefaultRecordStore(), the user's file on disk.
  std::shared_ptr<RecordStore> store;
  /// The weakest match of a stored record that is used without a search. Default kExact. kOtherDriver keeps choices
  /// across driver updates; kOtherDevice serves a record of any device, for a fleet that ships one.
  RecordMatch weakest_match = RecordMatch::kExact;
  /// Store what was measured under a profiler (Environment::profiler). Default false: it is used, but not remembered.
  bool store_under_profiler = false;
  /// What other threads do that ask for a key which one thread tunes just now.
  enum class OnMiss {
    kWait,         ///< Wait for the outcome (default).
    kUseBaseline,  ///< Launch the baseline meanwhile.
  };
  OnMiss on_miss = OnMiss::kWait;
  /// Neither measure nor store: launch the baseline, else the fallback, else the first valid config.
  /// Default: Environment::disable_autotune, read once at Create.
  std::optional<bool> disabled;
  /// Tune a bucket at its upper bound where memory allows; else at the shape at hand. Default true. Off: always at the
  /// shape at hand.
  bool tune_at_bucket_bound = true;
  /// Called on the tuning thread after each search with its result. Exceptions from it are dropped.
  std::function<void(const TuningResult&)> on_tuned;
  /// Called with one line about what does not work and what is done instead: a store that cannot be opened or written,
  /// say. Exceptions from it are dropped. Null (default): the line goes to stderr, each line once per process.
  std::function<void(const std::string&)> on_warning;

 private:
  static SearchOptions QuietSearch() {
    SearchOptions options;
    options.quiet = true;
    return options;
  }
};

}  // namespace tuneonce

#endif  // TUNEONCE_RUNTIME_AUTOTUNE_POLICY_H_
