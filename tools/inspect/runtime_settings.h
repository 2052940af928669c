#ifndef TUNEONCE_TOOLS_INSPECT_RUNTIME_SETTINGS_H_
#define TUNEONCE_TOOLS_INSPECT_RUNTIME_SETTINGS_H_

#include <string>

#include "tuneonce/result.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

/// What the environment of a Runtime says to programs that open stores by a name which a person gave.
struct RuntimeSettings {
  bool disable_autotune = false;  ///< Whether the environment disables tuning (DISABLE_AUTOTUNE).
  std::string redis_password;     ///< TUNEONCE_REDIS_PASSWORD, for an address without a password. May be empty.
  std::string fleet_keys;         ///< TUNEONCE_FLEET_KEYS, the file of a fleet's signing keys. May be empty.

  static RuntimeSettings Of(const Runtime& runtime);
};

/// Returns the file of the user's own store, whether it exists or not. Errors: FailedPrecondition without a home.
Result<std::string> UserStorePath(const Runtime& runtime);

/// Returns whether a store's name is the address of a fleet's store, "redis://...", and no path.
bool NamesFleet(const std::string& store);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_INSPECT_RUNTIME_SETTINGS_H_
