#ifndef TUNEONCE_LIB_STORE_RECORD_KEYS_H_
#define TUNEONCE_LIB_STORE_RECORD_KEYS_H_

#include "tuneonce/fingerprint.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

// The keys by which stores find records.

/// Returns the fingerprint of the whole key, by which records are stored and leased.
TUNEONCE_API Fingerprint FullKey(const TuningKey& key);
/// Returns the fingerprint that records of all devices and drivers share: kernel and key words.
TUNEONCE_API Fingerprint KernelKey(const TuningKey& key);
/// Returns the fingerprint that records of all sources of a kernel share: its name and key words.
TUNEONCE_API Fingerprint ShapeKey(const TuningKey& key);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_RECORD_KEYS_H_
