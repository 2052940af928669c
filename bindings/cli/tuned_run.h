#ifndef TUNEONCE_BINDINGS_CLI_TUNED_RUN_H_
#define TUNEONCE_BINDINGS_CLI_TUNED_RUN_H_

#include <string>
#include <vector>

#include "tuneonce/stream.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce::cli {

/// The results of a shape's warm-up, which tunes, and of its launches, which are hits.
struct TunedRun {
  TuningRecord record;         ///< The record of the search, or the one of the store that served without a search.
  bool is_from_store = false;  ///< Whether the store had the record, so that nothing was searched.
  std::string key;             ///< "M<=128, x:float16"
  double first_call_ms = 0;
  double hit_host_us = 0;  ///< Host time of a launch once tuned: the mean of 10.
};

/// Makes a TunedKernel, whose observer this function is, warms `shape` up and launches it 11 times with `arguments`;
/// what fails while tuning is an error.
Result<TunedRun> RunTuned(const KernelDefinition& definition, const Device& device, StreamView stream,
                          const TunedKernel::Shape& shape, const std::vector<Argument>& arguments,
                          AutotunePolicy policy);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_TUNED_RUN_H_
