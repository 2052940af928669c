#ifndef TUNEONCE_TUNING_RECORD_H_
#define TUNEONCE_TUNING_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuneonce/config.h"
#include "tuneonce/geometry.h"
#include "tuneonce/plugin/artifact.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The measured time of a candidate.
struct Measurement {
  /// Mean time of a launch in microseconds.
  double mean_us = 0;
  /// Half of the 95 % confidence interval of the mean, in microseconds. Empty for one sample, which shows no spread.
  std::optional<double> error_margin_us;
  int num_samples = 0;
  double std_us = 0;  ///< Sample standard deviation in microseconds; 0 for one sample.
  double median_us = 0;
  double min_us = 0;
  double max_us = 0;

  /// Returns the standard deviation as a fraction of the mean.
  double rel_std() const { return mean_us > 0 ? std_us / mean_us : 0; }
};

/// What limits a kernel's speed, judged by its arithmetic intensity: kMemory below 10 operations per byte, kCompute
/// above 50, else kBalanced.
enum class Bound { kMemory, kBalanced, kCompute };

/// Returns "memory bound", "balanced" or "compute bound".
TUNEONCE_API std::string_view BoundName(Bound bound);

/// How well a run used the device, computed from the bytes and operations that the definition declares
/// (KernelDefinition::Work) and the measured time.
struct Roofline {
  std::optional<double> intensity;  ///< Operations per byte. Empty unless both are known.
  std::optional<Bound> bound;
  double gb_per_s = 0;     ///< Achieved bandwidth in 10^9 bytes per second; 0 if the bytes are unknown.
  double tflop_per_s = 0;  ///< Achieved throughput in 10^12 operations per second; 0 if the operations are unknown.
  /// How close the run came to the device's peaks, in percent: the longer of the times to move the bytes at the peak
  /// bandwidth and to compute the operations at the peak of float16's tensor cores, divided by the measured time. Empty
  /// if the peaks are unknown. For a run that is limited by computing, the value is too low for dtypes with a lower
  /// peak than float16's, and too high for those with a higher one.
  std::optional<double> percent_of_peak;
};

/// The outcome of a candidate in a search. lib/measure/outcomes.h has the names and the stored numbers, and a new value
/// must be added there too.
enum class OutcomeKind {
  kMeasured,
  kDuplicate,    ///< Its code equals that of another config, which was measured in its place.
  kNotMeasured,  ///< The search was cut short before it measured this candidate, or no search tried it.
  kPredicted,    ///< Its mean time is the prediction of a model. The candidate was not measured for this key.
  // The kinds below are failures: such a candidate cannot be selected.
  kCompile,      ///< The toolchain could not compile the candidate.
  kLoad,         ///< The driver refused the code, or the code's parameters are not the declared ones.
  kResources,    ///< It needs more memory, shared memory or threads than available.
  kLaunch,       ///< The launch was refused, or the geometry is invalid.
  kRun,          ///< It failed while running, or could not be timed.
  kWrongResult,  ///< Its output differs from the reference.
  kOutOfBounds,  ///< It wrote outside of its outputs and workspaces.
  kNotWritten,   ///< It left elements of an output unwritten.
  kWroteInput,   ///< It wrote a tensor that is declared as an input.
  kNotVerified,  ///< The candidate's outputs could not be compared, because the baseline failed.
  // The next three occur in a worker process (SearchOptions::isolation), which the candidate ended.
  kCrash,    ///< It ended the worker by a fault, a trap, a signal, exit or abort.
  kTimeout,  ///< It exceeded Budgets::candidate.
  /// The worker's answer was invalid, because the candidate overwrote the worker's memory or its socket.
  kProtocol,
  kQuarantined,  ///< It failed in production and must not run. `message` states how it failed.
};

/// Returns whether candidates with this outcome failed.
constexpr bool IsFailure(OutcomeKind kind) { return kind >= OutcomeKind::kCompile; }
/// Returns whether candidates with this kind of failure ended their worker process.
constexpr bool EndsItsProcess(OutcomeKind kind) {
  return kind >= OutcomeKind::kCrash && kind <= OutcomeKind::kProtocol;
}

/// Returns the name of a kind for people: "compile", "wrong result", ...
TUNEONCE_API std::string_view OutcomeName(OutcomeKind kind);

/// The conditions under which a selected config was verified. Nothing is known about conditions that it does not list.
/// It has value semantics.
struct TUNEONCE_API Verification {
  /// How much was verified, least first.
  enum class Level {
    kNone,  ///< Nothing: a person pinned the config, it was imported, or `records dispatch` selected it.
    /// The config wrote nothing but its outputs. If the search had no reference and Verify was not kOff, it also wrote
    /// every element of them.
    kMemory,
    kReference,  ///< Its outputs were compared with the baseline's or with a given reference.
  };
  /// The tolerance with which one output was compared (Tolerance). `outputs` has one for each output of the kernel, in
  /// order.
  struct Output {
    double absolute = 0;
    double relative = 0;
    double ulps = 0;
    bool may_be_partial = false;
  };
  /// What was verified for one dim where launches of one key can differ in its extent, because the key rounds or omits
  /// the dim. Extents that divide into tiles alike form a class, and launches run the config only at extents of a class
  /// in which it was verified, and not far above those extents. docs/verification.md defines the classes.
  struct Extents {
    std::string dim;
    std::vector<std::uint64_t> classes;  ///< Numbers of the verified classes and powers of two; they are not extents.
  };

  Level level = Level::kNone;
  std::vector<Output> outputs;
  /// False if the data could not have shown an error, because it was constant, zero, of one sign, or not finite. The
  /// selected config then serves this process and is not stored.
  bool is_data_sufficient = true;
  /// Whether the config was verified on inputs that the library made, in addition to the caller's data or in place of
  /// it. They have the values that the definition declares for warm-ups. Floating-point tensors without a declaration
  /// have pseudo-random numbers.
  bool has_generated_data = false;
  std::vector<Extents> extents;  ///< Empty if the key decides all dims.
  /// What could not be verified, one line each: "M=65: not enough memory".
  std::vector<std::string> gaps;

  /// Returns whether this verification satisfies `demanded`: its level is at least as high. If `demanded` has
  /// kReference, no output has a larger tolerance, and none may be partial that must not be. Extents are not compared.
  TUNEONCE_LOCAL bool Covers(const Verification& demanded) const;
};

/// The state of a device during a measurement. Empty values are unknown.
struct DeviceConditions {
  std::optional<std::int64_t> sm_clock_mhz;
  std::optional<std::int64_t> memory_clock_mhz;
  std::optional<std::int64_t> power_limit_mw;
  std::optional<std::uint64_t> throttle_reasons;  ///< NVML's bits of clock throttle reasons.
  std::string mig_profile;                        ///< The MIG profile, "1g.18gb" for example. Empty for a whole device.
};

/// The state of a device at one moment.
struct DeviceReading {
  DeviceConditions conditions;
  std::optional<std::int64_t> temperature_c;
  std::optional<std::int64_t> power_mw;  ///< Current power draw in milliwatts.
};

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
  bool SameDevice(const TuningKey& other) const;
  /// Returns whether both keys have the same `kernel_fingerprint` and the same `key_words`. The kernel's name, the
  /// device and the driver's version are not compared.
  bool SameKernel(const TuningKey& other) const;
  /// Returns whether both keys have the same kernel name and `key_words`, but different kernel fingerprints: the
  /// kernel's definition or sources changed in between.
  bool IsOtherSource(const TuningKey& other) const;
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
  /// What the compiler states about its optimizations (Artifact::remarks). A candidate that could not be compiled has
  /// them in `message`.
  std::vector<std::string> remarks;

  // For kMeasured. A kPredicted candidate has Measurement::mean_us alone.
  Measurement measurement;
  Geometry geometry;
  ResourceUse resources;
  /// The key of its code in a RecordStore (Artifact::key). Zero if the code is not kept.
  Fingerprint artifact;
  std::string toolchain;  ///< The toolchain that compiled it, with its version (Artifact::toolchain).
  /// Whether it may be as fast as the fastest candidate. False if it is certainly slower by more than 1 %, or if it did
  /// not race because its first samples were too slow.
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
  double wall_seconds = 0;        ///< Wall time of the whole search with enumerating and planning, in seconds.
  std::int64_t num_launches = 0;  ///< Number of launches of candidates' kernels, verification included.
  int num_rounds = 0;             ///< Number of rounds of the race, without its warm-up round.
  /// The most device memory in bytes that the search held at a time, besides the caller's tensors: copies of inputs,
  /// scratch, guard zones, workspaces, the reference, loaded code, the buffer that flushes the cache, and a bucket's
  /// tensors.
  std::size_t peak_bytes = 0;
  /// Number of worker processes that the search lost: a candidate crashed the worker, exceeded
  /// Budgets::candidate or corrupted the worker's answer, or something else killed the process (such
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
  /// measured, each in the space's order. Those not measured are missing in a record from the store of a TunedKernel,
  /// after a guided or random search, and if there are more than 1,000 of them. A search that continued an earlier one
  /// has the earlier outcomes of the candidates that it did not try. Empty if the candidates are not known.
  std::vector<CandidateOutcome> candidates;
  /// False if a budget cut the search short. AutotunePolicy states whether such a record is used. A guided search that
  /// ended because it expected no gain is complete, although it did not measure all candidates.
  bool is_complete = true;
  int num_not_measured = 0;  ///< Number of candidates that no search for this key tried.
  /// Number of candidates that were tried, in a record without its candidates (LaunchPlan::record). Else 0. Stores do
  /// not keep it.
  int num_tried = 0;
  std::vector<FatalCandidate> fatal;
  /// Whether the result is conclusive: another round was not likely to change the selected config. False if the budget
  /// or the rounds were used up first, or if candidates were not measured at all. So it is never true of a space that
  /// was sampled.
  bool is_conclusive = true;
  /// Fingerprint of the configs that were searched. `high` is of what decides them: the space's Identity, and the
  /// target. `low` is of the list of configs. Zero for a record that no TunedKernel's search made.
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

  /// Returns "searched 180 of 17,956" if some candidates were not measured, and otherwise "searched all 30". The counts
  /// are of `candidates`, or `num_tried` in a record without them.
  std::string SearchedText() const;

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
