// Tunes the two int arguments of a kernel template in CUDA C++. To build and run it:
//   g++ -std=c++17 cuda_template_ints.cc $(pkg-config --cflags --libs tuneonce) && ./a.out
#include <tuneonce/tuned_kernel.h>

#include <cstdio>
#include <vector>

namespace to = tuneonce;

constexpr char kCudaSource[] = R"(
template <int BLOCK, int ITEMS>  // Each of BLOCK threads computes ITEMS elements.
__global__ void axpy(float a, const float* __restrict__ x, float* __restrict__ y, int n) {
  const int first = blockIdx.x * BLOCK * ITEMS;
  for (int i = first + threadIdx.x; i < n && i < first + BLOCK * ITEMS; i += BLOCK) y[i] += a * x[i];
})";
constexpr char kCpuSource[] = R"(
static void axpy(const tuneonce_block& block, float a, const float* x, float* y, int n) {
  const int first = block.x * BLOCK * ITEMS;  // Axes that the symbol does not name are macros.
  for (int i = first; i < n && i < first + BLOCK * ITEMS; ++i) y[i] += a * x[i];
}
TUNEONCE_CPU_KERNEL(axpy);)";

to::KernelDefinition Axpy() {
  to::SearchSpace space;
  const to::IntAxis block = space.AddAxis("BLOCK", {128, 256, 512}), items = space.AddAxis("ITEMS", {1, 4});
  space.SetBaseline({{block, 128}, {items, 1}});
  return to::KernelDefinition("axpy")
      .Parameters({to::Scalar<float>("a"), to::In("x", to::kFloat32, {"N"}), to::InOut("y", to::kFloat32, {"N"})})
      .Space(space)
      .Grid(to::Grid::OneD({"N", block * items}))
      .AddVariant(to::CudaCpp(kCudaSource, "axpy<BLOCK, ITEMS>").Block(block).KernelArgs({"a", "x", "y", "N"}))
      .AddVariant(to::CpuCpp(kCpuSource, "axpy").KernelArgs({"a", "x", "y", "N"}));
}

to::Status Run() {
  TUNEONCE_ASSIGN_OR_RETURN(to::Device device, to::OpenDevice(to::OpenDevice("cuda").ok() ? "cuda" : "cpu"));
  TUNEONCE_ASSIGN_OR_RETURN(to::Context context, to::Context::RetainPrimary(device));
  const to::ScopedContext current(context.view());
  TUNEONCE_ASSIGN_OR_RETURN(to::Stream stream, to::Stream::Create(device.api()));
  std::vector<float> values(1000, 1.0f);
  TUNEONCE_ASSIGN_OR_RETURN(to::DeviceBuffer in, to::DeviceBuffer::Allocate(stream.view(), 4000));
  TUNEONCE_ASSIGN_OR_RETURN(to::DeviceBuffer out, to::DeviceBuffer::Allocate(stream.view(), 4000));
  TUNEONCE_RETURN_IF_ERROR(in.CopyFromHost(values.data(), 4000));
  const to::TensorView x = to::TensorView::Contiguous(in.data(), to::kFloat32, {1000});
  const to::TensorView y = to::TensorView::Contiguous(out.data(), to::kFloat32, {1000});
  TUNEONCE_RETURN_IF_ERROR(out.CopyFromHost(values.data(), 4000));

  TUNEONCE_ASSIGN_OR_RETURN(to::TunedKernel axpy, to::TunedKernel::Create(Axpy()));
  TUNEONCE_RETURN_IF_ERROR(axpy.Launch(stream.get(), 2.0f, x, y));  // This tunes, and then runs once on y.
  TUNEONCE_RETURN_IF_ERROR(out.CopyToHost(values.data(), 4000));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  return values == std::vector<float>(1000, 3.0f) ? to::Status() : to::InternalError("2 * 1 + 1 is not 3");
}

int main() {
  const to::Status status = Run();
  std::printf("%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
