// Builds without JSON (TUNEONCE_WITH_JSON=OFF): bundles cannot be read.
#include "base/environment.h"
#include "tuneonce/bundle.h"

namespace tuneonce {
inline namespace v0 {

Result<Bundle> Bundle::LoadIn(const Environment&, const std::string&) {
  return UnimplementedError("this library was built without JSON (TUNEONCE_WITH_JSON=OFF): it cannot read bundles");
}
std::vector<std::string> Bundle::NamesIn(const Environment&) { return {}; }
Result<Bundle> Bundle::Load(const EmbeddedBundle&) { return LoadIn(Environment(), ""); }

}  // namespace v0
}  // namespace tuneonce
