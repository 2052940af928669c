#ifndef TUNEONCE_LIB_BUNDLE_BUNDLE_GEOMETRY_H_
#define TUNEONCE_LIB_BUNDLE_BUNDLE_GEOMETRY_H_

#include "bundle/bundle_space.h"
#include "bundle/manifest.h"
#include "tuneonce/geometry.h"

namespace tuneonce {
inline namespace v0 {

/// Reads a variant's fields grid, block, cluster, shared_memory and programmatic_launch.
Result<GeometryFn> ReadGeometry(const BundleSpace& space, const ManifestNode& variant);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BUNDLE_BUNDLE_GEOMETRY_H_
