#ifndef TUNEONCE_LIB_BUNDLE_BUNDLE_ARTIFACTS_H_
#define TUNEONCE_LIB_BUNDLE_BUNDLE_ARTIFACTS_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bundle/bundle_files.h"
#include "bundle/bundle_space.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
inline namespace v0 {

/// One file of a variant, and the configs that it is for.
struct BundleArtifact {
  ConfigPattern pattern;
  std::string symbol;
  std::string file;     ///< As the manifest names it: messages say it.
  CodeGeometry launch;  ///< Instead of the variant's.
  BundleText content;
  std::shared_ptr<const Fingerprint> withheld;  ///< KernelSource::withheld: `content` is empty then.
};

/// The files of one variant: what its source function looks into.
class BundleArtifacts {
 public:
  SourceKind kind = SourceKind::kTileIr;
  std::vector<std::pair<std::string, std::size_t>> defines;  ///< Name and index of an axis.
  std::vector<std::string> options;
  std::vector<std::pair<std::string, BundleText>> headers;  ///< By the names of `#include`.
  std::shared_ptr<const PrecompiledCode> precompiled;       ///< KernelSource::precompiled.

  /// Prepares for `count` artifacts.
  void Reserve(std::size_t count) { list_.reserve(count); }
  /// Errors: InvalidArgument for an artifact that is for other axes than too many before it.
  Status Add(BundleArtifact artifact);
  const std::vector<BundleArtifact>& list() const { return list_; }
  /// Returns the artifact for `config`, or null if no artifact matches it.
  const BundleArtifact* Find(const Config& config) const;
  /// How many artifacts are for `config`.
  std::size_t Count(const Config& config) const;
  bool HasLaunchFields() const;
  /// REQUIRES: Find(config) is not null.
  KernelSource SourceOf(const Config& config) const;
  /// Returns a fingerprint of everything besides the config that decides the result of SourceOf(config). It is computed
  /// once. Thread rule: any thread may call it.
  Fingerprint Identity() const;
  /// Returns the source of `artifact` without the macros that a config defines.
  KernelSource SourceOf(const BundleArtifact& artifact) const;
  /// `source` with the macros of `config`, which KernelSource::Check knows of.
  KernelSource WithDefines(KernelSource source, const Config& config) const;

 private:
  /// The artifacts whose patterns name the same axes, as indices by the values there: a config is looked up once per
  /// set of axes, not compared with each artifact.
  struct Group {
    std::vector<std::size_t> axes;
    std::multimap<std::vector<AxisValue>, std::size_t, AxisValueOrder> by_values;
  };

  Fingerprint FindIdentity() const;

  std::vector<BundleArtifact> list_;
  std::vector<Group> groups_;
  mutable std::once_flag identity_once_;
  mutable Fingerprint identity_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BUNDLE_BUNDLE_ARTIFACTS_H_
