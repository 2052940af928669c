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

/// The largest difference between a candidate's outputs and the reference's, over all runs that were compared.
struct OutputDifference {
  std::string output;   ///< The parameter whose difference is largest in relation to its tolerance.
  double absolute = 0;  ///< The largest |candidate - reference| in that output, in the output's own units.
  /// The largest difference divided by the tolerance of its element. A value above 1 is a failure.
  double share_of_tolerance = 0;
};

/// A candidate that was measured.
struct Success {
  Config config;
  std::string variant;  ///< The variant that built it. Empty in a search without a definition.
  Measurement measurement;
  Geometry geometry;
  ResourceUse resources;
  Fingerprint artifact;   ///< The key of its code in a RecordStore (Artifact::key).
  Fingerprint identity;   ///< Fingerprint of its code and launch geometry (CandidateOutcome::identity).
  std::string toolchain;  ///< The toolchain that compiled it, with its version (Artifact::toolchain).
  /// Whether it may be as fast as the fastest candidate. False if it is certainly slower by more than 1 %.
  bool ties_with_fastest = true;
  /// The largest difference of its outputs from the reference's. The baseline is compared with its own first run. Empty
  /// if the outputs were not compared.
  std::optional<OutputDifference> largest_difference;
  /// How close this config came to the device's limits. Empty unless the definition declares the bytes and operations
  /// of a run (KernelDefinition::Work).
  std::optional<Roofline> roofline;
};

/// A config whose code and geometry equal those of another one, so that it was not measured.
struct Duplicate {
  Config config;
  Config same_as;  ///< The config that was measured in its place.
};

/// A variant that was not used to build a config, and the reason.
struct PassedOver {
  std::string variant;
  std::string reason;
};

/// A config that was built by another variant than the preferred one.
struct VariantSubstitution {
  Config config;
  std::string variant;    ///< The variant that built it.
  PassedOver instead_of;  ///< The preferred variant.
};

/// What a search cost.
struct TuningCost {
  double compile_seconds = 0;  ///< Sum over all compiles, in seconds: the time that one core would have needed.
  /// Time until the last candidate was compiled, in seconds. Trials may run meanwhile.
  double compile_wall_seconds = 0;
  /// Number of artifacts that were compiled. The code of the other candidates came from a cache or was equal to another
  /// candidate's.
  int num_compiled = 0;
  /// Device time of timed samples and their warm-up, in seconds, without cache flushes and verification.
  double gpu_seconds = 0;
  double wall_seconds = 0;        ///< Wall time of the whole search, in seconds.
  std::int64_t num_launches = 0;  ///< Number of launches of candidates' kernels, verification included.
  int num_rounds = 0;             ///< Number of rounds of the race, without its warm-up round.
  /// The most device memory in bytes that the search held at a time, besides the caller's tensors: copies of inputs,
  /// scratch, guard zones, workspaces, the reference, loaded code, the buffer that flushes the cache, and a bucket's
  /// tensors.
  std::size_t peak_bytes = 0;
  /// Number of worker processes that the search lost: a candidate crashed the worker, exceeded
  /// SearchOptions::candidate_deadline_ms or corrupted the worker's answer, or something else killed the process (such
  /// as the system, short of memory). A new worker starts when the search needs one again. 0 if candidates did not run
  /// in a worker (SearchOptions::isolation).
  int workers_replaced = 0;
};

/// The result of a search. It is plain data that outlives every context, and CompiledKernel launches its configs.
/// successes, failures, duplicates and not_measured together contain every config of the space.
struct TuningResult {
  std::string kernel;
  /// The selected config.
  Success best;
  std::vector<Success> successes;     ///< All candidates that were measured, fastest first.
  std::vector<Failure> failures;      ///< All candidates that failed, in the space's order.
  std::vector<Duplicate> duplicates;  ///< All configs whose code equals another one's, in the space's order.
  /// Configs that were not measured because a budget was used up, in the space's order.
  std::vector<Config> not_measured;
  /// Configs that a less preferred variant built, in the space's order.
  std::vector<VariantSubstitution> substitutions;
  std::optional<Success> baseline;  ///< The baseline's result. Empty without a baseline, or if it failed.
  /// The time of the baseline divided by the time of the best, over the rounds in which both ran. Never below 1,
  /// because the baseline is selected unless another config is faster by the margin. Empty without a baseline.
  std::optional<double> speedup_over_baseline;
  /// Whether the result is conclusive: another round was not likely to change the selected config. False if the budget
  /// or the rounds were used up first, or if candidates were not measured at all.
  bool is_conclusive = true;
  /// Name of the timer that timed the candidates (Timer::name): "cupti", "events".
  std::string timer;
  /// Whether candidates ran in a worker process (SearchOptions::isolation).
  bool is_isolated = false;
  /// By which fraction the best config ran slower in the second half of its rounds than in the first, mostly because
  /// the device's clock changed. Candidates are compared within rounds, so it does not affect the result. Negative if
  /// it ran faster. 0 if it ran in fewer than 8 rounds.
  double drift = 0;
  /// The device's state right before and right after the final race. Empty if unknown: without NVML, and on the CPU
  /// device.
  std::optional<DeviceReading> device_before, device_after;
  /// The conditions under which `best` was verified.
  Verification verification;
  /// Notes for the user about the measurement, one line each: another timer than usual, outputs not verified.
  std::vector<std::string> notes;
  TuningCost cost;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TUNING_RESULT_H_
