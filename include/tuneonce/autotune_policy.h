#ifndef TUNEONCE_AUTOTUNE_POLICY_H_
#define TUNEONCE_AUTOTUNE_POLICY_H_

#include <cstddef>
#include <memory>
#include <string>

#include "tuneonce/rank_group.h"
#include "tuneonce/search_options.h"

namespace tuneonce {
inline namespace v0 {

class AutotuneObserver;
class RecordStore;
enum class RecordMatch;

/// How a TunedKernel decides. All defaults suit an inference engine.
struct AutotunePolicy {
  /// What a launch does whose key it meets for the first time. Nothing else multiplies with it, and
  /// TunedKernel::Seal ends all of it. docs/modes.md has the whole table.
  enum class Mode {
    /// Takes the stored choice, else searches now; other threads and processes that want the key wait (default).
    kTune,
    /// Takes the stored choice; else the stand-in runs, and the key waits for a safe point
    /// (TunedKernel::AtSafePoint, or Warmup), so that no launch waits for a search, and nothing is measured beside
    /// others' work.
    kTuneInBackground,
    /// Takes the stored choice; else the stand-in runs. Never a search, never a compile: stored code is loaded.
    kStoredOnly,
    /// The stand-in runs, always. Nothing is measured, stored or looked up.
    kBaselineOnly,
  };
  /// Where DISABLE_AUTOTUNE (or TUNEONCE_DISABLE_AUTOTUNE) is set in the Runtime's environment, whatever is said here,
  /// kBaselineOnly.
  Mode mode = Mode::kTune;
  /// Of the search on a miss. Its defaults, but for `quiet`, which is true here.
  SearchOptions search = QuietSearch();
  /// Where records are remembered, and the winners' artifacts, if the store keeps any and `search.compile.cache` is
  /// null. Null (default): that of `search.runtime`, the user's file on disk.
  std::shared_ptr<RecordStore> store;
  /// The weakest match of a stored record that is used without a search. Default kExact. kOtherDriver keeps choices
  /// across driver updates; kOtherDevice serves a record of any device, for a fleet that ships one.
  RecordMatch weakest_match = {};
  /// Store what was measured under a profiler (CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH). Default false: it is
  /// used, but not remembered.
  bool store_under_profiler = false;
  /// Serve a record of a search that was cut short (TuningRecord::is_complete). Default false: its key is searched
  /// again, and the record that measured more is kept; where that search fails, the incomplete record serves.
  bool accept_incomplete = false;
  /// How long a launch (of kTune) or a warm-up waits for another process that tunes the same key and lives. After it
  /// the baseline runs (Counters::busy_elsewhere), never a second search beside the first, and later launches look
  /// again. Default two minutes: twice what a search of 30 configs takes that are compiled on a busy machine. 0: it
  /// does not wait.
  int longest_wait_ms = 120000;
  /// What a launch does whose key could not be tuned.
  enum class OnTuneError {
    kUseBaseline,  ///< Launch the stand-in; the observer hears why (default).
    kReturn,       ///< Return the error, where the launch searched or waited for the search; later ones: the stand-in.
  };
  OnTuneError on_tune_error = OnTuneError::kUseBaseline;
  /// When a key is tried again whose tune failed for a reason that may pass (IsTransient), or which another process
  /// tuned: after this long, doubled at each failure up to five minutes; until then the baseline runs. Other failures
  /// stay. Default one second: as short as a lack of processes or memory lasts.
  int retry_after_ms = 1000;
  /// Tune a bucket at its upper bound where memory allows; else at the shape at hand. Default true. Off: always at the
  /// shape at hand.
  bool tune_at_bucket_bound = true;
  /// Most keys that are resident, each with its choice and its stand-in. Beyond it those that became resident first are
  /// dropped, at the next safe point (AtSafePoint, Warmup), never by a launch, and of a sealed kernel only those that
  /// came later; their next launch is a miss, which the store serves. Default 65536: more shapes than a server meets in
  /// a day, and some ten megabytes.
  std::size_t max_resident_keys = 65536;
  /// kTuneInBackground: device memory, in each context, that a kernel may hold between a miss and the next safe point
  /// for copies of what the launch read, so that the key is tuned on real data. Keys whose copies do not fit, or cannot
  /// be had, are tuned on what the definition declares (Parameter::ForWarmup). Default 256 MiB; 0: nothing is copied.
  std::size_t kept_inputs_bytes = std::size_t{256} << 20;
  /// Told what happens on misses. Null (default): nobody; warnings go to the Runtime's log all the same.
  std::shared_ptr<AutotuneObserver> observer;
  /// Kernels with the same name here, the same configs and the same key words share one choice: the first to meet a key
  /// tunes it, and the others compile that config, unmeasured. For a backward pass that must, or may, run with the
  /// forward's config. Empty (default): each kernel has choices of its own.
  std::string shared_choice;
  /// Other processes, or threads, that are to run the same config of each key. Default: none (docs/ranks.md).
  RankPolicy ranks;

 private:
  static SearchOptions QuietSearch() {
    SearchOptions options;
    options.quiet = true;
    return options;
  }
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_AUTOTUNE_POLICY_H_
