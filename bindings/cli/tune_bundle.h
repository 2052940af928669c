#ifndef TUNEONCE_BINDINGS_CLI_TUNE_BUNDLE_H_
#define TUNEONCE_BINDINGS_CLI_TUNE_BUNDLE_H_

#include <string>
#include <vector>

#include "tuned_run.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce::cli {

struct BundleReport {
  TunedRun run;
  std::string device_name;
  int driver_version = 0;  ///< 13000 for 13.0.
  std::string shape;       ///< "M=64, N=32"
};

/// Tunes a bundle as a warm-up does, on the values that it declares (WarmupInputs), and launches it. The shape is the
/// example's (the one for the CPU device there) with the changes of `shape` ("M=4096", "causal=1", "x=float16") and
/// `scalars` ("eps=1e-5"). Candidates' outputs are compared with the baseline's. Errors: InvalidArgument for a setting
/// with an unknown name, or a dim without a value; those of tuning.
Result<BundleReport> TuneBundle(const Bundle& bundle, const Device& device, const std::vector<std::string>& shape,
                                const std::vector<std::string>& scalars, AutotunePolicy policy);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_TUNE_BUNDLE_H_
