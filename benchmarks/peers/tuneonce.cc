// What TunedKernel::Launch adds to cuLaunchKernelEx by hand: ours among the programs of benchmarks/peers. All that they
// use of tuneonce's API is in this file.
//
//   peers_tuneonce FOLDER_OF_VECTOR_ADD [cpu|cuda [short]] > JSON
//
// short: two rounds and no more than 64 keys, to see that it runs.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cuda/driver_api.h"
#include "cuda/library.h"
#include "interleaved.h"
#include "store/memory_store.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

constexpr int kBlock = 256;  // As in the bundle.

void Check(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}
template <typename T>
T Check(Result<T> result) {
  Check(result.status());
  return *std::move(result);
}

/// One stream a thread, one buffer that is all three tensors.
struct Bench {
  explicit Bench(const std::string& name)
      : device(Check(OpenDevice(name))), context(Check(Context::RetainPrimary(device))), current(context.view()) {
    for (int lane = 0; lane < peers::kManyThreads; ++lane) streams.push_back(Check(Stream::Create(device.api())));
    buffer.push_back(Check(DeviceBuffer::Allocate(
        streams[0].view(), static_cast<std::size_t>(peers::kFirstSize + peers::kMostKeys) * sizeof(float))));
    Check(buffer[0].Fill(0));
    Check(streams[0].view().Synchronize());
  }
  TensorView View(std::int64_t n) const { return TensorView::Contiguous(buffer[0].data(), DType::kFloat32, {n}); }

  Device device;
  Context context;
  ScopedContext current;
  std::vector<Stream> streams;
  std::vector<DeviceBuffer> buffer;
};

/// The bundle's kernel, launched by hand.
peers::Way Raw(const Bench& bench, const std::string& folder) {
  bool is_cpu = bench.device.api().is_cpu_device();
  std::ostringstream text;
  text << std::ifstream(folder + (is_cpu ? "/vector_add.cpu.cc" : "/vector_add.cu")).rdbuf();
  KernelSource source =
      is_cpu ? KernelSource::CpuCpp(text.str(), "vector_add") : KernelSource::CudaCpp(text.str(), "vector_add");
  const Toolchain* toolchain = Check(Runtime::Default()->toolchains().For(source.kind));
  Target target = Target::Of(Check(bench.device.Identity()));
  Artifact artifact = Check(toolchain->Compile(source.Define("BLOCK", kBlock), Hints(), target));
  auto library = std::make_shared<Library>(Check(Library::Load(bench.device.api(), artifact.image)));
  KernelHandle kernel = Check(library->GetKernel("vector_add"));
  auto launch = [&bench, library, kernel, is_cpu](int lane, int count) {
    CUdeviceptr pointer = bench.buffer[0].get();
    std::int64_t n = peers::kFirstSize;
    for (int i = 0; i < count; ++i) {
      void* parameters[] = {&pointer, &pointer, &pointer, &n};
      CUlaunchConfig config{};
      config.gridDimX = static_cast<unsigned>((n + kBlock - 1) / kBlock);
      config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
      config.blockDimX = is_cpu ? 1 : kBlock;
      config.hStream = bench.streams[static_cast<std::size_t>(lane)].get();
      if (bench.device.api().launch_path().LaunchKernelEx(&config, kernel.get(), parameters, nullptr) != CUDA_SUCCESS) {
        Check(InternalError("the raw launch failed"));
      }
    }
  };
  return {"raw", 1, false, launch};
}

/// A kernel with `keys` ready ones.
std::shared_ptr<TunedKernel> ready(const Bench& bench, const std::string& folder, long keys) {
  AutotunePolicy policy;
  policy.store = std::make_shared<MemoryStore>();
  auto kernel = std::make_shared<TunedKernel>(Check(TunedKernel::FromBundle(folder, policy)));
  std::vector<TunedKernel::Shape> shapes;
  for (long i = 0; i < keys; ++i) shapes.push_back({{"N", peers::kFirstSize + i}});
  Check(kernel->Warmup(bench.streams[0].get(), shapes));
  return kernel;
}

peers::Way Tuned(const Bench& bench, std::shared_ptr<TunedKernel> kernel, long keys) {
  auto walks = std::make_shared<std::vector<peers::SizeWalk>>(peers::kManyThreads, peers::SizeWalk(keys));
  auto launch = [&bench, kernel = std::move(kernel), walks](int lane, int count) {
    peers::SizeWalk walk = (*walks)[static_cast<std::size_t>(lane)];
    CUstream stream = bench.streams[static_cast<std::size_t>(lane)].get();
    TensorView view = bench.View(peers::kFirstSize);
    for (int i = 0; i < count; ++i) {
      view.shape[0] = walk.Next();
      view.bytes = static_cast<std::size_t>(view.shape[0]) * sizeof(float);
      Check(kernel->Launch(stream, view, view, view));
    }
    (*walks)[static_cast<std::size_t>(lane)] = walk;
  };
  return {"TunedKernel::Launch", keys, false, launch};
}

int Main(int argc, char** argv) {
  std::string name = argc > 2 ? argv[2] : "cuda";
  bool is_short = argc == 4 && std::string(argv[3]) == "short";
  if (argc < 2 || argc > 4 || (name != "cpu" && name != "cuda") || (argc == 4 && !is_short)) {
    std::fprintf(stderr, "usage: peers_tuneonce FOLDER_OF_VECTOR_ADD [cpu|cuda [short]] > JSON\n");
    return 2;
  }
  Bench bench(name);
  std::vector<peers::Way> ways = {Raw(bench, argv[1])};
  std::vector<std::shared_ptr<TunedKernel>> kernels;
  for (long keys : {1L, 64L, peers::kMostKeys}) {
    if (is_short && keys > 64) continue;
    kernels.push_back(ready(bench, argv[1], keys));
    ways.push_back(Tuned(bench, kernels.back(), keys));
  }
  std::vector<std::string> rows;
  for (int threads : {1, peers::kManyThreads}) {
    auto enter = [&](int) { return std::make_shared<ScopedContext>(bench.context.view()); };
    auto drain = [&](int lane) { Check(bench.streams[static_cast<std::size_t>(lane)].view().Synchronize()); };
    int rounds = is_short ? 2 : peers::kRounds;
    for (const std::string& row : peers::Compare(ways, threads, enter, drain, rounds)) rows.push_back(row);
  }
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i]->counters().tunes != ways[i + 1].keys) Check(InternalError("not every launch was a hit"));
  }
  DeviceIdentity identity = Check(bench.device.Identity());
  peers::PrintReport("tuneonce", "C++", "", identity.name, identity.is_cpu_device, rows);
  return 0;
}

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) { return tuneonce::Main(argc, argv); }
