#ifndef TUNEONCE_LIB_BUNDLE_BUNDLE_TARGETS_H_
#define TUNEONCE_LIB_BUNDLE_BUNDLE_TARGETS_H_

#include "bundle/manifest.h"
#include "tuneonce/result.h"
#include "tuneonce/target.h"

namespace tuneonce {
inline namespace v0 {

/// Reads the member `targets` of `node`. It is "cpu" for the CPU device, or an object such as
/// {"min_capability": 80, "max_capability": 129}, in which either field is optional. Returns an empty filter if `node`
/// has no such member.
Result<TargetFilter> ReadTargets(const ManifestNode& node);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BUNDLE_BUNDLE_TARGETS_H_
