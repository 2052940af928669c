#ifndef TUNEONCE_AUTOTUNE_POLICY_H_
#define TUNEONCE_AUTOTUNE_POLICY_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "tuneonce/search_options.h"

namespace tuneonce {

class AutotuneObserver;
class RecordStore;
enum class RecordMatch;

/// How a TunedKernel decides. All defaults suit an inference engine.
struct AutotunePolicy {
  /// Of the search on a miss. Its defaults, but for `quiet`, which is true here.
  SearchOptions search = QuietSearch();
  /// Where records are remembered, and the winners' artifacts, if the store keeps any and `search.compile.cache` is
  /// null. Null (default): DefaultRecordStore(), the user's file on disk.
  std::shared_ptr<RecordStore> store;
  /// The weakest match of a stored record that is used without a search. Default kExact. kOtherDriver keeps choices
  /// across driver updates; kOtherDevice serves a record of any device, for a fleet that ships one.
  RecordMatch weakest_match = {};
  /// Store what was measured under a profiler (Environment::profiler). Default false: it is used, but not remembered.
  bool store_under_profiler = false;
  /// Serve a record of a search that was cut short (TuningRecord::is_complete). Default false: its key is searched
  /// again, and the record that measured more is kept; where that search fails, the incomplete record serves.
  bool accept_incomplete = false;
  /// What launches do whose key another thread, or another process that shares the store, tunes just now.
  enum class OnMiss {
    kWait,         ///< Wait for the outcome (default); for another process's `longest_wait_ms` at most.
    kUseBaseline,  ///< Launch the baseline meanwhile.
  };
  OnMiss on_miss = OnMiss::kWait;
  /// How long a launch or warm-up waits for another process that tunes the same key and lives. After it the baseline
  /// runs (Counters::busy_elsewhere), never a second search beside the first, and later launches look again. Default two
  /// minutes: twice what a search of 30 configs takes that are compiled on a busy machine.
  int longest_wait_ms = 120000;
  /// What a launch does whose key could not be tuned.
  enum class OnTuneError {
    kUseBaseline,  ///< Launch the baseline; the observer hears why (default).
    kReturn,       ///< Return the error, where the launch searched or waited for the search; later ones: the baseline.
  };
  OnTuneError on_tune_error = OnTuneError::kUseBaseline;
  /// When a key is tried again whose tune failed for a reason that may pass (IsTransient), or which another process
  /// tuned: after this long, doubled at each failure up to five minutes; until then the baseline runs. Other failures
  /// stay. Default one second: as short as a lack of processes or memory lasts.
  int retry_after_ms = 1000;
  /// Neither measure nor store: launch the stand-in: the baseline, else the space's fallback, else the first valid config.
  /// Default: Environment::disable_autotune, read once at Create.
  std::optional<bool> disabled;
  /// Tune a bucket at its upper bound where memory allows; else at the shape at hand. Default true. Off: always at the
  /// shape at hand.
  bool tune_at_bucket_bound = true;
  /// Most keys that are resident, each with its choice and its stand-in. Beyond it those that became resident first are
  /// dropped, at the next safe point (Warmup), never by a launch; their next launch is a miss, which the store
  /// serves. Default 65536: more shapes than a server meets in a day, and some ten megabytes.
  std::size_t max_resident_keys = 65536;
  /// Told what happens on misses. Null (default): only warnings are said, on stderr.
  std::shared_ptr<AutotuneObserver> observer;
  /// Kernels with the same name here, the same configs and the same key words share one choice: the first to meet a key
  /// tunes it, and the others compile that config, unmeasured. For a backward pass that must, or may, run with the
  /// forward's config. Empty (default): each kernel has choices of its own.
  std::string shared_choice;

 private:
  static SearchOptions QuietSearch() {
    SearchOptions options;
    options.quiet = true;
    return options;
  }
};

}  // namespace tuneonce

#endif  // TUNEONCE_AUTOTUNE_POLICY_H_
