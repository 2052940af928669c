#ifndef TUNEONCE_COMPONENTS_REDIS_FLEET_KEYS_H_
#define TUNEONCE_COMPONENTS_REDIS_FLEET_KEYS_H_

#include <string>

#include "store/kernel_fingerprint.h"

namespace tuneonce {
inline namespace v0 {

// The names of a RedisStore's keys, within its own.
namespace fleet_keys {

inline constexpr char kIndex[] = "index";    ///< A sorted set of all records, "KERNEL/FIELD".
inline constexpr char kPuts[] = "puts";      ///< How many records were ever put.
inline constexpr char kTokens[] = "tokens";  ///< The highest token of a lease.

inline std::string KernelsOf(const TuningKey& key) { return "kernels/" + ShapeKey(key).ToString(); }
inline std::string LeaseOf(const TuningKey& key) { return "lease/" + FullKey(key).ToString(); }

}  // namespace fleet_keys

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_COMPONENTS_REDIS_FLEET_KEYS_H_
