// c (m, n) = a (m, k) b (k, n) as in matmul.cu, by any number of blocks: each takes every grid-th tile of c, row by
// row.
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
constexpr int kDepth = TILE_K < 64 ? TILE_K : 64;  // Two tiles in 48 KiB of shared memory.

__device__ inline void MultiplyTile(int row_begin, int col_begin, const Half* a, const Half* b, Half* c, int m, int n,
                                    int k) {
  __shared__ Half a_tile[TILE_M][kDepth];
  __shared__ Half b_tile[kDepth][TILE_N];
  const int thread = threadIdx.y * kThreads + threadIdx.x;
  float sums[kRows][kCols] = {};
  for (int k_begin = 0; k_begin < k; k_begin += kDepth) {
    for (int i = thread; i < TILE_M * kDepth; i += kThreads * kThreads) {
      const int row = row_begin + i / kDepth, p = k_begin + i % kDepth;
      a_tile[i / kDepth][i % kDepth] = row < m && p < k ? a[static_cast<long long>(row) * k + p] : Half{0};
    }
    for (int i = thread; i < kDepth * TILE_N; i += kThreads * kThreads) {
      const int p = k_begin + i / TILE_N, col = col_begin + i % TILE_N;
      b_tile[i / TILE_N][i % TILE_N] = p < k && col < n ? b[static_cast<long long>(p) * n + col] : Half{0};
    }
    __syncthreads();
#pragma unroll 4
    for (int p = 0; p < kDepth; ++p) {
      float a_values[kRows], b_values[kCols];
#pragma unroll
      for (int r = 0; r < kRows; ++r) a_values[r] = ToFloat(a_tile[r * kThreads + threadIdx.y][p]);
#pragma unroll
      for (int s = 0; s < kCols; ++s) b_values[s] = ToFloat(b_tile[p][s * kThreads + threadIdx.x]);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
#pragma unroll
        for (int s = 0; s < kCols; ++s) sums[r][s] += a_values[r] * b_values[s];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int s = 0; s < kCols; ++s) {
      const int row = row_begin + r * kThreads + threadIdx.y, col = col_begin + s * kThreads + threadIdx.x;
      if (row < m && col < n) c[static_cast<long long>(row) * n + col] = ToHalf(sums[r][s]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads* kThreads, occupancy)
    persistent_matmul(const Half* a, const Half* b, Half* c, int m, int n, int k) {
  const int tiles_n = (n + TILE_N - 1) / TILE_N;
  const int tiles = (m + TILE_M - 1) / TILE_M * tiles_n;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    MultiplyTile(tile / tiles_n * TILE_M, tile % tiles_n * TILE_N, a, b, c, m, n, k);
  }
}
