#ifndef TUNEONCE_BINDINGS_CLI_BUNDLE_CHECK_H_
#define TUNEONCE_BINDINGS_CLI_BUNDLE_CHECK_H_

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bundle_folder.h"
#include "tuneonce/bundle.h"
#include "tuneonce/result.h"

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
  /// Blocks at extents that tell apart most grids: configs with the same need only one of WrongStep.
  std::vector<std::int64_t> SomeBlocks(const Variant& variant, const Config& config, std::size_t dim);
  /// Returns what is wrong with the dependency of the grid on one dim, or an empty text.
  std::string WrongStep(const Variant& variant, const Config& config, std::size_t dim);
  /// Prints the launches of a way at two shapes, with the values that are computed for them.
  std::string LaunchOf(const BundleWay& way);

  const KernelDefinition& definition_;
  Target target_;    // With very many multiprocessors, so that persistent grids show the tiles that they walk over.
  Problem problem_;  // The example's shape.
  std::array<std::uint64_t, kMaxParameters> scalars_{};
};

struct BundleCheckOptions {
  std::vector<std::string> targets;  ///< That it is to have code for; empty: those that it was compiled for.
  std::vector<std::string> dtypes;   ///< ProblemsOf.
  std::string device;                ///< To run every config on; empty: none.
  std::vector<std::string> shape;    ///< In the form of `tune`.
  std::vector<std::string> scalars;
};

/// Something that is wrong with a bundle, or looks as if it were.
struct BundleFinding {
  bool is_error = false;  ///< It will fail. Otherwise it may be intended.
  std::string text;
};

/// Finds mistakes that reading a bundle does not: an artifact without the declared kernel (Bundle::CheckSources); code
/// that is damaged, lacks a kernel or takes other parameters (by the cubins' own tables); targets without code; grids
/// that omit elements; axes without effect; unused files; and errors when every config runs. Errors: those of the
/// options.
Result<std::vector<BundleFinding>> CheckBundle(const BundleFolder& folder, const BundleCheckOptions& options);

struct BundleClassifyOptions {
  std::string target;              ///< Empty: ClassifiedBundle's selection.
  std::vector<std::string> shape;  ///< NAME=EXTENT, for the arithmetic intensity; else the example's.
};

/// Prints which family the bundle is of, why, and where its space departs (ClassifiedBundle). That no family is found
/// is an answer, and no error. Errors: those of the options, of reading the bundle, and of ClassifiedBundle::Of.
Status ClassifyAndPrint(const std::string& folder_or_name, const BundleClassifyOptions& options, bool json);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_BUNDLE_CHECK_H_
