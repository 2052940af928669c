// y (m, n) = scale_a scale_b a (m, k) b (n, k)^T of 8-bit floats, summed in float: one block of 16 x 16 threads per
// TILE_M x TILE_N tile of y. Numbers become floats on the way to shared memory, kDepth deep; each thread keeps
// (TILE_M / 16) x (TILE_N / 16) sums in registers. Without tensor cores and instructions for 8-bit floats: for GPUs
// before 8.9, for extents, strides and alignments that the Tile IR is not for, and where there is no tileiras.
using E4m3 = unsigned char;
using Bfloat16 = unsigned short;

/// e4m3: a sign, 4 bits of exponent less 7, 3 of mantissa, no infinity, all ones is NaN (OCP 8-bit floating point
/// specification 1.0). As a half, whose exponent is less 15, it is 2^-8 of that.
__device__ inline float ToFloat(E4m3 byte) {
  const auto half = static_cast<unsigned short>((byte & 0x80) << 8 | (byte & 0x7f) << 7);
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return (byte & 0x7f) == 0x7f ? __int_as_float(0x7fc00000) : value * 256;
}
/// The upper half of a float, rounded to nearest even.
__device__ inline Bfloat16 ToBfloat16(float value) {
  const unsigned bits = __float_as_uint(value);
  return value != value ? Bfloat16{0x7fff} : static_cast<Bfloat16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

constexpr int kThreads = 16;
constexpr int kRows = TILE_M / kThreads;
constexpr int kCols = TILE_N / kThreads;
constexpr int kDepth = 16;

/// kDepth numbers of each of `kCount` rows of a matrix (rows, k); 0 beyond its end.
template <int kCount>
__device__ inline void Load(const E4m3* from, float (*tile)[kDepth + 1], int row_begin, int k_begin, int rows, int k) {
  for (int i = threadIdx.y * kThreads + threadIdx.x; i < kCount * kDepth; i += kThreads * kThreads) {
    const int row = row_begin + i / kDepth, p = k_begin + i % kDepth;
    tile[i / kDepth][i % kDepth] = row < rows && p < k ? ToFloat(from[static_cast<long long>(row) * k + p]) : 0.0f;
  }
}

extern "C" __global__ void __launch_bounds__(kThreads* kThreads, occupancy)
    fp8_matmul(const E4m3* a, const E4m3* b, const float* scale_a, const float* scale_b, Bfloat16* y, int m, int n,
               int k) {
  __shared__ float a_tile[TILE_M][kDepth + 1];  // Odd rows: threads side by side find other banks.
  __shared__ float b_tile[TILE_N][kDepth + 1];
  const int row_begin = blockIdx.x * TILE_M, col_begin = blockIdx.y * TILE_N;
  float sums[kRows][kCols] = {};
  for (int k_begin = 0; k_begin < k; k_begin += kDepth) {
    Load<TILE_M>(a, a_tile, row_begin, k_begin, m, k);
    Load<TILE_N>(b, b_tile, col_begin, k_begin, n, k);
    __syncthreads();
#pragma unroll 4
    for (int p = 0; p < kDepth; ++p) {
      float values[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r) values[r] = a_tile[r * kThreads + threadIdx.y][p];
#pragma unroll
      for (int s = 0; s < kCols; ++s) {
        const float weight = b_tile[s * kThreads + threadIdx.x][p];
#pragma unroll
        for (int r = 0; r < kRows; ++r) sums[r][s] += values[r] * weight;
      }
    }
    __syncthreads();
  }
  const float scale = *scale_a * *scale_b;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int s = 0; s < kCols; ++s) {
      const int row = row_begin + r * kThreads + threadIdx.y, col = col_begin + s * kThreads + threadIdx.x;
      if (row < m && col < n) y[static_cast<long long>(row) * n + col] = ToBfloat16(sums[r][s] * scale);
    }
  }
}
