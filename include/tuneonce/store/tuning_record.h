#ifndef TUNEONCE_STORE_TUNING_RECORD_H_
#define TUNEONCE_STORE_TUNING_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tuneonce/base/result.h"
#include "tuneonce/measure/measurement.h"
#include "tuneonce/store/tuning_key.h"

namespace tuneonce {

/// What is remembered of a search: for this key, this config. A value.
struct TuningRecord {
  TuningKey key;
  std::string config;   ///< Config::ToString of the winner.
  std::string variant;  ///< What it was built by.
  Measurement measurement;
  std::optional<double> speedup_over_baseline;
  /// Under which an ArtifactCache keeps the winner's code, so that it is served without a compiler; zero if it is not
  /// kept.
  Fingerprint artifact;
  std::string tuned_at;  ///< The dims measured: a bucket's bound, or the shape at hand.

  // Provenance: not part of the key.
  std::string baseline;           ///< Config::ToString; empty without one.
  std::string timer;              ///< "cupti", "events".
  bool is_certain = true;         ///< TuningResult::is_certain.
  std::string host;               ///< Name of the machine.
  std::string toolchain;          ///< What compiled the winner, with its version.
  std::int64_t unix_seconds = 0;  ///< When.
};

/// A record as bytes with a version and a checksum, for stores.
TUNEONCE_API std::string EncodeRecord(const TuningRecord& record);
/// Errors: InvalidArgument if the bytes are of another version, cut or changed.
TUNEONCE_API Result<TuningRecord> DecodeRecord(std::string_view bytes);

}  // namespace tuneonce

#endif  // TUNEONCE_STORE_TUNING_RECORD_H_
