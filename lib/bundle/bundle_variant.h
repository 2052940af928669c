#ifndef TUNEONCE_LIB_BUNDLE_BUNDLE_VARIANT_H_
#define TUNEONCE_LIB_BUNDLE_BUNDLE_VARIANT_H_

#include <memory>
#include <string>

#include "bundle/bundle_artifacts.h"
#include "bundle/bundle_files.h"
#include "bundle/bundle_space.h"
#include "bundle/manifest.h"

namespace tuneonce {
inline namespace v0 {

/// One element of a manifest's variants.
struct BundleVariant {
  const ManifestNode* node;
  Variant variant;
  std::shared_ptr<BundleArtifacts> artifacts;  ///< Which the variant's functions share.
};

/// Reads one variant, and its artifacts from `files`.
Result<BundleVariant> ReadVariant(const BundleSpace& space, const ManifestNode& node, BundleFiles* files);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BUNDLE_BUNDLE_VARIANT_H_
