// Bundle's functions that ask a Runtime where bundles lie.
#include "tuneonce/bundle.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

Result<Bundle> Bundle::Load(const std::string& folder_or_name, const std::shared_ptr<Runtime>& runtime) {
  return LoadIn(Runtime::OrDefault(runtime)->environment(), folder_or_name);
}

std::vector<std::string> Bundle::Names(const std::shared_ptr<Runtime>& runtime) {
  return NamesIn(Runtime::OrDefault(runtime)->environment());
}

}  // namespace v0
}  // namespace tuneonce
