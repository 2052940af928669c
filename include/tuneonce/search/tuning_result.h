#ifndef TUNEONCE_SEARCH_TUNING_RESULT_H_
#define TUNEONCE_SEARCH_TUNING_RESULT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuneonce/measure/measurement.h"
#include "tuneonce/search/candidate.h"
#include "tuneonce/search/failure.h"

namespace tuneonce {

/// A candidate that ran.
struct Success {
  Config config;
  std::string variant;  ///< What it was built by; empty in a search without a definition.
  Measurement measurement;
  Geometry geometry;
  ResourceUse resources;
  /// Its code, for `best` and `baseline`; null in `successes`, since losers are unloaded when a search ends.
  std::shared_ptr<const LoadedKernel> kernel;
};

/// A config whose code and geometry are those of another one, and which was therefore not measured again.
struct Duplicate {
  Config config;
  Config same_as;
};

/// A config that was built by another variant than the one preferred.
struct VariantFallback {
  Config config;
  std::string variant;  ///< What it was built by.
  PassedOver instead_of;
};

/// What a search cost.
struct TuningCost {
  double compile_seconds = 0;       ///< Of all compiles together: what one core would have taken.
  double compile_wall_seconds = 0;  ///< Until the last candidate was compiled; trials may lie within it.
  int num_compiled = 0;             ///< Artifacts made; the other candidates' came from a cache or were the same.
  double gpu_seconds = 0;           ///< Inside the launches of trials.
  double wall_seconds = 0;
  std::int64_t num_launches = 0;
};

/// The result of a search. successes + failures + duplicates are the whole space.
struct TuningResult {
  std::string kernel;
  Success best;
  std::vector<Success> successes;          ///< Fastest first.
  std::vector<Failure> failures;           ///< In the space's order.
  std::vector<Duplicate> duplicates;       ///< In the space's order.
  std::vector<VariantFallback> fallbacks;  ///< In the space's order.
  std::optional<Success> baseline;         ///< Empty if there is none, or it failed.
  /// baseline / best, never below 1: best is the baseline unless something else beat it. Empty without a baseline.
  std::optional<double> speedup_over_baseline;
  TuningCost cost;
};

}  // namespace tuneonce

#endif  // TUNEONCE_SEARCH_TUNING_RESULT_H_
