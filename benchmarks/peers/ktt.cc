// What KTT adds to cuLaunchKernelEx by hand when it runs a configuration that it was given, by the two ways it has:
//   Tuner::Run                          a kernel from outside; it waits for the end, so the raw launch beside it waits
//   too; ComputeInterface::RunKernelAsync    inside a launcher of the host's, where it does not wait.
// A Tuner has no keys by size (a host keeps its own), and is for one thread.
//
//   peers_ktt FOLDER_OF_VECTOR_ADD > JSON
#include <Ktt.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu_bench.h"

namespace {

/// vector_add in a Tuner that uses the bench's context, first stream and buffer.
class TunedVectorAdd {
 public:
  explicit TunedVectorAdd(const peers::GpuBench& bench)
      : tuner_(ktt::ComputeApi::CUDA, ktt::ComputeApiInitializer(bench.context, {bench.stream(0)})) {
    definition_ = tuner_.AddKernelDefinition("vector_add", bench.source, ktt::DimensionVector(1),
                                             ktt::DimensionVector(peers::kBlock));
    std::vector<ktt::ArgumentId> arguments;
    for (ktt::ArgumentAccessType access :
         {ktt::ArgumentAccessType::ReadOnly, ktt::ArgumentAccessType::ReadOnly, ktt::ArgumentAccessType::WriteOnly}) {
      arguments.push_back(tuner_.AddArgumentVector<float>(reinterpret_cast<ktt::ComputeBuffer>(bench.buffer),
                                                          bench.kBytes, access, ktt::ArgumentMemoryLocation::Device));
    }
    arguments.push_back(tuner_.AddArgumentScalar(static_cast<long long>(peers::kFirstSize)));
    tuner_.SetArguments(definition_, arguments);
    run_ = AddKernel("run");
    in_launcher_ = AddKernel("in_launcher");
    tuner_.SetLauncher(in_launcher_, [this](ktt::ComputeInterface& compute) { launcher_(compute); });
  }

  peers::Way Run() {
    return {"Tuner::Run", 1, true, [this](int, int count) {
              ktt::KernelConfiguration configuration = ConfigurationOf(run_);
              for (int i = 0; i < count; ++i) MustBeOk(tuner_.Run(run_, configuration, {}));
            }};
  }

  /// Calls `measure` inside a launcher of KTT's, with the way to launch there.
  void InLauncher(const std::function<void(const peers::Way&)>& measure) {
    launcher_ = [this, &measure](ktt::ComputeInterface& compute) {
      std::vector<ktt::ComputeActionId> actions;
      actions.reserve(peers::kBatch);
      ktt::QueueId queue = compute.GetDefaultQueue();
      auto launch = [&](int, int count) {
        for (int i = 0; i < count; ++i) actions.push_back(compute.RunKernelAsync(definition_, queue));
      };
      collect_ = [&] {
        for (ktt::ComputeActionId action : actions) compute.WaitForComputeAction(action);
        actions.clear();
      };
      measure({"RunKernelAsync", 1, false, launch});
      collect_();
    };
    MustBeOk(tuner_.Run(in_launcher_, ConfigurationOf(in_launcher_), {}));
  }
  /// Frees what KTT keeps of each RunKernelAsync, as it asks for. For between batches.
  void Collect() { collect_(); }

 private:
  ktt::KernelId AddKernel(const std::string& name) {
    ktt::KernelId kernel = tuner_.CreateSimpleKernel(name, definition_);
    tuner_.AddParameter(kernel, "BLOCK", std::vector<std::uint64_t>{peers::kBlock});
    return kernel;
  }
  ktt::KernelConfiguration ConfigurationOf(ktt::KernelId kernel) {
    return tuner_.CreateConfiguration(kernel, {{"BLOCK", std::uint64_t{peers::kBlock}}});
  }
  static void MustBeOk(const ktt::KernelResult& result) {
    if (result.IsValid()) return;
    std::fprintf(stderr, "KTT could not run the kernel; its own lines are above\n");
    std::exit(1);
  }

  ktt::Tuner tuner_;
  ktt::KernelDefinitionId definition_ = 0;
  ktt::KernelId run_ = 0, in_launcher_ = 0;
  std::function<void(ktt::ComputeInterface&)> launcher_;
  std::function<void()> collect_;
};

int Main(const std::string& folder) {
  peers::GpuBench bench(folder);
  ktt::Tuner::SetLoggingLevel(ktt::LoggingLevel::Error);
  TunedVectorAdd kernel(bench);
  std::vector<std::string> rows = bench.Compare({bench.Raw(false), bench.Raw(true), kernel.Run()}, 1);
  kernel.InLauncher([&](const peers::Way& async) {
    auto enter = [&](int) {
      peers::Check(cuCtxSetCurrent(bench.context), "cuCtxSetCurrent");
      return std::shared_ptr<void>();
    };
    auto drain = [&](int lane) {
      kernel.Collect();
      peers::Check(cuStreamSynchronize(bench.stream(lane)), "cuStreamSynchronize");
    };
    for (const std::string& row : peers::Compare({bench.Raw(false), async}, 1, enter, drain)) rows.push_back(row);
  });
  peers::PrintReport("KTT", "C++", ktt::GetKttVersionString(), bench.device_name, false, rows);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: peers_ktt FOLDER_OF_VECTOR_ADD > JSON\n");
    return 2;
  }
  try {
    return Main(argv[1]);
  } catch (const std::exception& error) {  // KTT's.
    std::fprintf(stderr, "KTT: %s\n", error.what());
    return 1;
  }
}
