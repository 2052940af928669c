#ifndef TUNEONCE_BENCHMARKS_BEST_KERNEL_H_
#define TUNEONCE_BENCHMARKS_BEST_KERNEL_H_

#include "tuneonce/device.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {

/// What a search of `definition`, whose sources ask for nothing but the config, found best: ready for a raw launch.
inline Result<CompiledKernel> BestKernel(const Device& device, const KernelDefinition& definition,
                                         const CandidateOutcome& best) {
  for (const Variant& variant : definition.variants()) {
    if (variant.name != best.variant) continue;
    Hints hints = variant.hints ? variant.hints(best.config) : Hints::OfConfig(best.config);
    return CompiledKernel::Create(device, variant.source(best.config, Problem()), hints, best.geometry);
  }
  return NotFoundError("no variant '" + best.variant + "'");
}

}  // namespace tuneonce

#endif  // TUNEONCE_BENCHMARKS_BEST_KERNEL_H_
