// Tests code that launches a tuned kernel, always with the same config. To build and run it:
//   g++ -std=c++17 unit_test.cc $(pkg-config --cflags --libs tuneonce) && ./a.out
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

/// The code under test: quadruples the elements of `y`.
to::Status Quadruple(to::TunedKernel& twice, CUstream stream, const to::TensorView& y) {
  TUNEONCE_RETURN_IF_ERROR(twice.Launch(stream, y));
  return twice.Launch(stream, y);
}

to::Status Run() {
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
  to::RuntimeOptions options;  // DISABLE_AUTOTUNE=1 in the environment does the same.
  options.environment = {{"DISABLE_AUTOTUNE", "1"}, {"TUNEONCE_STORE", "memory"}};
  to::AutotunePolicy policy;
  TUNEONCE_ASSIGN_OR_RETURN(policy.search.runtime, to::Runtime::Create(options));
  TUNEONCE_ASSIGN_OR_RETURN(to::TunedKernel kernel, to::TunedKernel::Create(twice, policy));
  TUNEONCE_RETURN_IF_ERROR(Quadruple(kernel, stream.get(), y));
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyToHost(values.data(), 4000));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  if (kernel.counters().tunes != 0) return to::InternalError("the kernel was tuned");
  return values == std::vector<float>(1000, 4.0f) ? to::Status() : to::InternalError("1 * 4 is not 4");
}

int main() {
  const to::Status status = Run();
  std::printf("%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
