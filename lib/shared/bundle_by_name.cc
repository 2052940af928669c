// Bundle's functions: some ask a Runtime where bundles lie.
#include "bundle/bundle_files.h"
#include "tuneonce/bundle.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

Result<Bundle> Bundle::Load(const std::string& folder_or_name, const std::shared_ptr<Runtime>& runtime) {
  return LoadBundle(Runtime::OrDefault(runtime)->environment(), folder_or_name);
}

Result<Bundle> Bundle::Load(const EmbeddedBundle& embedded) { return LoadBundle(embedded); }

std::vector<std::string> Bundle::Names(const std::shared_ptr<Runtime>& runtime) {
  return BundleNames(Runtime::OrDefault(runtime)->environment());
}

}  // namespace v0
}  // namespace tuneonce
