#ifndef TUNEONCE_LIB_STORE_RECORD_KEYS_H_
#define TUNEONCE_LIB_STORE_RECORD_KEYS_H_

#include "tuneonce/fingerprint.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

// By what stores find records.

/// Of all that a key says: what a record lies under, and what a lease is on.
TUNEONCE_API Fingerprint FullKey(const TuningKey& key);
/// What records of all devices and drivers have in common: kernel and key words.
TUNEONCE_API Fingerprint KernelKey(const TuningKey& key);
/// What records of all sources of a kernel have in common: its name, and key words.
TUNEONCE_API Fingerprint ShapeKey(const TuningKey& key);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_RECORD_KEYS_H_
