#ifndef TUNEONCE_DOCS_EXAMPLES_TUNED_RUN_H_
#define TUNEONCE_DOCS_EXAMPLES_TUNED_RUN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tuneonce/stream.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_result.h"

namespace tuneonce::examples {

/// Number of elements of a tensor. Errors: InvalidArgument if there are more than 2^40, which no device holds.
Result<std::int64_t> ElementCount(const std::vector<std::int64_t>& extents);

/// What the first launch of a shape, which tunes, and further ones, which are hits, came to.
struct TunedRun {
  TuningResult result;  ///< Without the compiled kernels, so that it outlives the context.
  double first_call_ms = 0;
  double hit_host_us = 0;  ///< Host time of a launch once tuned: the mean of 10.
};

/// Makes a TunedKernel, whose observer this function is, and launches it 11 times; what fails while tuning is an error.
/// `after_first`: called when the first launch is through. `warm_up`: if not null, that shape is warmed up before, and
/// its time is the first call's.
Result<TunedRun> RunTuned(const KernelDefinition& definition, const Device& device, StreamView stream,
                          const std::vector<Argument>& arguments, AutotunePolicy policy,
                          const std::function<Status()>& after_first = nullptr,
                          const TunedKernel::Shape* warm_up = nullptr);

}  // namespace tuneonce::examples

#endif  // TUNEONCE_DOCS_EXAMPLES_TUNED_RUN_H_
