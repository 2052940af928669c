#ifndef TUNEONCE_LIB_BUNDLE_BUNDLE_DESCRIPTOR_H_
#define TUNEONCE_LIB_BUNDLE_BUNDLE_DESCRIPTOR_H_

#include "bundle/bundle_space.h"
#include "bundle/manifest.h"
#include "tuneonce/parameters.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// {"name": "a_map", "kind": "descriptor", "tensor": "a", "box": [TERM, ...]}, and perhaps element_strides, swizzle,
/// interleave, l2_promotion, oob_fill.
Result<Parameter> ReadDescriptor(const BundleSpace& space, const ManifestNode& node);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BUNDLE_BUNDLE_DESCRIPTOR_H_
