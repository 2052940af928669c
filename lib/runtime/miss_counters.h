#ifndef TUNEONCE_LIB_RUNTIME_MISS_COUNTERS_H_
#define TUNEONCE_LIB_RUNTIME_MISS_COUNTERS_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
inline namespace v0 {

/// The counters of misses, with the names of Counters. Thread-safe.
struct MissCounters {
  std::atomic<std::int64_t> tunes{0};
  std::atomic<std::int64_t> stored_hits{0};
  std::atomic<std::int64_t> predictions{0};
  std::atomic<std::int64_t> waits{0};
  std::atomic<std::int64_t> frozen_misses{0};
  std::atomic<std::int64_t> failed_tunes{0};
  std::atomic<std::int64_t> tuning_ns{0};
  std::atomic<std::int64_t> tuning_gpu_ns{0};
  std::atomic<std::int64_t> capture_misses{0};
  std::atomic<std::int64_t> busy_elsewhere{0};
  std::atomic<std::int64_t> inputs_not_kept{0};
  std::atomic<std::int64_t> workers_replaced{0};
  /// By RecordMiss.
  std::array<std::atomic<std::int64_t>, kNumRecordMisses> store_misses{};
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_MISS_COUNTERS_H_
