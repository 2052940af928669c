// y[row] = x[row] * w / sqrt(mean(x[row]^2) + eps) of half-precision numbers, summed in float, by rows of any length,
// TILE_N columns at a time: a row that TILE_N covers is read once and kept in registers. A block takes one row, or
// (ONE_ROW 0) every grid-th. Without cuda_fp16.h, which is not everywhere that NVRTC is: a half is its bits.
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

constexpr int kWidth = 8;  // Values that a thread loads at once: 16 bytes.
constexpr int kThreads = TILE_N / kWidth < 256 ? TILE_N / kWidth : 256;
constexpr int kSteps = TILE_N / kWidth / kThreads;

struct alignas(16) Wide {
  Half values[kWidth];
};

/// Where a thread's values of one step are: side by side where a row starts at 16 bytes, else spread, so that
/// neighbours load neighbours.
template <bool kIsWide>
__device__ inline int ColumnOf(int step, int value) {
  return kIsWide ? (step * kThreads + threadIdx.x) * kWidth + value : (step * kWidth + value) * kThreads + threadIdx.x;
}

/// 0 beyond the row's end.
template <bool kIsWide>
__device__ inline void Load(const Half* row, int begin, int step, int n, float* values) {
  if (kIsWide) {
    const int column = begin + ColumnOf<true>(step, 0);
    Wide wide = {};
    if (column < n) wide = *reinterpret_cast<const Wide*>(row + column);
#pragma unroll
    for (int v = 0; v < kWidth; ++v) values[v] = ToFloat(wide.values[v]);
  } else {
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      const int column = begin + ColumnOf<false>(step, v);
      values[v] = column < n ? ToFloat(row[column]) : 0.0f;
    }
  }
}
template <bool kIsWide>
__device__ inline void Store(Half* row, int begin, int step, int n, const float* values) {
  if (kIsWide) {
    const int column = begin + ColumnOf<true>(step, 0);
    Wide wide;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) wide.values[v] = ToHalf(values[v]);
    if (column < n) *reinterpret_cast<Wide*>(row + column) = wide;
  } else {
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      const int column = begin + ColumnOf<false>(step, v);
      if (column < n) row[column] = ToHalf(values[v]);
    }
  }
}

/// Of a value per thread, to all threads.
__device__ inline float SumOf(float value) {
  __shared__ float warps[kThreads / 32];
  for (int lane = 16; lane > 0; lane /= 2) value += __shfl_xor_sync(0xffffffffu, value, lane);
  __syncthreads();  // The row before may still be read.
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  float total = 0;
  for (int i = 0; i < kThreads / 32; ++i) total += warps[i];
  return total;
}

template <bool kIsWide>
__device__ inline void Normalize(const Half* in, const Half* w, Half* out, float eps, int n) {
  float values[kSteps][kWidth];
  float squares = 0;
  for (int begin = 0; begin < n; begin += TILE_N) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      Load<kIsWide>(in, begin, step, n, values[step]);
#pragma unroll
      for (int v = 0; v < kWidth; ++v) squares += values[step][v] * values[step][v];
    }
  }
  const float scale = rsqrtf(SumOf(squares) / n + eps);
  for (int begin = 0; begin < n; begin += TILE_N) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (n > TILE_N) Load<kIsWide>(in, begin, step, n, values[step]);
      float weights[kWidth];
      Load<kIsWide>(w, begin, step, n, weights);
#pragma unroll
      for (int v = 0; v < kWidth; ++v) values[step][v] *= scale * weights[v];
      Store<kIsWide>(out, begin, step, n, values[step]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, occupancy < 1 ? 1 : occupancy)
    rms_norm(const Half* x, const Half* w, Half* y, float eps, int m, int n) {
  const unsigned long long addresses = reinterpret_cast<unsigned long long>(x) |
                                       reinterpret_cast<unsigned long long>(w) |
                                       reinterpret_cast<unsigned long long>(y);
  const bool is_wide = n % kWidth == 0 && addresses % sizeof(Wide) == 0;
  for (int row = blockIdx.x; row < m; row += gridDim.x) {
    const Half* in = x + static_cast<long long>(row) * n;
    Half* out = y + static_cast<long long>(row) * n;
    if (is_wide) {
      Normalize<true>(in, w, out, eps, n);
    } else {
      Normalize<false>(in, w, out, eps, n);
    }
  }
}
