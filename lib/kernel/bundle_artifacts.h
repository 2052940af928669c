#ifndef TUNEONCE_LIB_KERNEL_BUNDLE_ARTIFACTS_H_
#define TUNEONCE_LIB_KERNEL_BUNDLE_ARTIFACTS_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernel/bundle_space.h"
#include "tuneonce/kernel/kernel_definition.h"

namespace tuneonce {

/// One file of a variant, and the configs that it is for.
struct BundleArtifact {
  ConfigPattern pattern;
  std::string symbol;
  std::optional<std::int64_t> block;          ///< Threads, instead of the variant's.
  std::optional<std::int64_t> shared_memory;  ///< Dynamic, in bytes, instead of the variant's.
  std::shared_ptr<const std::string> content;
  const ManifestNode* node = nullptr;  ///< While the bundle is read.

  void Apply(Geometry* geometry) const {
    if (block) geometry->block = Dim3{*block, 1, 1};
    if (shared_memory) geometry->shared_memory_bytes = *shared_memory;
  }
};

/// The files of one variant: what its source function looks into.
struct BundleArtifacts {
  SourceKind kind = SourceKind::kTileIr;
  std::vector<BundleArtifact> list;
  std::vector<std::pair<std::string, IntAxis>> defines;
  std::vector<std::string> options;

  /// The artifact for `config`; null if there is none.
  const BundleArtifact* Find(const Config& config) const;
  bool HasLaunchFields() const;
  /// REQUIRES: Find(config) is not null.
  KernelSource SourceOf(const Config& config) const;
};

/// Checks that the artifact has the symbol, and (Tile IR, PTX) the parameters that `variant` passes.
/// Errors: InvalidArgument, naming what differs.
Status CheckKernel(const KernelDefinition& definition, const Variant& variant, SourceKind kind,
                   const BundleArtifact& artifact);

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_KERNEL_BUNDLE_ARTIFACTS_H_
