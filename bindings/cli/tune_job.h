#ifndef TUNEONCE_BINDINGS_CLI_TUNE_JOB_H_
#define TUNEONCE_BINDINGS_CLI_TUNE_JOB_H_

#include <string>
#include <vector>

#include "runtime/warmup_inputs.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/target.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce::cli {

/// The bundle's kernel without the selections that it ships: tuning was asked for.
KernelDefinition Undecided(const Bundle& bundle);

/// A shape at which a bundle is to be tuned.
struct TuneJob {
  TunedKernel::Shape shape;  ///< Dims, open dtypes, and the scalars that are not left to the bundle.
  InputShape inputs;         ///< The values by index.
  std::string text;          ///< "M=64, N=32"
};

/// The bundle's example (that for the CPU device there), `shape` ("M=4096", "causal=1", "x=float16") and `scalars`
/// ("eps=1e-5") put in. Errors: InvalidArgument for a setting that names nothing or a dim without a value.
Result<TuneJob> MakeTuneJob(const Bundle& bundle, const Device& device, const std::vector<std::string>& shape,
                            const std::vector<std::string>& scalars);

/// Returns OK if some config accepts the shape. A search measures the baseline without checking guards, so nothing may
/// run at a shape that no config accepts. Errors: that of the first config.
Status CheckShape(const KernelDefinition& definition, const Target& target, const InputShape& inputs);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_TUNE_JOB_H_
