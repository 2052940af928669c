#ifndef TUNEONCE_BINDINGS_CLI_BUNDLE_GRIDS_H_
#define TUNEONCE_BINDINGS_CLI_BUNDLE_GRIDS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bundle_ways.h"
#include "tuneonce/bundle.h"

namespace tuneonce::cli {

/// What arithmetic shows of a bundle's grids and axes on one target, without running anything.
/// REQUIRES: what it is made of outlives it.
class GridChecks {
 public:
  /// `problem`: dtypes of the tensors.
  GridChecks(const KernelDefinition& definition, const Bundle::Example& example, const Target& target,
             const Problem& problem);

  /// Grids whose number of blocks does not grow as tiles that cover a dim: empty for small extents, or rounded down.
  /// Of variants that are not `seen`, which gets them: on another target they have the same grids.
  std::vector<std::string> GridsThatLeaveElements(std::set<std::string>* seen);
  /// Axes whose values make no difference to any variant: the same code (`codes`, of each way, where it is known; else
  /// the same source and hints), the same launch.
  std::vector<std::string> AxesWithoutEffect(const BundleWays& ways,
                                             const std::vector<std::optional<Fingerprint>>& codes);

 private:
  /// Blocks in all; empty where the guards do not let the config run, or there is no such grid.
  std::optional<std::int64_t> Blocks(const Variant& variant, const Config& config, std::size_t dim,
                                     std::int64_t extent);
  /// What is wrong with how the grid follows one dim; empty if nothing is.
  std::string WrongStep(const Variant& variant, const Config& config, std::size_t dim);
  /// The launches of a way at two shapes, and what is computed for them.
  std::string LaunchOf(const BundleWay& way);

  const KernelDefinition& definition_;
  Problem problem_;  // Of the example.
  std::array<std::uint64_t, kMaxParameters> scalars_{};
};

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_BUNDLE_GRIDS_H_
