// What Kernel Launcher adds to cuLaunchKernelEx by hand, by the two ways its documentation names:
//   WisdomKernel::launch     one kernel, whose config was chosen for the problem size of its first launch; it has no
//   keys; KernelRegistry::launch   a WisdomKernel by descriptor, here by problem size: its cache of many.
// No wisdom file is read: which config a launch runs does not change what a launch costs.
//
//   peers_kernel_launcher FOLDER_OF_VECTOR_ADD > JSON
#include <kernel_launcher.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gpu_bench.h"

namespace {

namespace kl = kernel_launcher;

/// NVRTC's answer, asked once: 4096 problem sizes of the same code would otherwise compile for minutes.
class CompiledOnce : public kl::ICompiler {
 public:
  void compile_ptx(kl::KernelDef definition, kl::CudaArch arch, std::string& ptx, std::string& symbol) const override {
    std::lock_guard<std::mutex> lock(kept_->mutex);
    if (kept_->ptx.empty()) kl::NvrtcCompiler().compile_ptx(std::move(definition), arch, kept_->ptx, kept_->symbol);
    ptx = kept_->ptx;
    symbol = kept_->symbol;
  }

 private:
  struct Kept {
    std::mutex mutex;
    std::string ptx, symbol;
  };
  std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

/// The default config, in place of a wisdom file's; nothing is captured.
struct DefaultConfig : kl::IWisdomSettings {
  kl::Config load_config(const std::string&, const kl::ConfigSpace& space, kl::ProblemSize, kl::CudaDevice,
                         int* capture_skip) const override {
    if (capture_skip != nullptr) *capture_skip = -1;
    return space.default_config();
  }
  void capture_kernel(const std::string&, const kl::KernelBuilder&, kl::ProblemSize, const std::vector<kl::KernelArg>&,
                      const std::vector<std::vector<std::uint8_t>>&,
                      const std::vector<std::vector<std::uint8_t>>&) const override {}
};

kl::KernelBuilder VectorAdd(const std::string& source) {
  kl::KernelBuilder builder("vector_add", kl::KernelSource("vector_add.cu", source));
  kl::ParamExpr block = builder.tune("BLOCK", std::vector<int>{static_cast<int>(peers::kBlock), 128, 512});
  auto [x, y, z, n] = kl::args<4>();
  builder.define(block).problem_size(n).block_size(block).grid_divisors(block);
  return builder;
}

/// vector_add for one problem size, as KernelRegistry's key.
class SizedVectorAdd : public kl::IKernelDescriptor {
 public:
  SizedVectorAdd(const std::string* source, long long n) : source_(source), n_(n) {}
  kl::KernelBuilder build() const override { return VectorAdd(*source_); }
  bool equals(const kl::IKernelDescriptor& other) const override {
    const auto* that = dynamic_cast<const SizedVectorAdd*>(&other);
    return that != nullptr && that->n_ == n_;
  }
  kl::hash_t hash() const override { return static_cast<kl::hash_t>(n_) * 0x9E3779B97F4A7C15U; }

 private:
  const std::string* source_;  // Outlives all descriptors.
  long long n_;
};

peers::Way ByWisdomKernel(const peers::GpuBench& bench) {
  auto kernel = std::make_shared<kl::WisdomKernel>(VectorAdd(bench.source), kl::Compiler(CompiledOnce()),
                                                   kl::WisdomSettings(std::make_shared<DefaultConfig>()));
  auto* data = reinterpret_cast<float*>(bench.buffer);
  auto launch = [&bench, kernel, data](int lane, int count) {
    const float* input = data;
    for (int i = 0; i < count; ++i) {
      kernel->launch(bench.stream(lane), input, input, data, static_cast<long long>(peers::kFirstSize));
    }
  };
  launch(0, 1);
  return {"WisdomKernel::launch", 1, false, launch};
}

peers::Way ByRegistry(const peers::GpuBench& bench, long keys) {
  auto registry = std::make_shared<kl::KernelRegistry>(kl::Compiler(CompiledOnce()),
                                                       kl::WisdomSettings(std::make_shared<DefaultConfig>()));
  auto walks = std::make_shared<std::vector<peers::SizeWalk>>(peers::kManyThreads, peers::SizeWalk(keys));
  auto* data = reinterpret_cast<float*>(bench.buffer);
  auto launch = [&bench, registry, walks, data](int lane, int count) {
    const float* input = data;
    peers::SizeWalk walk = (*walks)[static_cast<std::size_t>(lane)];
    for (int i = 0; i < count; ++i) {
      long long n = walk.Next();
      registry->launch(SizedVectorAdd(&bench.source, n), bench.stream(lane), input, input, data, n);
    }
    (*walks)[static_cast<std::size_t>(lane)] = walk;
  };
  for (long done = 0; done < keys; done += peers::kBatch) {  // One walk meets every key.
    launch(0, peers::kBatch);
    peers::Check(cuStreamSynchronize(bench.stream(0)), "cuStreamSynchronize");
  }
  return {"KernelRegistry::launch", keys, false, launch};
}

int Main(const std::string& folder) {
  peers::GpuBench bench(folder);
  std::vector<peers::Way> ways = {bench.Raw(false), ByWisdomKernel(bench)};
  for (long keys : {1L, 64L, peers::kMostKeys}) ways.push_back(ByRegistry(bench, keys));
  std::vector<std::string> rows;
  for (int threads : {1, peers::kManyThreads}) {
    for (const std::string& row : bench.Compare(ways, threads)) rows.push_back(row);
  }
  peers::PrintReport("Kernel Launcher", "C++", "", bench.device_name, false, rows);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: peers_kernel_launcher FOLDER_OF_VECTOR_ADD > JSON\n");
    return 2;
  }
  try {
    return Main(argv[1]);
  } catch (const std::exception& error) {  // Kernel Launcher's.
    std::fprintf(stderr, "Kernel Launcher: %s\n", error.what());
    return 1;
  }
}
