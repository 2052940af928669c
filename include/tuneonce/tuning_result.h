#ifndef TUNEONCE_TUNING_RESULT_H_
#define TUNEONCE_TUNING_RESULT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuneonce/artifact.h"
#include "tuneonce/geometry.h"
#include "tuneonce/trial.h"

namespace tuneonce {
inline namespace v0 {

/// Where a candidate's outputs lay farthest from the reference's, as seen in all runs that were compared.
struct OutputDifference {
  std::string output;   ///< The parameter whose difference is nearest to what is allowed.
  double absolute = 0;  ///< |candidate - reference| there at most, in the output's own units.
  double share_of_tolerance =
      0;  ///< At most: the difference divided by what is allowed for that element. Above 1: wrong.
};

/// A candidate that ran.
struct Success {
  Config config;
  std::string variant;  ///< What it was built by; empty in a search without a definition.
  Measurement measurement;
  Geometry geometry;
  ResourceUse resources;
  Fingerprint artifact;   ///< Artifact::key.
  Fingerprint identity;   ///< CandidateOutcome::identity.
  std::string toolchain;  ///< Artifact::toolchain.
  /// False if it is surely slower than the fastest, by more than 1 %.
  bool ties_with_fastest = true;
  /// From the reference; the baseline's own from its first run. Empty if its outputs were not compared.
  std::optional<OutputDifference> largest_difference;
  /// Empty unless the definition says what a run must move and compute.
  std::optional<Roofline> roofline;
};

/// A config whose code and geometry are those of another one, and which was therefore not measured again.
struct Duplicate {
  Config config;
  Config same_as;
};

/// A variant that a config was not built by, and why.
struct PassedOver {
  std::string variant;
  std::string reason;
};

/// A config that was built by another variant than the one preferred.
struct VariantSubstitution {
  Config config;
  std::string variant;  ///< What it was built by.
  PassedOver instead_of;
};

/// What a search cost.
struct TuningCost {
  double compile_seconds = 0;       ///< Of all compiles together: what one core would have taken.
  double compile_wall_seconds = 0;  ///< Until the last candidate was compiled; trials may lie within it.
  int num_compiled = 0;             ///< Artifacts made; the other candidates' came from a cache or were the same.
  double gpu_seconds = 0;           ///< Timed samples and their warm-up, without flushes and verification.
  double wall_seconds = 0;
  std::int64_t num_launches = 0;  ///< Of candidates' kernels, verification included.
  int num_rounds = 0;             ///< Of the race, without its warm-up.
  /// Device memory that the search held at most, beside what the caller passed: copies of inputs, scratch, guard zones,
  /// workspaces, the reference, loaded code, the buffer that flushes the cache; a bucket's tensors too.
  std::size_t peak_bytes = 0;
  /// Worker processes that candidates ended, each of which was replaced (SearchOptions::isolation).
  int workers_replaced = 0;
};

/// The result of a search: plain data, which outlives every context; CompiledKernel launches what it names. successes +
/// failures + duplicates + not_measured are the whole space.
struct TuningResult {
  std::string kernel;
  Success best;
  std::vector<Success> successes;                  ///< Fastest first.
  std::vector<Failure> failures;                   ///< In the space's order.
  std::vector<Duplicate> duplicates;               ///< In the space's order.
  std::vector<Config> not_measured;                ///< In the space's order: what a budget that ended left out.
  std::vector<VariantSubstitution> substitutions;  ///< In the space's order.
  std::optional<Success> baseline;                 ///< Empty if there is none, or it failed.
  /// baseline / best in the rounds that both ran, never below 1: best is the baseline unless something else beat it by
  /// the margin. Empty without a baseline.
  std::optional<double> speedup_over_baseline;
  /// True if another round was not likely to change the choice; false if the budget or the rounds ran out first, or if
  /// candidates were not measured at all.
  bool is_certain = true;
  /// How candidates were timed: "cupti", "events".
  std::string timer;
  /// True if candidates ran in a worker process (SearchOptions::isolation).
  bool is_isolated = false;
  /// How much slower the best ran in the second half of its rounds than in the first: what the device's clock did.
  /// Candidates are compared within rounds, so this does not decide anything. 0 for less than 8 rounds.
  double drift = 0;
  /// The device right before the race that decided and right after it. Empty where nothing is known: without NVML, and
  /// on the CPU device.
  std::optional<DeviceReading> device_before, device_after;
  /// What `best` was verified under.
  Verification verification;
  /// What the user should know about how was measured, one line each: another timer than usual, outputs not verified.
  std::vector<std::string> notes;
  TuningCost cost;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TUNING_RESULT_H_
