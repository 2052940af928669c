// Launches one tuned kernel from eight threads: one of them tunes. To build and run it:
//   g++ -std=c++17 threads.cc $(pkg-config --cflags --libs tuneonce) && ./a.out
#include <tuneonce/tuned_kernel.h>

#include <cstdio>
#include <thread>
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

to::Status RunThread(const to::Context& context, to::TunedKernel& twice) {
  const to::ScopedContext current(context.view());  // A context is current in one thread.
  TUNEONCE_ASSIGN_OR_RETURN(to::Stream stream, to::Stream::Create(context.device().api()));
  std::vector<float> values(1000, 1.0f);
  TUNEONCE_ASSIGN_OR_RETURN(to::DeviceBuffer buffer, to::DeviceBuffer::Allocate(stream.view(), 4000));
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyFromHost(values.data(), 4000));
  const to::TensorView y = to::TensorView::Contiguous(buffer.data(), to::kFloat32, {1000});
  TUNEONCE_RETURN_IF_ERROR(twice.Launch(stream.get(), y));  // This tunes, or waits for the thread that does.
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyToHost(values.data(), 4000));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  return values == std::vector<float>(1000, 2.0f) ? to::Status() : to::InternalError("1 * 2 is not 2");
}

to::Status Run() {
  TUNEONCE_ASSIGN_OR_RETURN(to::Device device, to::OpenDevice(to::OpenDevice("cuda").ok() ? "cuda" : "cpu"));
  TUNEONCE_ASSIGN_OR_RETURN(to::Context context, to::Context::RetainPrimary(device));
  to::SearchSpace space;
  const to::IntAxis tile = space.AddAxis("TILE", {256, 1024, 4096});
  space.SetBaseline({{tile, 256}});
  to::KernelDefinition twice("twice");
  twice.Parameters({to::InOut("y", to::kFloat32, {"N"}), to::DimValue("N")});
  twice.Space(space).Grid(to::Grid::OneD({"N", tile}));
  twice.AddVariant(to::CudaCpp(kCudaSource, "twice").Block(128)).AddVariant(to::CpuCpp(kCpuSource, "twice"));
  TUNEONCE_ASSIGN_OR_RETURN(to::TunedKernel kernel, to::TunedKernel::Create(twice));
  std::vector<to::Status> results(8);
  std::vector<std::thread> threads;
  for (to::Status& result : results) threads.emplace_back([&] { result = RunThread(context, kernel); });
  for (std::thread& thread : threads) thread.join();
  for (const to::Status& result : results) TUNEONCE_RETURN_IF_ERROR(result);
  return kernel.counters().tunes <= 1 ? to::Status() : to::InternalError("several threads tuned the same key");
}

int main() {
  const to::Status status = Run();
  std::printf("%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
