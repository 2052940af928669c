#ifndef TUNEONCE_LIB_BUNDLE_BUNDLE_KEY_H_
#define TUNEONCE_LIB_BUNDLE_BUNDLE_KEY_H_

#include "bundle/bundle_space.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

/// The manifest's "key", if it has one: a list of {"dim"}, with "bucket", "buckets" or "nearest", {"dtype_of"} and
/// {"value_of"}.
Status ReadKey(const BundleSpace& space, const ManifestNode& root, KernelDefinition* definition);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BUNDLE_BUNDLE_KEY_H_
