// A plugin that tunes a kernel with a tuneonce of its own, of which it exports nothing. Build it, then the host:
//   g++ -std=c++17 -shared -fPIC -fvisibility=hidden plugin.cc $(pkg-config --cflags --libs tuneonce) -o libplugin.so
#include <tuneonce/tuned_kernel.h>

#include <cstdio>

namespace to = tuneonce;

constexpr char kCudaSource[] = R"(
__global__ void twice(float* y, int n) {
  for (int i = blockIdx.x * TILE + threadIdx.x; i < n && i < (blockIdx.x + 1) * TILE; i += 128) y[i] *= 2;
})";
constexpr char kCpuSource[] = R"(
static void twice(const tuneonce_block& block, float* y, int n) {
  for (int i = block.x * TILE; i < n && i < int(block.x + 1) * TILE; ++i) y[i] *= 2;
}
TUNEONCE_CPU_KERNEL(twice);)";

to::KernelDefinition Twice() {
  to::SearchSpace space;
  const to::IntAxis tile = space.AddAxis("TILE", {256, 1024, 4096});
  space.SetBaseline({{tile, 256}});
  to::KernelDefinition twice("twice");
  twice.Parameters({to::InOut("y", to::kFloat32, {"N"}), to::DimValue("N")});
  twice.Space(space).Grid(to::Grid::OneD({"N", tile}));
  twice.AddVariant(to::CudaCpp(kCudaSource, "twice").Block(128)).AddVariant(to::CpuCpp(kCpuSource, "twice"));
  return twice;
}

/// Returns the plugin's kernel. It is never destroyed, so that no driver call follows main.
to::Result<to::TunedKernel>& Kernel() {
  // Contexts of the CPU device are recognized after it was opened by name.
  static const bool has_device = to::OpenDevice("cuda").ok() || to::OpenDevice("cpu").ok();
  static auto* const kernel = new to::Result<to::TunedKernel>(has_device ? to::TunedKernel::Create(Twice())
                                                                         : to::UnavailableError("there is no device"));
  return *kernel;
}

/// Multiplies `n` floats of device memory by 4, in the current context. Returns 0, or 1 after printing an error.
extern "C" [[gnu::visibility("default")]] int Quadruple(CUstream stream, float* y, int n) {
  to::Status status = Kernel().status();
  for (int i = 0; i < 2 && status.ok(); ++i) {
    status = Kernel()->Launch(stream, to::TensorView::Contiguous(y, to::kFloat32, {n}));
  }
  if (!status.ok()) std::fprintf(stderr, "plugin: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
