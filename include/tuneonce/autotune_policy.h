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

/// Options of a TunedKernel: when it tunes, and what it does when it cannot. All defaults suit an inference engine.
struct AutotunePolicy {
  /// What a launch does when its key is new. TunedKernel::Freeze ends all tuning, whatever the mode. docs/modes.md has
  /// a table of all cases.
  enum class Mode {
    /// Use the stored config, or search now. Other threads and processes that need the key wait. This is the default.
    kTuneOnMiss,
    /// Use the stored config. Without one, run the fallback config and keep the key pending until the host calls
    /// TunedKernel::TunePending or Warmup. No launch waits for a search, and nothing is measured while other work runs.
    kTuneDeferred,
    /// Use the stored config. Without one, run the fallback config. Nothing is searched or compiled, because stored
    /// code is loaded.
    kStoredOnly,
    /// Always run the fallback config. Nothing is measured, stored or looked up.
    kFallbackOnly,
  };
  /// The mode of the kernel. The environment variable DISABLE_AUTOTUNE (or TUNEONCE_DISABLE_AUTOTUNE) of the Runtime
  /// overrides it with kFallbackOnly.
  Mode mode = Mode::kTuneOnMiss;
  /// Options of the searches that misses start. They have SearchOptions' defaults, except that `quiet` is true.
  SearchOptions search = QuietSearch();
  /// Where records are stored, and artifacts too if `search.compile.cache` is null. Null (default): the store of
  /// `search.runtime`, which is the user's file on disk.
  std::shared_ptr<RecordStore> store;
  /// The weakest match of a stored record that is used without a search. Default kExact. kOtherDriver keeps selected
  /// configs across driver updates. kOtherDevice accepts a record of any device, for a fleet that ships one.
  RecordMatch min_match = {};
  /// Whether results that were measured under a profiler (CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH) are stored.
  /// Default false: they serve this process only.
  bool store_under_profiler = false;
  /// Whether a record of a search that was cut short (TuningRecord::is_complete) is used. Default false: its key is
  /// searched again, and the record that measured more is kept. If that search fails, the incomplete record is used.
  bool accept_incomplete = false;
  /// How long a launch (in mode kTuneOnMiss) or a warm-up waits for another process that tunes the same key, in
  /// milliseconds. After that, launches run the fallback config (Counters::busy_elsewhere) and later launches check
  /// again. Two processes never search for the same key at the same time. Default two minutes, which is twice as long
  /// as a search of 30 configs takes when they are compiled on a busy machine. 0: do not wait.
  int max_wait_ms = 120000;
  /// What a launch does when its key could not be tuned.
  enum class OnTuneError {
    /// Run the fallback config and notify the observer (default). The launch still returns an error if the context was
    /// lost, if the search was interrupted (SearchOptions::interrupted) or if it damaged the launch's inputs
    /// (StatusCode::kDataLoss).
    kUseFallback,
    /// Return the error from the launch that searched or waited for the search. Later launches run the fallback config.
    kReturn,
  };
  OnTuneError on_tune_error = OnTuneError::kUseFallback;
  /// How long to wait before a key is tuned again, in milliseconds, when its tune failed for a transient reason
  /// (IsTransient) or another process tuned it. The time doubles with each failure, up to five minutes, and launches
  /// run the fallback config meanwhile. After other failures, launches do not try the key again, but
  /// TunedKernel::Warmup and WarmupAll do. Default one second, which is how long a shortage of processes or memory
  /// lasts.
  int retry_after_ms = 1000;
  /// Whether a bucket is tuned at its upper bound where memory allows. If false, or if memory does not suffice, it is
  /// tuned at the launch's own shape. Default true.
  bool tune_at_bucket_bound = true;
  /// Maximum number of keys that are loaded, each with its selected config and its fallback config. When it is
  /// exceeded, the oldest keys are dropped by the next call of TunePending or Warmup, never by a launch. After Freeze
  /// only keys that were loaded later are dropped. The next launch of a dropped key is a miss, which the store serves.
  /// Default 65536: more shapes than a server meets in a day, in about ten megabytes.
  std::size_t max_ready_keys = 65536;
  /// In mode kTuneDeferred, the device memory in bytes that the kernel may hold in each context for copies of the
  /// inputs of pending keys, so that each key is tuned on real data. Keys whose inputs do not fit, or cannot be copied,
  /// are tuned on the values that the definition declares (Parameter::ForWarmup). Default 256 MiB. 0: no inputs are
  /// copied.
  std::size_t kept_inputs_bytes = std::size_t{256} << 20;
  /// Receives notifications about misses. Null (default): no notifications. Warnings go to the Runtime's log in any
  /// case.
  std::shared_ptr<AutotuneObserver> observer;
  /// Name of a group of kernels that share selected configs: kernels with the same name here, the same configs and the
  /// same values of TuningKey::key_words run the same config. The first kernel that meets a key tunes it, and the
  /// others compile that config without measuring it. Use it for a backward pass that must run with the forward pass's
  /// config. Empty (default): each kernel selects its own configs.
  std::string selection_group;
  /// Other processes or threads that run the same config for each key. Default: none. docs/ranks.md has the details.
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
