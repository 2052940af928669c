// Builds without JSON (TUNEONCE_WITH_JSON=OFF): bundles cannot be read.
#include "tuneonce/bundle.h"

namespace tuneonce {

Result<Bundle> Bundle::Load(const std::string&) {
  return UnimplementedError("this library was built without JSON (TUNEONCE_WITH_JSON=OFF): it cannot read bundles");
}
std::vector<std::string> Bundle::Names() { return {}; }
Result<Bundle> Bundle::Load(const EmbeddedBundle&) { return Load(std::string()); }

}  // namespace tuneonce
