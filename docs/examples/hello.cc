// Tunes an RMS norm once per shape, then launches it: the README's program, with the kernel's text.
//
//   tuneonce_hello [cuda|cpu]    CUDA Tile C++ on a GPU; without a GPU C++ on the CPU device, on any machine
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "tuneonce/device.h"
#include "tuneonce/tuned_kernel.h"

using namespace tuneonce;  // NOLINT(google-build-using-namespace)

constexpr char kTileSource[] = R"(
#include "cuda_fp16.h"
#include "cuda_tile.h"
namespace tiles = ::cuda::tiles;

template <int TILE>  // One block per row, TILE columns at a time.
__tile_global__ void rms_norm(const __half* __restrict__ x, const __half* __restrict__ w, __half* __restrict__ y,
                              float eps, int m, int n) {
  x = tiles::assume_aligned<16>(x), w = tiles::assume_aligned<16>(w), y = tiles::assume_aligned<16>(y);
  n = tiles::assume_divisible<8>(n);  // Rows begin at multiples of 16 bytes, which the fastest loads need.
  auto xs = tiles::partition_view{tiles::tensor_span{x, tiles::extents{m, n}}, tiles::shape<1, TILE>{}};
  auto ws = tiles::partition_view{tiles::tensor_span{w, tiles::extents{1, n}}, tiles::shape<1, TILE>{}};
  auto ys = tiles::partition_view{tiles::tensor_span{y, tiles::extents{m, n}}, tiles::shape<1, TILE>{}};
  const int row = tiles::bid().x;
  auto squares = tiles::zeros<tiles::tile<float, tiles::shape<1, TILE>>>();
  for (auto i : tiles::irange(0, (n + TILE - 1) / TILE)) {
    auto part = tiles::element_cast<float>(xs.load_masked(row, i));  // Zero beyond the row's end.
    squares = squares + part * part;
  }
  auto scale = tiles::rsqrt(tiles::sum<1>(squares) / static_cast<float>(n) + eps);
  for (auto i : tiles::irange(0, (n + TILE - 1) / TILE)) {
    auto part = tiles::element_cast<float>(xs.load_masked(row, i));
    auto weight = tiles::element_cast<float>(ws.load_masked(0, i));
    ys.store_masked(tiles::element_cast<__half>(part * scale * weight), row, i);
  }
})";

constexpr char kCpuSource[] = R"(
static void rms_norm(const tuneonce_block& block, const _Float16* x, const _Float16* w, _Float16* y, float eps, int n) {
  float sums[TILE] = {};  // Independent sums, which can be computed at the same time.
  for (int i = 0; i < n; ++i) sums[i % TILE] += float(x[block.x * n + i]) * float(x[block.x * n + i]);
  float sum = 0;
  for (float part : sums) sum += part;
  float scale = 1 / __builtin_sqrtf(sum / n + eps);
  for (int i = 0; i < n; ++i) y[block.x * n + i] = _Float16(float(x[block.x * n + i]) * scale * float(w[i]));
}
TUNEONCE_CPU_KERNEL(rms_norm);)";

KernelDefinition RmsNorm() {
  SearchSpace space;
  auto tile = space.AddAxis("TILE", {1024, 2048, 4096});       // A template argument: each value is other code.
  auto occupancy = space.AddHintAxis("occupancy", {1, 2, 4});  // A hint for the compiler: the same code, patched.
  space.SetBaseline({{tile, 1024}, {occupancy, 1}});           // Always measured: the winner is never slower.

  return KernelDefinition("rms_norm")
      .Parameters({In("x", kFloat16, {"M", "N"}), In("w", kFloat16, {"N"}), Out("y", kFloat16, {"M", "N"}),
                   Scalar<float>("eps").ForWarmup(1e-5f)})
      .Key(KeyOf("M").NextPow2(), KeyOf("N"))  // All M up to the next power of two share one tune.
      .Space(space)
      .Grid(Grid::OneD({"M", 1}))
      .AddVariant(TileCpp(kTileSource, "rms_norm<TILE>").KernelArgs({"x", "w", "y", "eps", "M", "N"}))
      .AddVariant(CpuCpp(kCpuSource, "rms_norm").KernelArgs({"x", "w", "y", "eps", "N"}));
}

Result<Device> FindDevice(const std::string& name) {
  if (!name.empty()) return OpenDevice(name);
  Result<Device> gpu = OpenDevice("cuda");
  if (gpu.ok()) return gpu;
  std::printf("no GPU was found: the CPU device runs the C++ variant\n");
  return OpenDevice("cpu");
}

Status Run(const std::string& device_name) {
  TUNEONCE_ASSIGN_OR_RETURN(Device device, FindDevice(device_name));
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
  norm.Freeze();  // From now on nothing is tuned.
  TUNEONCE_RETURN_IF_ERROR(norm.Launch(stream.get(), x, w, y, 1e-5f));

  TUNEONCE_RETURN_IF_ERROR(out.CopyToHost(result.data(), bytes));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  std::printf("%d hit, %d misses after freezing\n", static_cast<int>(norm.counters().hits),
              static_cast<int>(norm.counters().frozen_misses));
  // The root mean square of a row of twos is 2, and the weights are 2.
  bool is_correct = result == twos && norm.counters().hits == 1;
  return is_correct ? Status() : InternalError("y should be 2 everywhere, by one hit");
}

int main(int argc, char** argv) {
  Status status = Run(argc > 1 ? argv[1] : "");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
