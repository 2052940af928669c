#ifndef TUNEONCE_TOOLS_TUNING_TUNE_JOB_H_
#define TUNEONCE_TOOLS_TUNING_TUNE_JOB_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

struct InputShape;  // A shape by index; opaque to the tools' users.

/// The bundle's kernel without the selections that it ships: tuning was asked for.
KernelDefinition Undecided(const Bundle& bundle);

/// A shape at which a bundle is to be tuned.
struct TuneJob {
  TunedKernel::Shape shape;                  ///< Dims, open dtypes, and the scalars that are not left to the bundle.
  std::shared_ptr<const InputShape> inputs;  ///< The values by index. Not null.
  std::string text;                          ///< "M=64, N=32"
};

/// The bundle's example (that for the CPU device there), `shape` ("M=4096", "causal=1", "x=float16") and `scalars`
/// ("eps=1e-5") put in. Errors: InvalidArgument for a setting that names nothing or a dim without a value.
Result<TuneJob> MakeTuneJob(const Bundle& bundle, const Device& device, const std::vector<std::string>& shape,
                            const std::vector<std::string>& scalars);

/// Returns OK if some config accepts the shape. A search measures the baseline without checking guards, so nothing may
/// run at a shape that no config accepts. Errors: that of the first config.
Status CheckShape(const KernelDefinition& definition, const Target& target, const InputShape& inputs);

/// The results of a shape's warm-up, which tunes, and of its launches, which are hits.
struct TunedRun {
  TuningRecord record;         ///< The record of the search, or the one of the store that served without a search.
  bool is_from_store = false;  ///< Whether the store had the record, so that nothing was searched.
  std::string key;             ///< "M<=128, x:float16"
  double first_call_ms = 0;
  double hit_host_us = 0;  ///< Host time of a launch once tuned: the mean of 10.
};

/// Makes a TunedKernel, whose observer this function is, warms `shape` up and launches it 11 times with `arguments`;
/// what fails while tuning is an error. `continues`: a stored search that was cut short is continued.
Result<TunedRun> RunTuned(const KernelDefinition& definition, const Device& device, StreamView stream,
                          const TunedKernel::Shape& shape, const std::vector<Argument>& arguments,
                          AutotunePolicy policy, bool continues = false);

struct BundleReport {
  TunedRun run;
  std::string device_name;
  int driver_version = 0;  ///< 13000 for 13.0.
  std::string shape;       ///< "M=64, N=32"
};

/// Tunes a bundle as a warm-up does, on the values that it declares (WarmupInputs), and launches it. The shape is the
/// example's (the one for the CPU device there) with the changes of `shape` ("M=4096", "causal=1", "x=float16") and
/// `scalars` ("eps=1e-5"). Candidates' outputs are compared with the baseline's. Errors: InvalidArgument for a setting
/// with an unknown name, or a dim without a value; those of tuning. `continues`: as for RunTuned.
Result<BundleReport> TuneBundle(const Bundle& bundle, const Device& device, const std::vector<std::string>& shape,
                                const std::vector<std::string>& scalars, AutotunePolicy policy, bool continues = false);

/// Adds data from a search's trace (Runtime::EndTrace) to the JSON of its record's file: `timeline`, which
/// docs/internal/json_output.md describes, with the samples of each measured candidate. The size is limited, and
/// further entries are only counted. Without such events `json` does not change.
void AddTimeline(const TuningRecord& record, const std::string& trace, nlohmann::ordered_json* json);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_TUNING_TUNE_JOB_H_
