// Tunes a kernel whose dynamic shared memory depends on the config. To build and run it:
//   g++ -std=c++17 shared_memory.cc $(pkg-config --cflags --libs tuneonce) && ./a.out
#include <tuneonce/tuned_kernel.h>

#include <cstdio>
#include <vector>

namespace to = tuneonce;

constexpr char kCudaSource[] = R"(
__global__ void swap(float* y, int n) {  // Exchanges y[i] and y[n - 1 - i]; block b has the b-th TILE of both halves.
  extern __shared__ float part[];        // It has TILE elements.
  const int first = blockIdx.x * TILE, count = min(TILE, n / 2 - first);
  for (int i = threadIdx.x; i < count; i += 128) part[i] = y[first + i];
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += 128) y[first + i] = y[n - 1 - first - i];
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += 128) y[n - 1 - first - i] = part[i];
})";
constexpr char kCpuSource[] = R"(
static void swap(const tuneonce_block& block, float* y, int n) {
  float* part = static_cast<float*>(block.shared);
  const int first = block.x * TILE, count = n / 2 - first < TILE ? n / 2 - first : TILE;
  for (int i = 0; i < count; ++i) part[i] = y[first + i];
  for (int i = 0; i < count; ++i) y[first + i] = y[n - 1 - first - i];
  for (int i = 0; i < count; ++i) y[n - 1 - first - i] = part[i];
}
TUNEONCE_CPU_KERNEL(swap);)";

to::Status Run() {
  TUNEONCE_ASSIGN_OR_RETURN(to::Device device, to::OpenDevice(to::OpenDevice("cuda").ok() ? "cuda" : "cpu"));
  TUNEONCE_ASSIGN_OR_RETURN(to::Context context, to::Context::RetainPrimary(device));
  const to::ScopedContext current(context.view());
  TUNEONCE_ASSIGN_OR_RETURN(to::Stream stream, to::Stream::Create(device.api()));
  std::vector<float> values(1000, 1.0f);
  values[0] = 2.0f;
  TUNEONCE_ASSIGN_OR_RETURN(to::DeviceBuffer buffer, to::DeviceBuffer::Allocate(stream.view(), 4000));
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyFromHost(values.data(), 4000));
  const to::TensorView y = to::TensorView::Contiguous(buffer.data(), to::kFloat32, {1000});
  to::SearchSpace space;
  const to::IntAxis tile = space.AddAxis("TILE", {256, 1024, 16384});
  space.SetBaseline({{tile, 256}});
  space.Where("fits in shared memory", 4 * tile <= to::SharedMemory());  // This is the device's limit.
  to::KernelDefinition definition("swap");
  definition.Parameters({to::InOut("y", to::kFloat32, {"N"}), to::DimValue("N")}).Space(space);
  definition.Grid(to::GeometryFn(to::Grid::OneD({to::D("N") / 2, tile})).SharedMemory(4 * tile));
  definition.AddVariant(to::CudaCpp(kCudaSource, "swap").Block(128)).AddVariant(to::CpuCpp(kCpuSource, "swap"));
  TUNEONCE_ASSIGN_OR_RETURN(to::TunedKernel swap, to::TunedKernel::Create(definition));
  TUNEONCE_RETURN_IF_ERROR(swap.Launch(stream.get(), y));
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyToHost(values.data(), 4000));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  return values[0] == 1 && values[999] == 2 ? to::Status() : to::InternalError("the halves were not exchanged");
}

int main() {
  const to::Status status = Run();
  std::printf("%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
