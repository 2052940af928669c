// Makes one shape run a config of your choice, and all others the tuned ones. To build and run it:
//   g++ -std=c++17 override_shape.cc $(pkg-config --cflags --libs tuneonce) && ./a.out
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

  TUNEONCE_ASSIGN_OR_RETURN(to::TunedKernel kernel, to::TunedKernel::Create(twice));
  TUNEONCE_RETURN_IF_ERROR(kernel.Pin({{"N", 1000}}, {{"TILE", 512}}));  // The space need not list the value.
  TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream.get(), y));              // This runs TILE = 512. Another N is tuned.
  TUNEONCE_ASSIGN_OR_RETURN(const to::LaunchPlan plan, kernel.Explain(stream.get(), {{"N", 1000}}));
  std::printf("N = 1000 runs {%s}\n", plan.config ? plan.config->ToString().c_str() : "");
  if (plan.origin != to::LaunchPlan::Origin::kPinned) return to::InternalError("the pinned config does not run");
  // PinFor::kStore makes later processes run it, too, if the space lists the config.
  TUNEONCE_RETURN_IF_ERROR(kernel.Unpin({{"N", 1000}}));
  TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream.get(), y));  // This tunes, as it would have without the pin.
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyToHost(values.data(), 4000));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  return values == std::vector<float>(1000, 4.0f) ? to::Status() : to::InternalError("1 * 2 * 2 is not 4");
}

int main() {
  const to::Status status = Run();
  std::printf("%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
