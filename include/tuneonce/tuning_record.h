#ifndef TUNEONCE_TUNING_RECORD_H_
#define TUNEONCE_TUNING_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuneonce/artifact.h"
#include "tuneonce/config.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/geometry.h"
#include "tuneonce/result.h"
#include "tuneonce/trial.h"

namespace tuneonce {
inline namespace v0 {

/// The key of a tuning record: the kernel, the values that determine a launch's key, and the device. It has value
/// semantics.
struct TuningKey {
  std::string kernel;  ///< Name of the kernel, for people.
  /// Fingerprint of the kernel's definition and sources, without its list of configs and its tolerances. For a kernel
  /// with AutotunePolicy::selection_group, fingerprint of the group's name and the configs.
  Fingerprint kernel_fingerprint;
  /// The values that determine the launch's key, encoded as numbers: dims (rounded by bucket), dtypes, scalars, and the
  /// variants that the arguments exclude.
  std::vector<std::uint64_t> key_words;
  std::string key_text;  ///< `key_words` as text for people: "M<=4096, N=1024, x:float32".
  std::string device_name;
  int capability = 0;  ///< Compute capability as one number: 90 for 9.0, and 0 on the CPU device.
  int num_sms = 0;
  int driver_version = 0;  ///< 1000 * major + 10 * minor, as cuDriverGetVersion returns it.

  /// Returns whether both keys have the same device name, compute capability and number of multiprocessors. The
  /// driver's version is not compared.
  TUNEONCE_API bool SameDevice(const TuningKey& other) const;
  /// Returns whether both keys have the same `kernel_fingerprint` and the same `key_words`. The kernel's name, the
  /// device and the driver's version are not compared.
  TUNEONCE_API bool SameKernel(const TuningKey& other) const;
  /// Returns whether both keys have the same kernel name and `key_words`, but different kernel fingerprints: the
  /// kernel's definition or sources changed in between.
  TUNEONCE_API bool IsOtherSource(const TuningKey& other) const;
};

// The enums below are stored by the numbers and names of lib/store/stored_enums.h. A new value must be added there too.

/// The values that tensors had while the selected config was measured.
enum class TunedInputs {
  kUnknown,
  kCaller,    ///< The arguments of the caller's launch.
  kRepeated,  ///< Scratch memory of a bucket's size, filled by repeating the caller's arguments.
  kFill,      ///< The values that the definition declares for warm-ups.
};

/// Why the config was selected.
enum class SelectionReason {
  kUnknown,
  kFastest,      ///< No other config was as fast.
  kTieBaseline,  ///< Other configs were as fast, and this one is the baseline.
  kTieEarliest,  ///< Other configs were as fast, and this one is the first of them in the space's order.
  /// The baseline was selected, because other configs were faster by less than SearchOptions::baseline_margin.
  kBaselineByMargin,
  kPinned,     ///< A person or a host pinned it (TunedKernel::Pin).
  kImported,   ///< It was imported (`tuneonce records import --selections`).
  kPredicted,  ///< A model ranked it first. It was not measured for this key.
};

/// The largest difference between a candidate's outputs and the reference's, over all runs that were compared.
struct OutputDifference {
  std::string output;   ///< The parameter whose difference is largest in relation to its tolerance.
  double absolute = 0;  ///< The largest |candidate - reference| in that output, in the output's own units.
  /// The largest difference divided by the tolerance of its element. A value above 1 is a failure.
  double share_of_tolerance = 0;
};

/// A variant that was not used to build a config, and the reason.
struct PassedOver {
  std::string variant;
  std::string reason;
};

/// The outcome of one config in a search. Copyable plain data.
struct CandidateOutcome {
  Config config;
  OutcomeKind kind = OutcomeKind::kNotMeasured;
  /// Fingerprint of the candidate's code and launch geometry, so that results stay valid when the list of configs
  /// changes. Zero if the candidate was not compiled, or did not run.
  Fingerprint identity;
  std::string variant;  ///< The variant that built it. Empty if none did, and in a search without a definition.
  /// The variants that are preferred to `variant`, and why they did not build the config.
  std::vector<PassedOver> passed_over;
  std::string message;            ///< For a failure, the message of the tool or driver.
  bool is_transient = false;      ///< For a failure, whether another search may measure the candidate (IsTransient).
  std::optional<Config> same_as;  ///< For kDuplicate, the config that was measured in its place.

  // For kMeasured. A kPredicted candidate has Measurement::mean_us alone.
  Measurement measurement;
  Geometry geometry;
  ResourceUse resources;
  /// The key of its code in a RecordStore (Artifact::key). Zero if the code is not kept.
  Fingerprint artifact;
  std::string toolchain;  ///< The toolchain that compiled it, with its version (Artifact::toolchain).
  /// Whether it may be as fast as the fastest candidate. False if it is certainly slower by more than 1 %.
  bool ties_with_fastest = false;
  /// The largest difference of its outputs from the reference's. The baseline is compared with its own first run. Empty
  /// if the outputs were not compared.
  std::optional<OutputDifference> largest_difference;
  /// How close this config came to the device's limits. Empty unless the definition declares the bytes and operations
  /// of a run (KernelDefinition::Work).
  std::optional<Roofline> roofline;
  /// Energy of a launch in millijoules, for the finalists of a search with SearchOptions::measure_energy. Empty if it
  /// is unknown.
  std::optional<double> energy_mj;

  /// Returns the outcome of a candidate that failed.
  static CandidateOutcome Failed(Config config, OutcomeKind kind, std::string message, bool is_transient = false) {
    CandidateOutcome outcome;
    outcome.config = std::move(config);
    outcome.kind = kind;
    outcome.message = std::move(message);
    outcome.is_transient = is_transient;
    return outcome;
  }
  /// Returns whether the candidate failed.
  bool failed() const { return IsFailure(kind); }
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

/// A candidate that ended the process in which it ran.
struct FatalCandidate {
  Config config;
  std::string reason;
};

/// One row of an imported record (TuningRecord::rows): the config for one extent of the dim TuningRecord::nearest_dim.
struct ImportedRow {
  std::int64_t at = 0;
  Config config;
};

/// What is known of a key: the config that was selected for it, why, and, if a search selected it, every candidate of
/// that search. exhaustive_search returns a record, and stores keep records. Copyable plain data that outlives every
/// context. Its configs are not tied to a SearchSpace; Config::IsSame matches them with the configs of a space.
struct TUNEONCE_API TuningRecord {
  /// The kernel, the launch's key and the device. A search without a store sets the kernel's name and the device alone.
  TuningKey key;
  /// The selected config. Other code for the same config than CandidateOutcome::identity states was not verified.
  CandidateOutcome best;
  SelectionReason reason = SelectionReason::kUnknown;
  std::optional<CandidateOutcome> baseline;  ///< The definition's baseline. Empty without one, or if it failed.
  /// The time of the baseline divided by the time of the best, over the rounds in which both ran. Never below 1,
  /// because the baseline is selected unless another config is faster by the margin. Empty without a baseline.
  std::optional<double> speedup_over_baseline;
  /// Every candidate of the space: the measured ones, fastest first, then the failures, the duplicates, and those not
  /// measured, each in the space's order. Empty if the candidates are not known.
  std::vector<CandidateOutcome> candidates;
  bool is_complete = true;  ///< False if the search was cut short. AutotunePolicy states whether such a record is used.
  int num_not_measured = 0;  ///< Number of candidates that were not measured because the search was cut short.
  std::vector<FatalCandidate> fatal;
  /// Whether the result is conclusive: another round was not likely to change the selected config. False if the budget
  /// or the rounds were used up first, or if candidates were not measured at all.
  bool is_conclusive = true;
  /// Fingerprint of the list of configs that was searched. Zero for a record that no TunedKernel's search made.
  Fingerprint configs;
  /// The conditions under which the selected config was verified.
  Verification verification;
  std::int64_t workspace_bytes = 0;  ///< Device memory that the config needs besides its tensors, in bytes.

  // How the candidates were measured.
  std::string tuned_at;  ///< The dims that were measured: a bucket's bound, or the launch's own shape.
  TunedInputs inputs = TunedInputs::kUnknown;
  std::string timer;         ///< Name of the timer that measured the candidates (Timer::name): "cupti", "events".
  bool is_isolated = false;  ///< Whether candidates ran in a worker process (SearchOptions::isolation).
  /// By which fraction the best config ran slower in the second half of its rounds than in the first, mostly because
  /// the device's clock changed. Candidates are compared within rounds, so it does not affect the result. Negative if
  /// it ran faster. 0 if it ran in fewer than 8 rounds.
  double drift = 0;
  /// The device's state right before and right after the final race. Empty if unknown: without NVML, and on the CPU
  /// device.
  std::optional<DeviceReading> device_before, device_after;
  /// Mean SM clock in MHz while the final race ran, over NVML's readings after its rounds, at most one in 50 ms, and
  /// after the last round. Empty if unknown, as `device_before`.
  std::optional<double> race_sm_clock_mhz;
  /// The device's state after the race, with the throttle reasons of before it, too.
  DeviceConditions conditions;
  /// Notes for the user about the measurement, one line each: another timer than usual, outputs not verified.
  std::vector<std::string> notes;
  TuningCost cost;

  bool is_pinned = false;  ///< Whether the config was pinned (TunedKernel::Pin), so that no search replaces it.
  /// Number of the fleet's lease under which the record was put (RedisStore), which grows with each lease. Of two
  /// records of one key, the one with the higher number is kept. 0 without such a lease.
  std::uint64_t fencing_token = 0;
  std::string signature;  ///< Signature bytes. Empty for a record that is not signed.

  // The origin of the record, which is not part of the key.
  std::string host;               ///< Name of the machine.
  std::int64_t unix_seconds = 0;  ///< When the record was made, in seconds since 1970.

  /// For an imported record with `rows`, the dim that selects the row: the row with the extent nearest to the key's
  /// value of this dim applies. TuningKey::key_words has 0 for this dim. Empty: the record applies to its key alone.
  std::string nearest_dim;
  /// The configs by extent of `nearest_dim`. Of two equally near rows the first one applies.
  std::vector<ImportedRow> rows;

  /// Return the candidates that were measured, failed, equal another one, or were not measured, in the order of
  /// `candidates`.
  std::vector<CandidateOutcome> successes() const;
  std::vector<CandidateOutcome> failures() const;
  std::vector<CandidateOutcome> duplicates() const;
  std::vector<CandidateOutcome> not_measured() const;

  /// Returns whether the config was imported. An imported record whose TuningKey::driver_version is 0 has not run here
  /// yet.
  bool is_imported() const { return reason == SelectionReason::kImported; }
};

/// Encodes a record as bytes with a version and a checksum, for stores.
TUNEONCE_API std::string EncodeRecord(const TuningRecord& record);
/// Decodes the bytes that EncodeRecord returned. Errors: InvalidArgument if the bytes have another version (the message
/// states whether it is a newer one), are truncated or were changed.
TUNEONCE_API Result<TuningRecord> DecodeRecord(std::string_view bytes);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TUNING_RECORD_H_
