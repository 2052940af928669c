#ifndef TUNEONCE_LIB_KERNEL_BUNDLE_VARIANT_H_
#define TUNEONCE_LIB_KERNEL_BUNDLE_VARIANT_H_

#include <functional>
#include <memory>
#include <string>

#include "kernel/bundle_artifacts.h"
#include "kernel/bundle_space.h"
#include "kernel/manifest.h"

namespace tuneonce {

/// One element of a manifest's variants.
struct BundleVariant {
  const ManifestNode* node;
  Variant variant;
  std::shared_ptr<BundleArtifacts> artifacts;  ///< Which the variant's functions share.
};

/// The content of a file of the bundle, by its path relative to the bundle's folder.
using ReadArtifactFn = std::function<Result<std::string>(const std::string& name)>;

/// Reads one variant, and its artifacts through `read`.
Result<BundleVariant> ReadVariant(const BundleSpace& space, const ManifestNode& node, const ReadArtifactFn& read);

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_KERNEL_BUNDLE_VARIANT_H_
