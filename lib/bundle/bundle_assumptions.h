#ifndef TUNEONCE_LIB_BUNDLE_BUNDLE_ASSUMPTIONS_H_
#define TUNEONCE_LIB_BUNDLE_BUNDLE_ASSUMPTIONS_H_

#include <vector>

#include "bundle/manifest.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// What the manifest's `variant` says that its code was compiled for. That there are such tensors and scalars is
/// checked later (ValidateForLaunch).
Result<std::vector<Assumption>> ReadAssumptions(const ManifestNode& variant);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BUNDLE_BUNDLE_ASSUMPTIONS_H_
