#include "search/in_process_runner.h"

#include "base/callback.h"
#include "tuneonce/cuda/cuda_status.h"
#include "tuneonce/kernel/launch.h"
#include "tuneonce/kernel/parameter_block.h"
#include "tuneonce/kernel/split_buffer.h"

namespace tuneonce {
namespace {

TrialResult Fail(const Candidate& candidate, FailureKind kind, const Status& status) {
  TrialResult result;
  if (status.code() == StatusCode::kResourceExhausted) kind = FailureKind::kResources;
  result.failure = Failure{candidate.config, kind, status.message()};
  if (status.sticky()) {
    result.fatal = status.WithPrefix("kernel '" + candidate.definition->name() + "', candidate {" +
                                     candidate.config.ToString() + "}");
  }
  return result;
}

}  // namespace

Result<TimedResult> InProcessRunner::Measure(const Candidate& candidate, const LoadedKernel& loaded,
                                             bool* launch_refused) {
  const DriverApi& api = stream_.api();
  TUNEONCE_ASSIGN_OR_RETURN(SplitBuffers split, SplitBuffers::Create(*candidate.definition, candidate.call, stream_));
  TUNEONCE_ASSIGN_OR_RETURN(ParameterLayout layout,
                            ParameterLayout::Create(*candidate.definition, candidate.convention));
  std::vector<DeviceBuffer> workspaces;
  std::vector<std::uint64_t> addresses;
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::size_t> workspace_bytes, CallUser("a workspace function", [&] {
                              return layout.WorkspaceBytes(candidate.config, candidate.call.problem);
                            }));
  for (std::size_t bytes : workspace_bytes) {
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer workspace, DeviceBuffer::Allocate(stream_, bytes));
    addresses.push_back(workspace.get());
    workspaces.push_back(std::move(workspace));
  }
  ParameterBlock block;
  TUNEONCE_RETURN_IF_ERROR(CallUser("a derived parameter's function", [&] {
    return layout.Fill(split.trial_call(), candidate.config, addresses.data(), &block);
  }));
  TimedRun run;
  run.prepare = [&] { return split.Restore(); };
  run.launch = [&] {
    CUresult result =
        LaunchKernel(api.launch_path(), loaded.kernel.get(), candidate.geometry, stream_.get(), block.pointers());
    *launch_refused = result != CUDA_SUCCESS && !IsSticky(result);
    return CudaStatus(api, result, "cuLaunchKernelEx");
  };
  Result<TimedResult> timed = timer_.Time(stream_, run);
  // The scratch memory goes back when the stream gets there; a fault shows here at the latest.
  Status finished = stream_.Synchronize();
  if (timed.ok() && !finished.ok()) return finished;
  return timed;
}

TrialResult InProcessRunner::Run(const Candidate& candidate) {
  if (Status geometry = candidate.geometry.Check(); !geometry.ok()) {
    return Fail(candidate, FailureKind::kLaunch, geometry);
  }
  Result<std::shared_ptr<const LoadedKernel>> loaded = LoadCandidate(stream_.api(), candidate);
  if (!loaded.ok()) return Fail(candidate, FailureKind::kLoad, loaded.status());
  bool launch_refused = false;
  Result<TimedResult> timed = Measure(candidate, **loaded, &launch_refused);
  if (!timed.ok()) {
    return Fail(candidate, launch_refused ? FailureKind::kLaunch : FailureKind::kRun, timed.status());
  }
  TrialResult result;
  result.timed = *timed;
  result.kernel = *loaded;
  return result;
}

}  // namespace tuneonce
