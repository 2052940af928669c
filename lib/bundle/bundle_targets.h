#ifndef TUNEONCE_LIB_BUNDLE_BUNDLE_TARGETS_H_
#define TUNEONCE_LIB_BUNDLE_BUNDLE_TARGETS_H_

#include "bundle/manifest.h"
#include "tuneonce/result.h"
#include "tuneonce/target.h"

namespace tuneonce {
inline namespace v0 {

/// The member `targets` of `node`: {"min_capability": 80, "max_capability": 129}, either of which may be missing, or
/// "cpu" for the CPU device. Empty if there is none.
Result<TargetFilter> ReadTargets(const ManifestNode& node);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BUNDLE_BUNDLE_TARGETS_H_
