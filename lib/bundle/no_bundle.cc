// Builds without JSON (TUNEONCE_WITH_JSON=OFF): bundles cannot be read.
#include "base/environment.h"
#include "bundle/bundle_files.h"

namespace tuneonce {
inline namespace v0 {

Result<Bundle> LoadBundle(const Environment&, const std::string&) {
  return UnimplementedError("this library was built without JSON (TUNEONCE_WITH_JSON=OFF): it cannot read bundles");
}
std::vector<std::string> BundleNames(const Environment&) { return {}; }
Result<Bundle> LoadBundle(const EmbeddedBundle&) { return LoadBundle(Environment(), ""); }

}  // namespace v0
}  // namespace tuneonce
