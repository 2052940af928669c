// Warms up a kernel, freezes it, and captures and replays a CUDA graph. To build and run it:
//   g++ -std=c++17 freeze_capture_replay.cc $(pkg-config --cflags --libs tuneonce) && ./a.out
#include <tuneonce/testing.h>
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

to::Status Run() {
  TUNEONCE_ASSIGN_OR_RETURN(to::Device device, to::OpenDevice(to::OpenDevice("cuda").ok() ? "cuda" : "cpu"));
  TUNEONCE_ASSIGN_OR_RETURN(to::Context context, to::Context::RetainPrimary(device));
  const to::ScopedContext current(context.view());
  TUNEONCE_ASSIGN_OR_RETURN(to::Stream stream, to::Stream::Create(device.api()));
  std::vector<float> values(1000, 1.0f);
  TUNEONCE_ASSIGN_OR_RETURN(to::DeviceBuffer buffer, to::DeviceBuffer::Allocate(stream.view(), 4000));
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyFromHost(values.data(), 4000));
  const to::TensorView y = to::TensorView::Contiguous(buffer.data(), to::kFloat32, {1000});

  TUNEONCE_ASSIGN_OR_RETURN(to::TunedKernel twice, to::TunedKernel::Create(Twice()));
  TUNEONCE_RETURN_IF_ERROR(twice.Warmup(stream.get(), {{{"N", 1000}}}));  // This tunes on data of the library's.
  twice.Freeze();                                                         // From now on nothing is tuned.
  const auto record = [&](CUstream capturing) { return twice.Launch(capturing, y); };
  TUNEONCE_ASSIGN_OR_RETURN(to::GraphExec graph, to::GraphExec::Capture(stream.view(), record));
  for (int step = 0; step < 3; ++step) TUNEONCE_RETURN_IF_ERROR(graph.Launch(stream.get()));
  if (twice.counters().capture_misses != 0) return to::InternalError("the shape was not warmed up");
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyToHost(values.data(), 4000));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  return values == std::vector<float>(1000, 8.0f) ? to::Status() : to::InternalError("1 * 2 * 2 * 2 is not 8");
}

int main() {
  const to::Status status = Run();
  std::printf("%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
