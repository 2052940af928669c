#ifndef TUNEONCE_LIB_SEARCH_IN_PROCESS_TRIAL_H_
#define TUNEONCE_LIB_SEARCH_IN_PROCESS_TRIAL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/callback.h"
#include "cuda/cuda_status.h"
#include "cuda/driver_api.h"
#include "launch/launch.h"
#include "launch/launch_words.h"
#include "search/candidate.h"
#include "search/in_process_runner.h"
#include "tuneonce/timer.h"

namespace tuneonce {
inline namespace v0 {

/// One candidate that is ready for repeated launches.
struct InProcessRunner::Trial {
  const Candidate* candidate = nullptr;
  std::shared_ptr<Scratch> scratch;
  BoundCall call;  // Its tensors are the scratch's.
  TrialMemory::Charge code;
  std::shared_ptr<const LoadedKernel> loaded;
  std::optional<ParameterLayout> layout;
  std::vector<GuardedMemory::Piece> workspaces;
  std::vector<std::uint64_t> addresses;  // Addresses of the workspaces.
  ParameterBlock block;                  // Points into `call`, `addresses` and the caller's arguments.
  int placing = 0;                       // For which `block` is right.
  std::unique_ptr<PreparedRun> prepared;
  int prepared_in = 0;  // Which session: another one cannot use it.
  double warmup_us = 0;
  std::optional<OutputDifference> largest;
  int num_dissenting = 0;       // PreparedTrial::num_dissenting.
  bool launch_refused = false;  // The driver refused the launch, in contrast to a fault while running.

  const KernelDefinition& definition() const { return *candidate->definition; }
  const TrialTensors& tensors() const { return scratch->tensors; }

  TimedRun Timed(const DriverApi& api) {
    TimedRun run;
    if (tensors().needs_restore()) run.prepare = [this](CUstream) { return tensors().Restore(); };
    if (candidate->is_callable()) {
      run.launch = [this](CUstream stream) {
        TrialScope scope;
        Status launched =
            CallLauncher(definition(), *candidate->variant, candidate->config, stream, call, addresses.data());
        launch_refused = !launched.ok() && !launched.sticky();
        return launched;
      };
      return run;
    }
    run.launch = [this, &api](CUstream stream) {
      CUresult result =
          LaunchKernel(api.launch_path(), loaded->function, candidate->geometry, stream, block.pointers());
      launch_refused = result != CUDA_SUCCESS && !IsSticky(result);
      return CudaStatus(api, result, "cuLaunchKernelEx");
    };
    return run;
  }
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_IN_PROCESS_TRIAL_H_
