#ifndef TUNEONCE_BENCHMARKS_SELECTION_RULES_H_
#define TUNEONCE_BENCHMARKS_SELECTION_RULES_H_

#include <cstdint>

#include "trace.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {

/// L2 flush before each cold sample, on the machine of the traces.
inline constexpr double kFlushUs = 22;

/// How one replayed search ended.
struct Selection {
  std::size_t config = 0;
  double gpu_us = 0;        ///< Of all its samples, flushes and warm-ups included.
  Measurement measurement;  ///< Of the config chosen.
};

/// Our rule: Race over rounds drawn in random order, all samples of a round from one row.
Selection SelectByRace(const Trace& trace, std::uint64_t seed);

/// cuTile's exhaustive_search (cuda-tile 1.7.0): per config 3 warm-ups, then batches of 5 samples until the half 95 %
/// interval is within 1 % or 0.5 us (or 1000 samples); the first 5 to converge are those with the lowest means so far,
/// and others stop once their interval lies above these five. Lowest mean wins.
Selection SelectAsCutile(const Trace& trace, std::uint64_t seed);

/// Triton's do_bench (triton 3.6): per config 25 ms of warm-up and 100 ms of samples, both counted by an estimate from
/// 5 runs. Lowest median wins.
Selection SelectAsTriton(const Trace& trace, std::uint64_t seed);

}  // namespace tuneonce

#endif  // TUNEONCE_BENCHMARKS_SELECTION_RULES_H_
