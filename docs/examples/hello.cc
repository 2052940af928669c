// The README's program: tune a vector addition once, then launch it. Runs on the CPU device, and so on any machine.
#include <cstdio>
#include <vector>

#include "tuneonce/context.h"
#include "tuneonce/device_buffer.h"
#include "tuneonce/tuned_kernel.h"

using namespace tuneonce;  // NOLINT(google-build-using-namespace)

constexpr char kSource[] = R"(
static void axpy(const tuneonce_block& block, float a, const float* x, float* y, long n) {
  long begin = block.x * TILE, end = begin + TILE < n ? begin + TILE : n;
  for (long i = begin; i < end; ++i) y[i] += a * x[i];
}
TUNEONCE_CPU_KERNEL(axpy);)";

Status Run() {
  SearchSpace space;
  auto tile = space.AddAxis("TILE", {256, 4096, 65536});
  space.SetBaseline({{tile, 256}});  // Always measured: the winner is never slower.
  KernelDefinition axpy("axpy");
  axpy.Parameters({Scalar<float>("a"), In("x", {"N"}), InOut("y", {"N"}), DimValue("N", DType::kInt64)})
      .Space(space)
      .AddVariant(Variant([=](const Config& c, const Problem&) {
                    return KernelSource::HostCpp(kSource, "axpy").Define("TILE", c[tile]);
                  }).Grid(Grid::OneD({"N", tile})));

  TUNEONCE_ASSIGN_OR_RETURN(Device device, OpenDevice("cpu"));
  TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
  ScopedContext current(context.view());
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
  std::vector<float> ones(1 << 20, 1.0f);
  TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer x, DeviceBuffer::Allocate(stream.view(), ones.size() * sizeof(float)));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer y, DeviceBuffer::Allocate(stream.view(), ones.size() * sizeof(float)));
  TUNEONCE_RETURN_IF_ERROR(x.CopyFromHost(ones.data(), x.bytes()));
  TUNEONCE_RETURN_IF_ERROR(y.CopyFromHost(ones.data(), y.bytes()));
  auto x_view = TensorView::Contiguous(x.data(), DType::kFloat32, {1 << 20});
  auto y_view = TensorView::Contiguous(y.data(), DType::kFloat32, {1 << 20});

  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel kernel, TunedKernel::Create(axpy));
  for (int i = 0; i < 3; ++i) {  // The first launch tunes; the others are plain launches.
    TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream.get(), 2.0f, x_view, y_view));
  }
  TUNEONCE_RETURN_IF_ERROR(y.CopyToHost(ones.data(), y.bytes()));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  std::printf("y[0] = %g after %d tune and 3 launches\n", static_cast<double>(ones[0]),
              static_cast<int>(kernel.counters().tunes));
  return ones[0] == 7.0f ? Status() : InternalError("y[0] should be 7");
}

int main() {
  Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
