#include "inspect/runtime_settings.h"

#include "base/environment.h"
#include "store/default_store.h"

namespace tuneonce {
inline namespace v0 {

RuntimeSettings RuntimeSettings::Of(const Runtime& runtime) {
  const Environment& environment = runtime.environment();
  return {environment.disable_autotune, environment.redis_password, environment.fleet_keys};
}

Result<std::string> UserStorePath(const Runtime& runtime) { return DefaultStorePath(runtime.environment()); }

bool NamesFleet(const std::string& store) { return IsFleetAddress(store); }

}  // namespace v0
}  // namespace tuneonce
