#include "engine_kernels.h"

#include <string>

using namespace tuneonce;  // NOLINT(google-build-using-namespace)

namespace {

constexpr char kNormCuda[] = R"(
__device__ float SumOf(float value) {
  __shared__ float warps[THREADS / 32];
  for (int lane = 16; lane > 0; lane /= 2) value += __shfl_xor_sync(0xffffffffu, value, lane);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  float total = 0;
  for (int i = 0; i < THREADS / 32; ++i) total += warps[i];
  return total;
}

struct alignas(4 * WIDTH) Wide {
  float of[WIDTH];
};

extern "C" __global__ void __launch_bounds__(THREADS)
    rms_norm_mul(const float* x, const float* w, float* y, float eps, int n) {
  const long long row = static_cast<long long>(blockIdx.x) * n;
  float squares = 0;
  for (int at = threadIdx.x * WIDTH; at < n; at += THREADS * WIDTH) {
    const Wide in = *reinterpret_cast<const Wide*>(x + row + at);
    for (int i = 0; i < WIDTH; ++i) squares += in.of[i] * in.of[i];
  }
  const float scale = rsqrtf(SumOf(squares) / n + eps);
  for (int at = threadIdx.x * WIDTH; at < n; at += THREADS * WIDTH) {
    const Wide in = *reinterpret_cast<const Wide*>(x + row + at), weights = *reinterpret_cast<const Wide*>(w + at);
    Wide out;
    for (int i = 0; i < WIDTH; ++i) out.of[i] = in.of[i] * scale * weights.of[i];
    *reinterpret_cast<Wide*>(y + row + at) = out;
  }
})";

constexpr char kNormCpu[] = R"(
static void rms_norm_mul(const tuneonce_block& block, const float* x, const float* w, float* y, float eps, int m,
                         int n) {
  const long end = (block.x + 1L) * ROWS < m ? (block.x + 1L) * ROWS : m;
  for (long row = block.x * long(ROWS); row < end; ++row) {
    const float* in = x + row * n;
    float sums[LANES] = {};  // Independent sums, so that they can be made at once.
    int at = 0;
    for (; at + LANES <= n; at += LANES)
      for (int i = 0; i < LANES; ++i) sums[i] += in[at + i] * in[at + i];
    float sum = 0;
    for (; at < n; ++at) sum += in[at] * in[at];
    for (float part : sums) sum += part;
    const float scale = 1 / __builtin_sqrtf(sum / n + eps);
    for (int i = 0; i < n; ++i) y[row * n + i] = in[i] * scale * w[i];
  }
}
TUNEONCE_CPU_KERNEL(rms_norm_mul);)";

constexpr char kMulMatCuda[] = R"(
struct alignas(16) Halves {
  unsigned short of[8];
};
struct alignas(16) Floats {
  float of[4];
};
__device__ float ToFloat(unsigned short half) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return value;
}

// A row of weights is shared by WARPS warps; a block takes ROWS rows. STEPS loads of weights are under way at once.
extern "C" __global__ void __launch_bounds__(32 * WARPS * ROWS)
    mul_mat(const unsigned short* w, const float* x, float* y, int n, int k) {
  __shared__ float parts[ROWS][WARPS][COLUMNS];
  const int row = blockIdx.x * ROWS + threadIdx.y;
  const bool is_row = row < n;
  const unsigned short* weights = w + static_cast<long long>(is_row ? row : 0) * k;
  constexpr int kStride = 32 * WARPS * 8;
  float sums[COLUMNS] = {};
  for (int at = threadIdx.x * 8; at < k; at += kStride * STEPS) {
    Halves halves[STEPS];
#pragma unroll
    for (int s = 0; s < STEPS; ++s) {
      if (at + s * kStride < k) halves[s] = *reinterpret_cast<const Halves*>(weights + at + s * kStride);
    }
#pragma unroll
    for (int s = 0; s < STEPS; ++s) {
      if (at + s * kStride >= k) break;
#pragma unroll
      for (int m = 0; m < COLUMNS; ++m) {
        const Floats* in = reinterpret_cast<const Floats*>(x + static_cast<long long>(m) * k + at + s * kStride);
        const Floats low = in[0], high = in[1];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          sums[m] += ToFloat(halves[s].of[i]) * low.of[i] + ToFloat(halves[s].of[4 + i]) * high.of[i];
        }
      }
    }
  }
#pragma unroll
  for (int m = 0; m < COLUMNS; ++m) {
    for (int lane = 16; lane > 0; lane /= 2) sums[m] += __shfl_xor_sync(0xffffffffu, sums[m], lane);
    if (threadIdx.x % 32 == 0) parts[threadIdx.y][threadIdx.x / 32][m] = sums[m];
  }
  __syncthreads();
  if (!is_row || threadIdx.x >= COLUMNS) return;
  float sum = 0;
  for (int i = 0; i < WARPS; ++i) sum += parts[threadIdx.y][i][threadIdx.x];
  y[static_cast<long long>(threadIdx.x) * n + row] = sum;
})";

constexpr char kMulMatCpu[] = R"(
static void mul_mat(const tuneonce_block& block, const _Float16* w, const float* x, float* y, int m, int n, int k) {
  const long end = (block.x + 1L) * ROWS < n ? (block.x + 1L) * ROWS : n;
  for (long row = block.x * long(ROWS); row < end; ++row) {
    for (int column = 0; column < m; ++column) {
      const _Float16* a = w + row * k;
      const float* b = x + long(column) * k;
      float sums[LANES] = {};
      int at = 0;
      for (; at + LANES <= k; at += LANES)
        for (int i = 0; i < LANES; ++i) sums[i] += float(a[at + i]) * b[at + i];
      float sum = 0;
      for (; at < k; ++at) sum += float(a[at]) * b[at];
      for (float part : sums) sum += part;
      y[long(column) * n + row] = sum;
    }
  }
}
TUNEONCE_CPU_KERNEL(mul_mat);)";

}  // namespace

KernelDefinition RmsNormMul(bool for_cpu_device) {
  constexpr Dim N{1};
  KernelDefinition norm("ggml_rms_norm_mul");
  norm.Parameters({In("x", kFloat32, {"M", "N"}), In("w", kFloat32, {"N"}), Out("y", kFloat32, {"M", "N"}),
                   Scalar<float>("eps").ForWarmup(1e-6f)})
      .Key(KeyOf("M").NextPow2(), KeyOf("N"));
  SearchSpace space;
  if (for_cpu_device) {
    auto rows = space.AddAxis("ROWS", {1, 4, 16}), lanes = space.AddAxis("LANES", {8, 32});
    space.SetBaseline({{rows, 1}, {lanes, 8}});
    return norm.Space(space)
        .Grid(Grid::OneD({"M", rows}))
        .AddVariant(CpuCpp(kNormCpu, "rms_norm_mul").KernelArgs({"x", "w", "y", "eps", "M", "N"}));
  }
  auto threads = space.AddAxis("THREADS", {64, 128, 256, 512, 1024}), width = space.AddAxis("WIDTH", {1, 2, 4});
  space.Where("whole loads", [=](const Config& c, const Dims& dims) { return dims[N] % c[width] == 0; });
  space.SetBaseline({{threads, 256}, {width, 1}});
  return norm.Space(space)
      .Grid(Grid::OneD({"M", 1}))
      .AddVariant(CudaCpp(kNormCuda, "rms_norm_mul")
                      .Block(threads)
                      .KernelArgs({"x", "w", "y", "eps", "N"})
                      .Assuming({Aligned("x", 16), Aligned("w", 16), Aligned("y", 16)}));
}

KernelDefinition MulMat(bool for_cpu_device) {
  constexpr Dim M{2};
  KernelDefinition product("ggml_mul_mat");
  product.Parameters({In("w", kFloat16, {"N", "K"}), In("x", kFloat32, {"M", "K"}), Out("y", kFloat32, {"M", "N"})})
      .VerifyWithin(Tolerance{1e-3, 1e-3});
  SearchSpace space;
  if (for_cpu_device) {
    auto rows = space.AddAxis("ROWS", {16, 64, 256}), lanes = space.AddAxis("LANES", {8, 16, 32});
    space.SetBaseline({{rows, 16}, {lanes, 8}});
    return product.Space(space)
        .Grid(Grid::OneD({"N", rows}))
        .AddVariant(CpuCpp(kMulMatCpu, "mul_mat").KernelArgs({"w", "x", "y", "M", "N", "K"}));
  }
  auto warps = space.AddAxis("WARPS", {1, 2, 4, 8}), rows = space.AddAxis("ROWS", {1, 2, 4}),
       steps = space.AddAxis("STEPS", {1, 2});
  space.Where("a block of at most 512 threads", [=](const Config& c) { return c[warps] * c[rows] <= 16; });
  space.SetBaseline({{warps, 2}, {rows, 1}, {steps, 1}});
  return product.Space(space)
      .Grid(Grid::OneD({"N", rows}))
      .AddVariant(Variant([=](const Config& c, const Problem& problem) {
                    return KernelSource::CudaCpp(kMulMatCuda, "mul_mat")
                        .Define("WARPS", c[warps])
                        .Define("ROWS", c[rows])
                        .Define("STEPS", c[steps])
                        .Define("COLUMNS", problem.dims[M]);
                  })
                      .Named("cuda")
                      .ForTarget(OnGpu())
                      .Block(Term(32) * warps, rows)
                      .KernelArgs({"w", "x", "y", "N", "K"})
                      .Assuming({Aligned("w", 16), Aligned("x", 16), ExtentDivisibleBy("w", 1, 8)}));
}
