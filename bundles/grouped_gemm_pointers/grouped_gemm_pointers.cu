// The first rows[e] rows of x[e] (., k) times w[e] (k, n), of half-precision numbers, for tables of pointers x, w and
// y; summed in float: one block of 16 x 16 threads per TILE_M x TILE_N tile of one y[e]. The tiles of x and w go
// through shared memory, kDepth deep; each thread keeps (TILE_M / 16) x (TILE_N / 16) sums in registers. Blocks behind
// the last row of their group end at once. Without cuda_fp16.h, which is not everywhere that NVRTC is: a half is its
// bits.
using Half = unsigned short;

#ifdef BFLOAT16  // A half is a bfloat16 then: a float's upper half.
__device__ inline float ToFloat(Half half) { return __uint_as_float(static_cast<unsigned int>(half) << 16); }
/// To the nearest, of two the even one.
__device__ inline Half ToHalf(float value) {
  const unsigned int bits = __float_as_uint(value);
  return static_cast<Half>(value == value ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16 : 0x7fff);
}
#else
__device__ inline float ToFloat(Half half) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return value;
}
__device__ inline Half ToHalf(float value) {
  Half half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
}
#endif

constexpr int kThreads = 16;
constexpr int kRows = TILE_M / kThreads;
constexpr int kCols = TILE_N / kThreads;
constexpr int kDepth = 32;  // Two tiles in 48 KiB of shared memory.

extern "C" __global__ void __launch_bounds__(kThreads* kThreads, occupancy)
    grouped_gemm_pointers(const Half* const* x, const Half* const* w, const int* rows, Half* const* y, int k, int n) {
  __shared__ Half x_tile[TILE_M][kDepth];
  __shared__ Half w_tile[kDepth][TILE_N];
  const int group = blockIdx.z;
  const int row_begin = blockIdx.x * TILE_M, row_end = rows[group];
  if (row_begin >= row_end) return;
  const int col_begin = blockIdx.y * TILE_N;
  const Half* in = x[group];
  const Half* weights = w[group];
  Half* out = y[group];
  float sums[kRows][kCols] = {};
  for (int k_begin = 0; k_begin < k; k_begin += kDepth) {
    for (int i = threadIdx.y * kThreads + threadIdx.x; i < TILE_M * kDepth; i += kThreads * kThreads) {
      const int row = row_begin + i / kDepth, p = k_begin + i % kDepth;
      x_tile[i / kDepth][i % kDepth] = row < row_end && p < k ? in[static_cast<long long>(row) * k + p] : Half{0};
    }
    for (int i = threadIdx.y * kThreads + threadIdx.x; i < kDepth * TILE_N; i += kThreads * kThreads) {
      const int p = k_begin + i / TILE_N, col = col_begin + i % TILE_N;
      w_tile[i / TILE_N][i % TILE_N] = p < k && col < n ? weights[static_cast<long long>(p) * n + col] : Half{0};
    }
    __syncthreads();
#pragma unroll 4
    for (int p = 0; p < kDepth; ++p) {
      float values[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r) values[r] = ToFloat(x_tile[r * kThreads + threadIdx.y][p]);
#pragma unroll
      for (int s = 0; s < kCols; ++s) {
        const float weight = ToFloat(w_tile[p][s * kThreads + threadIdx.x]);
#pragma unroll
        for (int r = 0; r < kRows; ++r) sums[r][s] += values[r] * weight;
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int s = 0; s < kCols; ++s) {
      const int row = row_begin + r * kThreads + threadIdx.y, col = col_begin + s * kThreads + threadIdx.x;
      if (row < row_end && col < n) out[static_cast<long long>(row) * n + col] = ToHalf(sums[r][s]);
    }
  }
}
