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

/// What a tuning record is found by. A value.
struct TuningKey {
  std::string kernel;                    ///< Name, for people.
  Fingerprint kernel_fingerprint;        ///< The definition's identity: all but its configs and tolerances.
  std::vector<std::uint64_t> key_words;  ///< Dims (by bucket), dtypes, flags; variants left out.
  std::string key_text;                  ///< The same for people: "M<=4096, N=1024, x:float32".
  std::string device_name;
  int capability = 0;  ///< 90 for 9.0; 0 on the CPU device.
  int num_sms = 0;
  int driver_version = 0;

  /// Everything but the driver's version agrees.
  TUNEONCE_API bool SameDevice(const TuningKey& other) const;
  /// Kernel and key words agree.
  TUNEONCE_API bool SameKernel(const TuningKey& other) const;
  /// The key words agree, of kernels of one name whose sources, configs or versions differ.
  TUNEONCE_API bool IsOtherSource(const TuningKey& other) const;
};

// The enums below are kept by the numbers and words of lib/store/stored_enums.h: add a value there too.

/// What the tensors held when the choice was measured.
enum class TunedInputs {
  kUnknown,
  kCaller,    ///< What the caller launched with.
  kRepeated,  ///< A bucket's scratch, filled by repeating what the caller launched with.
  kFill,      ///< What the definition declares for warm-ups.
  kRecorded,  ///< Inputs that were recorded earlier.
};

/// What decided for the chosen config.
enum class ChoiceReason {
  kUnknown,
  kFastest,              ///< Nothing else was as fast.
  kTieStoredWinner,      ///< Others were as fast; it had been chosen before.
  kTieBaseline,          ///< Others were as fast; it is the baseline.
  kTieSmallerWorkspace,  ///< Others were as fast; it needs less memory.
  kTieEarliest,          ///< Others were as fast; it is the first of them in the space's order.
  kBaselineByMargin,     ///< The baseline: something was faster, but not by the margin.
  kPinned,               ///< A person or a host said so (TunedKernel::Pin).
  kImported,             ///< Decided elsewhere (`tuneonce records import --decisions`).
  kPredicted,            ///< A model ranked it first; it was not measured for this key.
};

/// What became of one candidate of a search.
struct CandidateOutcome {
  enum class Kind {
    kMeasured,
    kDuplicate,    ///< Its code is `same_as`'s, which stands for it.
    kNotMeasured,  ///< The search was cut short before it.
    kPredicted,    ///< `mean_us` is what a model expects of it; it was not measured for this key.
    // It failed: see FailureKind.
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
    kQuarantined,  ///< It failed in production, and must not run: `message` says how.
  };

  Config config;
  Kind kind = Kind::kNotMeasured;
  /// The code and launch that this is about, so that a list of configs that changes keeps what is known of the others.
  /// Zero if it was not compiled.
  Fingerprint identity;
  std::string variant;                    ///< What it was built by; empty if it was not measured.
  double mean_us = 0;                     ///< kMeasured.
  std::optional<double> error_margin_us;  ///< kMeasured: half of the 95 % confidence interval.
  int num_samples = 0;                    ///< kMeasured.
  std::string message;                    ///< Of a failure: the tool's or driver's own words.
  std::optional<Config> same_as;          ///< kDuplicate.

  bool failed() const { return kind >= Kind::kCompile; }
};

/// The config that a choice was compared with, and what loads it without a compiler.
struct RecordedBaseline {
  Config config;
  std::string variant;
  Fingerprint artifact;  ///< As TuningRecord::artifact.
};

/// A candidate that ended the process it was tried in.
struct LethalCandidate {
  Config config;
  std::string reason;
};

/// One row of an imported table: for this extent, this config.
struct ImportedRow {
  std::int64_t at = 0;
  Config config;
};

/// What is remembered of a search, or was decided otherwise (`reason`): for this key, this config. A value. Its configs
/// belong to no space: they are found in one by Config::IsSame.
struct TuningRecord {
  TuningKey key;
  Config config;        ///< The winner.
  std::string variant;  ///< What it was built by.
  Measurement measurement;
  std::optional<double> speedup_over_baseline;
  /// The winner's CandidateOutcome::identity: another code under the same config was not verified. Zero if it did not
  /// run.
  Fingerprint identity;
  /// The list of configs that the record was made for; zero of a record that no search made.
  Fingerprint configs;
  /// What the winner was verified under.
  Verification verification;
  /// Under which an ArtifactCache keeps the winner's code, so that it is served without a compiler; zero if it is not
  /// kept.
  Fingerprint artifact;
  std::optional<RecordedBaseline> baseline;  ///< Empty if there was none, or it failed.
  ChoiceReason reason = ChoiceReason::kUnknown;
  std::int64_t workspace_bytes = 0;  ///< That the winner needs beside its tensors.

  std::string tuned_at;  ///< The dims measured: a bucket's bound, or the shape at hand.
  TunedInputs inputs = TunedInputs::kUnknown;

  /// Every candidate of the space: those measured, fastest first, then the failed, the duplicates and those not
  /// measured, each in the space's order. Empty if that is not known.
  std::vector<CandidateOutcome> candidates;
  bool is_complete = true;   ///< False if the search was cut short: AutotunePolicy says whether it is served.
  int num_not_measured = 0;  ///< Candidates that it did not come to.
  std::vector<LethalCandidate> lethal;
  bool is_certain = true;  ///< TuningResult::is_certain.

  bool is_pinned = false;           ///< Chosen by a person: no search replaces it.
  std::uint64_t fencing_token = 0;  ///< Of a fleet's write-once cell, the higher one wins; 0 without one.
  std::string signature;            ///< Bytes; empty for a record that nobody signed.

  // Provenance: not part of the key.
  std::string timer;              ///< "cupti", "events".
  std::string host;               ///< Name of the machine.
  std::string toolchain;          ///< What compiled the winner, with its version.
  std::int64_t unix_seconds = 0;  ///< When.
  DeviceConditions conditions;

  /// An imported table: the row serves whose extent is the nearest to what the key has of this dim, whatever that is;
  /// the record's own word of it is 0. Empty: the record is of its key alone.
  std::string nearest_dim;
  std::vector<ImportedRow> rows;  ///< Of two that are as near the first serves.

  /// Decided elsewhere. What names no driver (0) has not run here yet.
  bool is_imported() const { return reason == ChoiceReason::kImported; }
};

/// A record as bytes with a version and a checksum, for stores.
TUNEONCE_API std::string EncodeRecord(const TuningRecord& record);
/// Errors: InvalidArgument if the bytes are of another version (a newer one is said to be newer), cut or changed.
TUNEONCE_API Result<TuningRecord> DecodeRecord(std::string_view bytes);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TUNING_RECORD_H_
