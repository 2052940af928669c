#ifndef TUNEONCE_BINDINGS_CLI_TUNE_ESTIMATE_H_
#define TUNEONCE_BINDINGS_CLI_TUNE_ESTIMATE_H_

#include <cstdint>
#include <optional>

#include "tune_shapes.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"

namespace tuneonce::cli {

/// Says what tuning these shapes would do, about how long it would take and how much device memory: `tune --dry-run`.
/// Nothing is compiled, loaded, launched or stored. `budget_ms`: what --budget leaves of it. Errors: those of a shape,
/// after all were looked at.
Status EstimateTuning(const WantedShapes& wanted, const Device& device, const AutotunePolicy& policy,
                      std::optional<std::int64_t> budget_ms, bool json);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_TUNE_ESTIMATE_H_
