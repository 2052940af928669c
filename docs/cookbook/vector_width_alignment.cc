// Tunes a vector width that needs aligned addresses. To build and run it:
//   g++ -std=c++17 vector_width_alignment.cc $(pkg-config --cflags --libs tuneonce) && ./a.out
#include <tuneonce/tuned_kernel.h>

#include <cstdio>
#include <vector>

namespace to = tuneonce;

constexpr char kCudaSource[] = R"(
struct alignas(4 * VEC) Vector { float at[VEC]; };
__global__ void twice(float* y, int n) {  // VEC divides n.
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n / VEC) return;
  Vector part = reinterpret_cast<Vector*>(y)[i];
  for (int v = 0; v < VEC; ++v) part.at[v] *= 2;
  reinterpret_cast<Vector*>(y)[i] = part;
})";
constexpr char kCpuSource[] = R"(
static void twice(const tuneonce_block& block, float* y, int n) {
  for (int i = block.x * BLOCK * VEC; i < n && i < int(block.x + 1) * BLOCK * VEC; ++i) y[i] *= 2;
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
  const to::TensorView odd = to::TensorView::Contiguous(static_cast<float*>(buffer.data()) + 1, to::kFloat32, {996});
  to::SearchSpace space;
  const to::IntAxis block = space.AddAxis("BLOCK", {128, 256}), vec = space.AddAxis("VEC", {1, 2, 4});
  space.SetBaseline({{block, 128}, {vec, 1}});
  space.Where("no remainder", to::D("N") % vec == 0);
  // Where y has rows, each must be aligned too: && to::StrideDivisibleBy("y", 0, vec).
  const to::Condition is_aligned = vec == 1 || to::Aligned("y", 4 * vec);  // The address, in bytes.
  to::KernelDefinition definition("twice");
  definition.Parameters({to::InOut("y", to::kFloat32, {"N"}), to::DimValue("N")});
  definition.Space(space).Grid(to::Grid::OneD({"N", block * vec}));
  definition.AddVariant(to::CudaCpp(kCudaSource, "twice").Block(block).Requires(is_aligned));
  definition.AddVariant(to::CpuCpp(kCpuSource, "twice").Requires(is_aligned));

  TUNEONCE_ASSIGN_OR_RETURN(to::TunedKernel twice, to::TunedKernel::Create(definition));
  TUNEONCE_RETURN_IF_ERROR(twice.Launch(stream.get(), y));    // This tunes all vector widths.
  TUNEONCE_RETURN_IF_ERROR(twice.Launch(stream.get(), odd));  // This key is tuned with VEC = 1 only.
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyToHost(values.data(), 4000));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  const bool is_correct = values[0] == 2 && values[1] == 4 && values[996] == 4 && values[999] == 2;
  return is_correct ? to::Status() : to::InternalError("1 * 2 * 2 is not 4");
}

int main() {
  const to::Status status = Run();
  std::printf("%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
