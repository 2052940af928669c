#ifndef TUNEONCE_BINDINGS_CLI_BUNDLE_GRIDS_H_
#define TUNEONCE_BINDINGS_CLI_BUNDLE_GRIDS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bundle_folder.h"
#include "tuneonce/bundle.h"

namespace tuneonce::cli {

/// Finds mistakes in a bundle's grids and axes on one target by arithmetic, without running anything. REQUIRES: the
/// constructor's arguments outlive it.
class GridChecks {
 public:
  /// `problem`: dtypes of the tensors.
  GridChecks(const KernelDefinition& definition, const Bundle::Example& example, const Target& target,
             const Problem& problem);

  /// Returns the grids whose number of blocks does not grow like a number of tiles that cover a dim: it is 0 for small
  /// extents, or rounded down. Variants in `seen` are skipped, and checked ones are added to it, because they have the
  /// same grids on another target.
  std::vector<std::string> GridsThatLeaveElements(std::set<std::string>* seen);
  /// Axes whose values make no difference to any variant: the same code (`codes`, of each way, where it is known; else
  /// the same source and hints), the same launch.
  std::vector<std::string> AxesWithoutEffect(const BundleWays& ways,
                                             const std::vector<std::optional<Fingerprint>>& codes);

 private:
  /// Blocks in all; empty where the guards do not let the config run, or there is no such grid.
  std::optional<std::int64_t> Blocks(const Variant& variant, const Config& config, std::size_t dim,
                                     std::int64_t extent);
  /// Returns what is wrong with the dependency of the grid on one dim, or an empty text.
  std::string WrongStep(const Variant& variant, const Config& config, std::size_t dim);
  /// Prints the launches of a way at two shapes, with the values that are computed for them.
  std::string LaunchOf(const BundleWay& way);

  const KernelDefinition& definition_;
  Problem problem_;  // The example's shape.
  std::array<std::uint64_t, kMaxParameters> scalars_{};
};

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_BUNDLE_GRIDS_H_
