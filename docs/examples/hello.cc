// Tunes an RMS norm once per shape, then launches it: the README's program.
//
//   tuneonce_hello cpu     C++ on the CPU device, on any machine
//   tuneonce_hello cuda    CUDA Tile IR on a GPU; run it in the folder of the bundle rms_norm, where the bytecode lies
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "tuneonce/context.h"
#include "tuneonce/device_buffer.h"
#include "tuneonce/tuned_kernel.h"

using namespace tuneonce;  // NOLINT(google-build-using-namespace)

constexpr char kCpuSource[] = R"(
static void rms_norm(const tuneonce_block& block, const _Float16* x, const _Float16* w, _Float16* y, float eps, int N) {
  float sums[TILE] = {};  // Independent sums, so that they can be made at once.
  for (int i = 0; i < N; ++i) sums[i % TILE] += float(x[block.x * N + i]) * float(x[block.x * N + i]);
  float sum = 0;
  for (float part : sums) sum += part;
  float scale = 1 / __builtin_sqrtf(sum / N + eps);
  for (int i = 0; i < N; ++i) y[block.x * N + i] = _Float16(float(x[block.x * N + i]) * scale * float(w[i]));
}
TUNEONCE_CPU_KERNEL(rms_norm);)";

KernelDefinition RmsNorm() {
  constexpr Dim N{1};  // The second dim that appears below.
  SearchSpace space;
  auto tile = space.AddAxis("TILE", {1024, 4096});             // Structural: other code per value.
  auto occupancy = space.AddHintAxis("occupancy", {1, 2, 4});  // A compiler hint: the same code, patched.
  space.AddGuard("a tile covers a row", [=](const Config& c, const Dims& dims) { return dims[N] <= c[tile]; });
  space.SetBaseline({{tile, 4096}, {occupancy, 1}});  // Always measured: the winner is never slower.

  return KernelDefinition("rms_norm")
      .Parameters({In("x", kFloat16, {"M", "N"}), In("w", kFloat16, {"N"}), Out("y", kFloat16, {"M", "N"}),
                   Scalar<float>("eps").ForWarmup(1e-5f)})
      .Key(KeyOf("M").NextPow2(), KeyOf("N"))  // All M up to the next power of two share one tune.
      .Space(space)
      .Grid(Grid::OneD({"M", 1}))
      .AddVariant(TileIrFiles("rms_norm.{TILE}x0x1.any.tileir")  // Its form in which a tile is a row.
                      .Assuming({Aligned("x", 16), StrideIs("x", 1, 1), StrideDivisibleBy("x", 0, 8), Aligned("w", 16),
                                 StrideIs("w", 0, 1), Aligned("y", 16), StrideIs("y", 1, 1),
                                 StrideDivisibleBy("y", 0, 8), NoOverlap("x", "y"), NoOverlap("w", "y")}))
      .AddVariant(HostCpp(kCpuSource, "rms_norm").Taking({"x", "w", "y", "eps", "N"}));
}

Status Run(const std::string& device_name) {
  TUNEONCE_ASSIGN_OR_RETURN(Device device, OpenDevice(device_name));
  TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
  ScopedContext current(context.view());
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
  std::vector<std::uint16_t> twos(64 * 4096, 0x4000), result(64 * 4096);  // 2 as float16.
  std::size_t bytes = twos.size() * sizeof(twos[0]);
  TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer in, DeviceBuffer::Allocate(stream.view(), bytes));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer out, DeviceBuffer::Allocate(stream.view(), bytes));
  TUNEONCE_RETURN_IF_ERROR(in.CopyFromHost(twos.data(), bytes));
  TensorView x = TensorView::Contiguous(in.data(), kFloat16, {64, 4096});
  TensorView w = TensorView::Contiguous(in.data(), kFloat16, {4096});
  TensorView y = TensorView::Contiguous(out.data(), kFloat16, {64, 4096});

  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel norm, TunedKernel::Create(RmsNorm()));
  TUNEONCE_RETURN_IF_ERROR(norm.Warmup(stream.get(), {{{"M", 64}, {"N", 4096}}}));
  norm.Seal();  // From now on nothing is tuned.
  TUNEONCE_RETURN_IF_ERROR(norm.Launch(stream.get(), x, w, y, 1e-5f));

  TUNEONCE_RETURN_IF_ERROR(out.CopyToHost(result.data(), bytes));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  std::printf("%d hit, %d misses after sealing\n", static_cast<int>(norm.counters().hits),
              static_cast<int>(norm.counters().sealed_misses));
  // A row of twos has the root mean square 2; the weights are 2.
  bool is_right = result == twos && norm.counters().hits == 1;
  return is_right ? Status() : InternalError("y should be 2 everywhere, by one hit");
}

int main(int argc, char** argv) {
  Status status = Run(argc > 1 ? argv[1] : "cpu");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
