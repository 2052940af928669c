#ifndef TUNEONCE_BINDINGS_CLI_BUNDLE_WAYS_H_
#define TUNEONCE_BINDINGS_CLI_BUNDLE_WAYS_H_

#include <string>
#include <vector>

#include "tuneonce/bundle.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/problem.h"

namespace tuneonce::cli {

/// One way to build one config of a bundle on a target, which a search there would compile.
struct BundleWay {
  const Variant* variant = nullptr;  ///< A variant of BundleWays::definition.
  Config config;
  KernelSource source;
  Hints hints;
  Fingerprint key;  ///< PrecompiledKey.
};

/// All ways to build a bundle on one target. A definition's functions are called as a search calls them.
struct BundleWays {
  std::vector<Config> configs;       ///< The configs of the target, in the space's order.
  std::vector<Fingerprint> kernels;  ///< KernelFingerprint, for each combination of dtypes.
  std::vector<BundleWay> ways;  ///< For all combinations of dtypes: by variant that accepts the dtypes, then by config.
};

/// The dtypes of the tensors whose dtype the bundle leaves open: `settings` ("x=float16", a name several times for
/// several), else all that variants are for, else the example's. One problem for each combination; its dims are 0.
/// Errors: InvalidArgument for a name that is no such tensor's, or no dtype.
Result<std::vector<Problem>> ProblemsOf(const KernelDefinition& definition, const Bundle::Example& example,
                                        const std::vector<std::string>& settings);

/// REQUIRES: `definition` was validated, and outlives the result. Errors: Unimplemented if no variant runs on the
/// target; those of the definition's functions.
Result<BundleWays> WaysOn(const KernelDefinition& definition, const Target& target, std::vector<Problem> problems);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_BUNDLE_WAYS_H_
