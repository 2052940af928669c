#ifndef TUNEONCE_TUNING_RECORD_H_
#define TUNEONCE_TUNING_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuneonce/config.h"
#include "tuneonce/fingerprint.h"
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

/// The outcome of one candidate in a search.
struct CandidateOutcome {
  enum class Kind {
    kMeasured,
    kDuplicate,    ///< Its code equals that of the config `same_as`, which was measured in its place.
    kNotMeasured,  ///< The search was cut short before it measured this candidate.
    kPredicted,    ///< `mean_us` is the prediction of a model. The candidate was not measured for this key.
    // The kinds below are failures; see FailureKind.
    kCompile,
    kLoad,
    kResources,
    kLaunch,
    kRun,
    kWrongResult,
    kOutOfBounds,
    kNotWritten,
    kWroteInput,
    kNotVerified,
    kCrash,
    kTimeout,
    kProtocol,
    kQuarantined,  ///< It failed in production and must not run. `message` states how it failed.
  };

  Config config;
  Kind kind = Kind::kNotMeasured;
  /// Fingerprint of the candidate's code and launch geometry, so that results stay valid when the list of configs
  /// changes. Zero if the candidate was not compiled.
  Fingerprint identity;
  std::string variant;                    ///< The variant that built it. Empty if it was not measured.
  double mean_us = 0;                     ///< Mean time in microseconds, for kMeasured and kPredicted.
  std::optional<double> error_margin_us;  ///< Half of the 95 % confidence interval in microseconds, for kMeasured.
  int num_samples = 0;                    ///< Number of samples, for kMeasured.
  std::string message;                    ///< For a failure, the message of the tool or driver.
  std::optional<Config> same_as;          ///< For kDuplicate, the config that was measured in its place.

  /// Returns whether the candidate failed.
  bool failed() const { return kind >= Kind::kCompile; }
};

/// The baseline of a record, and what is needed to load it without a compiler.
struct RecordedBaseline {
  Config config;
  std::string variant;
  Fingerprint artifact;  ///< The key of the baseline's code in an ArtifactCache. Zero if the code is not kept.
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

/// The config that was selected for a key, why it was selected (`reason`), and, if a search selected it, what that
/// search found. Copyable plain data. Its configs are not tied to a SearchSpace; Config::IsSame matches them with the
/// configs of a space.
struct TuningRecord {
  TuningKey key;
  Config config;        ///< The selected config.
  std::string variant;  ///< The variant that built the selected config.
  Measurement measurement;
  std::optional<double> speedup_over_baseline;
  /// CandidateOutcome::identity of the selected config. Other code for the same config was not verified. Zero if the
  /// config did not run.
  Fingerprint identity;
  /// Fingerprint of the list of configs that was searched. Zero for a record that no search made.
  Fingerprint configs;
  /// The conditions under which the selected config was verified.
  Verification verification;
  /// The key of the selected config's code in an ArtifactCache, which serves it without a compiler. Zero if the code is
  /// not kept.
  Fingerprint artifact;
  /// The definition's baseline. Empty without a baseline, or if it failed.
  std::optional<RecordedBaseline> baseline;
  SelectionReason reason = SelectionReason::kUnknown;
  std::int64_t workspace_bytes = 0;  ///< Device memory that the config needs besides its tensors, in bytes.

  std::string tuned_at;  ///< The dims that were measured: a bucket's bound, or the launch's own shape.
  TunedInputs inputs = TunedInputs::kUnknown;

  /// Every candidate of the space: the measured ones, fastest first, then the failures, the duplicates, and those not
  /// measured, each in the space's order. Empty if the candidates are not known.
  std::vector<CandidateOutcome> candidates;
  bool is_complete = true;  ///< False if the search was cut short. AutotunePolicy states whether such a record is used.
  int num_not_measured = 0;  ///< Number of candidates that were not measured because the search was cut short.
  std::vector<FatalCandidate> fatal;
  bool is_conclusive = true;  ///< Whether the result was conclusive (TuningResult::is_conclusive).

  bool is_pinned = false;  ///< Whether the config was pinned (TunedKernel::Pin), so that no search replaces it.
  /// Number of the fleet's lease under which the record was put (RedisStore), which grows with each lease. Of two
  /// records of one key, the one with the higher number is kept. 0 without such a lease.
  std::uint64_t fencing_token = 0;
  std::string signature;  ///< Signature bytes. Empty for a record that is not signed.

  // The origin of the record, which is not part of the key.
  std::string timer;              ///< Name of the timer that measured the candidates (Timer::name): "cupti", "events".
  std::string host;               ///< Name of the machine.
  std::string toolchain;          ///< The toolchain that compiled the selected config, with its version.
  std::int64_t unix_seconds = 0;  ///< When the record was made, in seconds since 1970.
  DeviceConditions conditions;

  /// For an imported record with `rows`, the dim that selects the row: the row with the extent nearest to the key's
  /// value of this dim applies. TuningKey::key_words has 0 for this dim. Empty: the record applies to its key alone.
  std::string nearest_dim;
  /// The configs by extent of `nearest_dim`. Of two equally near rows the first one applies.
  std::vector<ImportedRow> rows;

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
