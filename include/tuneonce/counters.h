#ifndef TUNEONCE_COUNTERS_H_
#define TUNEONCE_COUNTERS_H_

#include <cstdint>

namespace tuneonce {

/// What a TunedKernel did, since its Create.
struct Counters {
  std::int64_t hits = 0;           ///< Launches that found their key resident.
  std::int64_t tunes = 0;          ///< Searches made.
  std::int64_t stored_hits = 0;    ///< Keys served from a stored record, without a search.
  std::int64_t waits = 0;          ///< Launches that waited for another thread's tune.
  std::int64_t fallbacks = 0;      ///< Launches of the baseline or fallback instead of a tuned config.
  std::int64_t sealed_misses = 0;  ///< Of those: launches after Seal of keys that were not resident.
  std::int64_t failed_tunes = 0;   ///< Attempts to tune a key that failed; AutotunePolicy says when another follows.
  double tuning_seconds = 0;       ///< Wall time of searches.
  double tuning_gpu_seconds = 0;   ///< TuningCost::gpu_seconds of searches.
  std::int64_t loaded_kernels =
      0;  ///< Kernels loaded now: at most two per device, config and code (tuned and fallback), whatever the keys.
  std::int64_t capture_misses = 0;  ///< Of those and of errors: misses on a capturing stream.
  std::int64_t busy_elsewhere = 0;  ///< Launches that did not tune since another process tuned their key.
};

}  // namespace tuneonce

#endif  // TUNEONCE_COUNTERS_H_
