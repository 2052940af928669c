// Tunes a matrix product in CUDA Tile C++. To build and run it:
//   g++ -std=c++17 tile_cpp_matmul.cc $(pkg-config --cflags --libs tuneonce) && ./a.out
#include <tuneonce/tuned_kernel.h>

#include <cstdio>

namespace to = tuneonce;

constexpr char kTileSource[] = R"(
#include "cuda_fp16.h"
#include "cuda_tile.h"
namespace tiles = ::cuda::tiles;
template <int TM, int TN, int TK>  // Each block computes a tile of c = a b.
__tile_global__ void matmul(const __half* a, const __half* b, __half* c, int m, int n, int k) {
  a = tiles::assume_aligned<16>(a), b = tiles::assume_aligned<16>(b), c = tiles::assume_aligned<16>(c);
  n = tiles::assume_divisible<8>(n), k = tiles::assume_divisible<8>(k);
  auto as = tiles::partition_view{tiles::tensor_span{a, tiles::extents{m, k}}, tiles::shape<TM, TK>{}};
  auto bs = tiles::partition_view{tiles::tensor_span{b, tiles::extents{k, n}}, tiles::shape<TK, TN>{}};
  auto cs = tiles::partition_view{tiles::tensor_span{c, tiles::extents{m, n}}, tiles::shape<TM, TN>{}};
  const int x = tiles::bid().x, y = tiles::bid().y;
  auto sum = tiles::zeros<tiles::tile<float, tiles::shape<TM, TN>>>();
  for (auto i : tiles::irange(0, (k + TK - 1) / TK)) sum = tiles::mma(as.load_masked(x, i), bs.load_masked(i, y), sum);
  cs.store_masked(tiles::element_cast<__half>(sum), x, y);
})";
constexpr char kCpuSource[] = R"(
static void matmul(const tuneonce_block& block, const _Float16* a, const _Float16* b, _Float16* c, int, int n, int k) {
  float sum = 0;  // Each block computes an element of c.
  for (int i = 0; i < k; ++i) sum += float(a[block.x * k + i]) * float(b[i * n + block.y]);
  c[block.x * n + block.y] = _Float16(sum);
}
TUNEONCE_CPU_KERNEL(matmul);)";

to::Status Run() {
  TUNEONCE_ASSIGN_OR_RETURN(to::Device device, to::OpenDevice(to::OpenDevice("cuda").ok() ? "cuda" : "cpu"));
  TUNEONCE_ASSIGN_OR_RETURN(to::Context context, to::Context::RetainPrimary(device));
  const to::ScopedContext current(context.view());
  TUNEONCE_ASSIGN_OR_RETURN(to::Stream stream, to::Stream::Create(device.api()));
  TUNEONCE_ASSIGN_OR_RETURN(to::DeviceBuffer in, to::DeviceBuffer::Allocate(stream.view(), 8192));
  TUNEONCE_ASSIGN_OR_RETURN(to::DeviceBuffer out, to::DeviceBuffer::Allocate(stream.view(), 8192));
  TUNEONCE_RETURN_IF_ERROR(in.Fill(0x40));  // Each float16 is 0x4040: 2.125. 64 * 2.125 * 2.125 = 289 is 0x5c84.
  const to::TensorView a = to::TensorView::Contiguous(in.data(), to::kFloat16, {64, 64});
  const to::TensorView c = to::TensorView::Contiguous(out.data(), to::kFloat16, {64, 64});
  to::SearchSpace space = to::families::DenseMatmul();  // It has tiles and hints for each architecture.
  const to::Grid tiles = to::Grid::TileCoverage({{"M", space.FindAxis("TILE_M")}, {"N", space.FindAxis("TILE_N")}});
  to::KernelDefinition matmul = to::KernelDefinition("matmul").Space(space).Grid(tiles);
  matmul.Parameters({to::In("a", to::kFloat16, {"M", "K"}), to::In("b", to::kFloat16, {"K", "N"}),
                     to::Out("c", to::kFloat16, {"M", "N"}), to::DimValue("M"), to::DimValue("N"), to::DimValue("K")});
  matmul.AddVariant(to::TileCpp(kTileSource, "matmul<TILE_M, TILE_N, TILE_K>"));
  matmul.AddVariant(to::CpuCpp(kCpuSource, "matmul").Grid(to::Grid::Fixed("M", "N")));
  TUNEONCE_ASSIGN_OR_RETURN(to::TunedKernel kernel, to::TunedKernel::Create(matmul));
  TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream.get(), a, a, c));
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<char> bytes, to::ReadDeviceMemory(stream.view(), out.get(), 8192));
  return bytes[0] == '\x84' && bytes[1] == '\x5c' ? to::Status() : to::InternalError("64 * 2.125 * 2.125 is not 289");
}

int main() {
  const to::Status status = Run();
  std::printf("%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
