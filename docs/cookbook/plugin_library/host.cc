// Tunes a kernel of its own and loads a plugin that does, too; both use the user's store. Build and run it:
//   g++ -std=c++17 host.cc $(pkg-config --cflags --libs tuneonce) -ldl -o host && ./host ./libplugin.so
#include <dlfcn.h>
#include <tuneonce/tuned_kernel.h>

#include <cstdio>
#include <vector>

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

to::Status Run(const char* path) {
  TUNEONCE_ASSIGN_OR_RETURN(to::Device device, to::OpenDevice(to::OpenDevice("cuda").ok() ? "cuda" : "cpu"));
  TUNEONCE_ASSIGN_OR_RETURN(to::Context context, to::Context::RetainPrimary(device));
  const to::ScopedContext current(context.view());
  TUNEONCE_ASSIGN_OR_RETURN(to::Stream stream, to::Stream::Create(device.api()));
  std::vector<float> values(1000, 1.0f);
  TUNEONCE_ASSIGN_OR_RETURN(to::DeviceBuffer buffer, to::DeviceBuffer::Allocate(stream.view(), 4000));
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyFromHost(values.data(), 4000));
  const to::TensorView y = to::TensorView::Contiguous(buffer.data(), to::kFloat32, {1000});
  to::SearchSpace space;
  const to::IntAxis tile = space.AddAxis("TILE", {256, 1024, 4096});
  space.SetBaseline({{tile, 256}});
  to::KernelDefinition twice("twice");
  twice.Parameters({to::InOut("y", to::kFloat32, {"N"}), to::DimValue("N")});
  twice.Space(space).Grid(to::Grid::OneD({"N", tile}));
  twice.AddVariant(to::CudaCpp(kCudaSource, "twice").Block(128)).AddVariant(to::CpuCpp(kCpuSource, "twice"));
  void* const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) return to::NotFoundError(dlerror());
  const auto quadruple = reinterpret_cast<int (*)(CUstream, float*, int)>(dlsym(plugin, "Quadruple"));
  if (quadruple == nullptr) return to::NotFoundError("the plugin has no function 'Quadruple'");

  TUNEONCE_ASSIGN_OR_RETURN(to::TunedKernel kernel, to::TunedKernel::Create(twice));
  TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream.get(), y));
  if (quadruple(stream.get(), static_cast<float*>(y.data), 1000) != 0) return to::InternalError("the plugin failed");
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyToHost(values.data(), 4000));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  return values == std::vector<float>(1000, 8.0f) ? to::Status() : to::InternalError("1 * 2 * 4 is not 8");
}

int main(int argc, char** argv) {
  const to::Status status = Run(argc > 1 ? argv[1] : "./libplugin.so");
  std::printf("%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
