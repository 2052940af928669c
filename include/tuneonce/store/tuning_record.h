#ifndef TUNEONCE_STORE_TUNING_RECORD_H_
#define TUNEONCE_STORE_TUNING_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>

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
  std::string tuned_at;           ///< The dims measured: a bucket's bound, or the shape at hand.
  std::int64_t unix_seconds = 0;  ///< When.
};

}  // namespace tuneonce

#endif  // TUNEONCE_STORE_TUNING_RECORD_H_
