#ifndef TUNEONCE_BINDINGS_CLI_TUNE_MANY_H_
#define TUNEONCE_BINDINGS_CLI_TUNE_MANY_H_

#include <atomic>
#include <cstdint>
#include <optional>

#include "tune_shapes.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"

namespace tuneonce::cli {

struct TuneManyOptions {
  AutotunePolicy policy;
  std::optional<std::int64_t> budget_ms;           ///< For all together.
  const std::atomic<bool>* interrupted = nullptr;  ///< Ends it in order.
  bool json = false;
  bool quiet = false;
};

/// Warms up all shapes by one WarmupAll, prints one line for each key when it is done, and then a summary. Results stay
/// in the policy's store, so that the same call continues where an earlier one ended. Errors, after all shapes were
/// tried: a shape failed or was not reached.
Status TuneMany(const WantedShapes& wanted, const Device& device, TuneManyOptions options);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_TUNE_MANY_H_
