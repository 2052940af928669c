// c (m, n) = a (m, k) b (k, n) of half-precision numbers, summed in float, as split_k_matmul_declared.py says it: one
// block of 16 x 16 threads per TILE_M x TILE_N tile of c and split of k. The tiles of a and b go through shared memory,
// kDepth deep; each thread keeps (TILE_M / 16) x (TILE_N / 16) sums in registers. For extents, strides and alignments
// that the Tile IR is not for, and where there is no tileiras. Without cuda_fp16.h, which is not everywhere that NVRTC
// is: a half is its bits.
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
constexpr int kDepth = TILE_K < 32 ? TILE_K : 32;

/// Whether this block is the last one to come here of those that share `counter`, which is 0 again then. What the
/// others wrote before is seen from then on (threadFenceReduction of the CUDA samples shows this order).
__device__ inline bool IsLast(unsigned* counter) {
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    is_last = atomicInc(counter, gridDim.z - 1) == gridDim.z - 1;
    __threadfence();
  }
  __syncthreads();
  return is_last;
}

/// Adds to `sums` the products of a tile of c over the numbers of k from `k_begin` up to, but not, `k_end`.
__device__ inline void Multiply(const Half* a, const Half* b, float (&sums)[kRows][kCols], int m, int n, int k,
                                int k_begin, int k_end) {
  __shared__ Half a_tile[TILE_M][kDepth];
  __shared__ Half b_tile[kDepth][TILE_N];
  const int row_begin = blockIdx.x * TILE_M, col_begin = blockIdx.y * TILE_N;
  const int thread = threadIdx.y * kThreads + threadIdx.x;
  for (; k_begin < k_end; k_begin += kDepth) {
    for (int i = thread; i < TILE_M * kDepth; i += kThreads * kThreads) {
      const int row = row_begin + i / kDepth, p = k_begin + i % kDepth;
      a_tile[i / kDepth][i % kDepth] = row < m && p < k_end ? a[static_cast<long long>(row) * k + p] : Half{0};
    }
    for (int i = thread; i < kDepth * TILE_N; i += kThreads * kThreads) {
      const int p = k_begin + i / TILE_N, col = col_begin + i % TILE_N;
      b_tile[i / TILE_N][i % TILE_N] = p < k_end && col < n ? b[static_cast<long long>(p) * n + col] : Half{0};
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
}

extern "C" __global__ void __launch_bounds__(kThreads* kThreads, occupancy)
    split_k_matmul(const Half* a, const Half* b, Half* c, unsigned* counters, float* partial, int m, int n, int k) {
  const int splits = gridDim.z;
  const int of_split = ((k + TILE_K - 1) / TILE_K + splits - 1) / splits * TILE_K;
  const int k_begin = blockIdx.z * of_split;
  float sums[kRows][kCols] = {};
  Multiply(a, b, sums, m, n, k, k_begin, min(k_begin + of_split, k));
  const long long tile = static_cast<long long>(blockIdx.x) * gridDim.y + blockIdx.y;
  const int in_tile = threadIdx.y * TILE_N + threadIdx.x;  // Of a thread's first number.
  if (splits > 1) {
    float* own = partial + (tile * splits + blockIdx.z) * TILE_M * TILE_N + in_tile;
    for (int r = 0; r < kRows; ++r) {
      for (int s = 0; s < kCols; ++s) own[r * kThreads * TILE_N + s * kThreads] = sums[r][s];
    }
    if (!IsLast(counters + tile)) return;
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int s = 0; s < kCols; ++s) {
      float total = splits > 1 ? 0 : sums[r][s];
      for (int split = 0; splits > 1 && split < splits; ++split) {
        total += partial[(tile * splits + split) * TILE_M * TILE_N + in_tile + r * kThreads * TILE_N + s * kThreads];
      }
      const int row = blockIdx.x * TILE_M + r * kThreads + threadIdx.y;
      const int col = blockIdx.y * TILE_N + s * kThreads + threadIdx.x;
      if (row < m && col < n) c[static_cast<long long>(row) * n + col] = ToHalf(total);
    }
  }
}
