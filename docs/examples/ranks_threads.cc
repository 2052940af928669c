// Ranks that are threads of one process, one for each device: they share a search, all run the same config of each key,
// and serve it from a CUDA graph.
//
//   tuneonce_ranks_threads [cpu|cuda] [RANKS]
//
// On the CPU device ranks share devices. Prints one JSON line a rank, with a digest of what it runs; exit code 1 if a
// rank has none, or two differ, and 77 if there are fewer GPUs than ranks.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cuda/graph.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/rank_group.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuned_kernel.h"
#include "vector_add_bundle.h"

using namespace tuneonce;  // NOLINT(google-build-using-namespace)

constexpr std::int64_t kElements = 1 << 16;
constexpr int kReplays = 8;

/// What the rank runs, the same in all ranks that agree.
Result<Fingerprint> DigestOf(const TunedKernel& kernel, CUstream stream, const TunedKernel::Shape& shape) {
  TUNEONCE_ASSIGN_OR_RETURN(const LaunchPlan plan, kernel.Explain(stream, shape));
  const std::string config = plan.config ? plan.config->ToString() : "";
  return Fingerprinter().Add(plan.key).Add(config).Add(plan.variant).Finish();
}

bool HasDeviceForEach(const std::string& device_name, int ranks) {
  Result<Device> first = OpenDevice(device_name);
  Result<int> devices = first.ok() ? Device::Count(first->api()) : first.status();
  return device_name == "cpu" || (devices.ok() && *devices >= ranks);
}

Result<Fingerprint> RunRank(const std::string& device_name, std::shared_ptr<RankGroup> group) {
  TUNEONCE_ASSIGN_OR_RETURN(Device first, OpenDevice(device_name));
  TUNEONCE_ASSIGN_OR_RETURN(const int devices, Device::Count(first.api()));
  TUNEONCE_ASSIGN_OR_RETURN(Device device, Device::Get(first.api(), group->rank() % devices));
  TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
  const ScopedContext current(context.view());
  TUNEONCE_RETURN_IF_ERROR(current.status());
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
  const CUstream cu_stream = stream.get();

  AutotunePolicy policy;
  policy.store = MakeMemoryStore();  // Each rank its own, as ranks on hosts of their own have.
  policy.ranks.group = std::move(group);
  policy.ranks.exchange_code = true;  // So that each config is compiled once.
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel kernel, TunedKernel::FromBundle(vector_add_bundle, policy));
  const TunedKernel::Shape shape = {{"N", kElements}};
  TUNEONCE_RETURN_IF_ERROR(kernel.Warmup(cu_stream, {shape}));  // All ranks.
  kernel.Freeze();

  const std::size_t bytes = kElements * sizeof(float);
  TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer a, DeviceBuffer::Allocate(stream.view(), bytes));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer b, DeviceBuffer::Allocate(stream.view(), bytes));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer c, DeviceBuffer::Allocate(stream.view(), bytes));
  const std::vector<float> ones(kElements, 1.0f);
  TUNEONCE_RETURN_IF_ERROR(a.CopyFromHost(ones.data(), bytes));
  TUNEONCE_RETURN_IF_ERROR(b.CopyFromHost(ones.data(), bytes));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  const auto view = [](const DeviceBuffer& of) {
    return TensorView::Contiguous(of.data(), DType::kFloat32, {kElements});
  };
  TUNEONCE_ASSIGN_OR_RETURN(GraphExec graph, GraphExec::Capture(stream.view(), [&](CUstream into) {
                              return kernel.Launch(into, view(a), view(b), view(c));
                            }));
  for (int i = 0; i < kReplays; ++i) TUNEONCE_RETURN_IF_ERROR(graph.Launch(cu_stream));
  std::vector<float> sums(kElements);
  TUNEONCE_RETURN_IF_ERROR(c.CopyToHost(sums.data(), bytes));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  if (sums != std::vector<float>(kElements, 2.0f)) return InternalError("1 + 1 is not 2");
  return DigestOf(kernel, cu_stream, shape);
}

int main(int argc, char** argv) {
  const std::string device = argc > 1 ? argv[1] : "cpu";
  const int size = argc > 2 ? std::atoi(argv[2]) : 2;
  if (!HasDeviceForEach(device, size)) {
    std::fprintf(stderr, "SKIPPED: there is no GPU for each of %d ranks\n", size);
    return 77;
  }
  const std::vector<std::shared_ptr<RankGroup>> groups = MakeThreadRanks(size);
  std::vector<Result<Fingerprint>> digests(groups.size(), InternalError("it did not run"));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    threads.emplace_back([&, i] { digests[i] = RunRank(device, groups[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  bool is_same = true;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    if (digests[i].ok()) std::printf("{\"rank\": %zu, \"digest\": \"%s\"}\n", i, digests[i]->ToString().c_str());
    if (!digests[i].ok()) std::fprintf(stderr, "rank %zu: %s\n", i, digests[i].status().ToString().c_str());
    is_same = is_same && digests[i].ok() && digests[0].ok() && *digests[i] == *digests[0];
  }
  return is_same ? 0 : 1;
}
