// Bounds what the first call costs: it does not tune, and a search has a deadline. To build and run it:
//   g++ -std=c++17 bound_first_call.cc $(pkg-config --cflags --libs tuneonce) && ./a.out
#include <tuneonce/plugin/record_store.h>
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
  to::AutotunePolicy policy;
  policy.store = to::MakeMemoryStore();                   // A server keeps the default, which is a file.
  policy.mode = to::AutotunePolicy::Mode::kTuneDeferred;  // No launch waits for a search.
  policy.search.budgets.wall = std::chrono::seconds(2);   // A search ends then with the best config so far,
  policy.search.budgets.trials = 100;                     // or after so many configs.
  TUNEONCE_ASSIGN_OR_RETURN(to::TunedKernel kernel, to::TunedKernel::Create(twice, policy));
  TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream.get(), y));  // This runs the baseline, and waits for its compile alone.
  if (kernel.counters().fallbacks != 1) return to::InternalError("the first call did not run the fallback config");
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  TUNEONCE_RETURN_IF_ERROR(kernel.TunePending(stream.get()));  // Call it while the GPU is idle: two seconds per key.
  TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream.get(), y));    // This runs the selected config.
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyToHost(values.data(), 4000));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  const bool is_correct = kernel.counters().tunes == 1 && values == std::vector<float>(1000, 4.0f);
  return is_correct ? to::Status() : to::InternalError("the second call did not run the selected config");
}

int main() {
  const to::Status status = Run();
  std::printf("%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
