// y (m, n) = silu(x w_gate) (x w_up) of half-precision numbers, element by element, summed in float: one block of
// 16 x 16 threads per TILE_M x TILE_N tile of y. The tiles of x and both w go through shared memory, kDepth deep; each
// thread keeps twice (TILE_M / 16) x (TILE_N / 16) sums in registers. For extents, strides and alignments that the Tile
// IR is not for, and where there is no tileiras. Without cuda_fp16.h, which is not everywhere that NVRTC is: a half is
// its bits.
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
constexpr int kDepth = TILE_K < 32 ? TILE_K : 32;  // Three tiles in 48 KiB of shared memory.

/// kDepth x TILE_N of w (k, n); 0 beyond its end.
__device__ inline void LoadWeights(const Half* w, Half (*tile)[TILE_N], int k_begin, int col_begin, int n, int k) {
  for (int i = threadIdx.y * kThreads + threadIdx.x; i < kDepth * TILE_N; i += kThreads * kThreads) {
    const int p = k_begin + i / TILE_N, col = col_begin + i % TILE_N;
    tile[i / TILE_N][i % TILE_N] = p < k && col < n ? w[static_cast<long long>(p) * n + col] : Half{0};
  }
}

__device__ inline float Silu(float value) { return value / (1.0f + __expf(-value)); }

extern "C" __global__ void __launch_bounds__(kThreads* kThreads, occupancy)
    dual_gemm(const Half* x, const Half* w_gate, const Half* w_up, Half* y, int m, int n, int k) {
  __shared__ Half x_tile[TILE_M][kDepth];
  __shared__ Half gate_tile[kDepth][TILE_N];
  __shared__ Half up_tile[kDepth][TILE_N];
  const int row_begin = blockIdx.x * TILE_M;
  const int col_begin = blockIdx.y * TILE_N;
  float gates[kRows][kCols] = {}, ups[kRows][kCols] = {};
  for (int k_begin = 0; k_begin < k; k_begin += kDepth) {
    for (int i = threadIdx.y * kThreads + threadIdx.x; i < TILE_M * kDepth; i += kThreads * kThreads) {
      const int row = row_begin + i / kDepth, p = k_begin + i % kDepth;
      x_tile[i / kDepth][i % kDepth] = row < m && p < k ? x[static_cast<long long>(row) * k + p] : Half{0};
    }
    LoadWeights(w_gate, gate_tile, k_begin, col_begin, n, k);
    LoadWeights(w_up, up_tile, k_begin, col_begin, n, k);
    __syncthreads();
#pragma unroll 4
    for (int p = 0; p < kDepth; ++p) {
      float values[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r) values[r] = ToFloat(x_tile[r * kThreads + threadIdx.y][p]);
#pragma unroll
      for (int s = 0; s < kCols; ++s) {
        const float gate = ToFloat(gate_tile[p][s * kThreads + threadIdx.x]);
        const float up = ToFloat(up_tile[p][s * kThreads + threadIdx.x]);
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          gates[r][s] += values[r] * gate;
          ups[r][s] += values[r] * up;
        }
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int s = 0; s < kCols; ++s) {
      const int row = row_begin + r * kThreads + threadIdx.y, col = col_begin + s * kThreads + threadIdx.x;
      if (row < m && col < n) y[static_cast<long long>(row) * n + col] = ToHalf(Silu(gates[r][s]) * ups[r][s]);
    }
  }
}
