#ifndef TUNEONCE_TOOLS_TUNING_TUNE_SHAPES_H_
#define TUNEONCE_TOOLS_TUNING_TUNE_SHAPES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuneonce/autotune_policy.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/runtime.h"
#include "tuning/tune_job.h"

namespace tuneonce {
inline namespace v0 {

/// A line of a file of shapes: a bundle, and at which shape it is to be tuned.
struct WantedShape {
  std::size_t line = 0;  ///< From 1 on.
  std::string bundle;    ///< The name by which it is found.
  TuneJob job;
  Status wrong;  ///< The error of an invalid line, which has no job.
};

struct WantedShapes {
  std::map<std::string, Bundle> bundles;  ///< The bundles that lines name, by that name.
  std::vector<WantedShape> shapes;        ///< In the file's order. A repeated shape is listed once.
  std::size_t num_of_others = 0;          ///< Lines of other kernels than the one that was asked for.
};

/// Reads a file of shapes that a process recorded (TUNEONCE_RECORD_SHAPES) or a person wrote: "M=64 N=4096", or "matmul
/// M=64 N=4096". With `bundle` it uses the lines of that kernel and those without a kernel. Without it, it uses all
/// lines, which must name their kernels. `shape` and `scalars` apply to all lines, whose own values take precedence.
/// Errors: those of reading the file; InvalidArgument for an invalid line or a file without lines; those of
/// Bundle::Load for `bundle`. A mistake in a shape is part of that line's result.
Result<WantedShapes> ReadShapes(const std::string& path, const std::string& bundle, const Device& device,
                                const std::vector<std::string>& shape, const std::vector<std::string>& scalars,
                                const std::shared_ptr<Runtime>& runtime);

/// Says what tuning these shapes would do, about how long it would take and how much device memory: `tune --dry-run`.
/// Nothing is compiled, loaded, launched or stored. `budget_ms`: what --budget leaves of it. `continues`: stored
/// searches that were cut short are continued. Errors: those of a shape, after all were looked at.
Status EstimateTuning(const WantedShapes& wanted, const Device& device, const AutotunePolicy& policy,
                      std::optional<std::int64_t> budget_ms, bool continues, bool json);

struct TuneManyOptions {
  AutotunePolicy policy;
  std::optional<std::int64_t> budget_ms;           ///< For all together.
  const std::atomic<bool>* interrupted = nullptr;  ///< Ends it in order.
  bool json = false;
  bool quiet = false;
  bool continues = false;  ///< Continue stored searches that were cut short, after all other keys.
};

/// Warms up all shapes by one WarmupAll, prints one line for each key when it is done, and then a summary. Results stay
/// in the policy's store, so that the same call continues where an earlier one ended. Errors, after all shapes were
/// tried: a shape failed or was not reached.
Status TuneMany(const WantedShapes& wanted, const Device& device, TuneManyOptions options);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_TUNING_TUNE_SHAPES_H_
