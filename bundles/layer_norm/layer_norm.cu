// y[row] = (x[row] - mean) / sqrt(variance + eps) * weight + bias of half-precision numbers, summed in float, by rows
// of any length, TILE_N columns at a time: a row that TILE_N covers is read once and kept in registers. A block takes
// one row, or (ONE_ROW 0) every grid-th. Mean and squared deviations of each thread's values are put together in the
// end, as in T. F. Chan, G. H. Golub, R. J. LeVeque, Stanford STAN-CS-79-773: no difference of large numbers. Without
// cuda_fp16.h, which is not everywhere that NVRTC is: a half is its bits.
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

/// The column of a thread's value in one step: a thread's lie side by side where a row starts at 16 bytes, else they
/// are spread, so that neighbours load neighbours.
template <bool kIsWide>
__device__ inline int ColumnOf(int begin, int step, int value) {
  return begin + (kIsWide ? (step * kThreads + threadIdx.x) * kWidth + value
                          : (step * kWidth + value) * kThreads + threadIdx.x);
}

/// 0 beyond the row's end.
template <bool kIsWide>
__device__ inline void Load(const Half* row, int begin, int step, int n, float* values) {
  if (kIsWide) {
    const int column = ColumnOf<true>(begin, step, 0);
    Wide wide = {};
    if (column < n) wide = *reinterpret_cast<const Wide*>(row + column);
#pragma unroll
    for (int v = 0; v < kWidth; ++v) values[v] = ToFloat(wide.values[v]);
  } else {
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      const int column = ColumnOf<false>(begin, step, v);
      values[v] = column < n ? ToFloat(row[column]) : 0.0f;
    }
  }
}
template <bool kIsWide>
__device__ inline void Store(Half* row, int begin, int step, int n, const float* values) {
  if (kIsWide) {
    const int column = ColumnOf<true>(begin, step, 0);
    Wide wide;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) wide.values[v] = ToHalf(values[v]);
    if (column < n) *reinterpret_cast<Wide*>(row + column) = wide;
  } else {
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      const int column = ColumnOf<false>(begin, step, v);
      if (column < n) row[column] = ToHalf(values[v]);
    }
  }
}

/// Of a value per thread, to all threads.
__device__ inline float SumOf(float value) {
  __shared__ float warps[kThreads / 32];
  for (int lane = 16; lane > 0; lane /= 2) value += __shfl_xor_sync(0xffffffffu, value, lane);
  __syncthreads();  // The sum before may still be read.
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  float total = 0;
  for (int i = 0; i < kThreads / 32; ++i) total += warps[i];
  return total;
}

/// Count, mean and squared deviations from it of a thread's values.
struct Moments {
  float count = 0, mean = 0, squares = 0;

  template <bool kIsWide>
  __device__ void Add(const float* values, int begin, int step, int n) {
    float added = 0, sum = 0, deviations = 0;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      added += ColumnOf<kIsWide>(begin, step, v) < n ? 1.0f : 0.0f;
      sum += values[v];  // 0 beyond the row's end.
    }
    if (added == 0) return;
    const float middle = sum / added;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      const float centred = ColumnOf<kIsWide>(begin, step, v) < n ? values[v] - middle : 0.0f;
      deviations += centred * centred;
    }
    const float moved = middle - mean, total = count + added;
    mean += moved * (added / total);
    squares += deviations + moved * moved * (count * added / total);
    count = total;
  }
};

template <bool kIsWide>
__device__ inline void Normalize(const Half* in, const Half* weight, const Half* bias, Half* out, float eps, int n) {
  float values[kSteps][kWidth];
  Moments own;
  for (int begin = 0; begin < n; begin += TILE_N) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      Load<kIsWide>(in, begin, step, n, values[step]);
      own.template Add<kIsWide>(values[step], begin, step, n);
    }
  }
  const float mean = SumOf(own.count * own.mean) / n;
  const float scale = rsqrtf(SumOf(own.squares + own.count * (own.mean - mean) * (own.mean - mean)) / n + eps);
  for (int begin = 0; begin < n; begin += TILE_N) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (n > TILE_N) Load<kIsWide>(in, begin, step, n, values[step]);
      float factors[kWidth], offsets[kWidth];
      Load<kIsWide>(weight, begin, step, n, factors);
      Load<kIsWide>(bias, begin, step, n, offsets);
#pragma unroll
      for (int v = 0; v < kWidth; ++v) values[step][v] = (values[step][v] - mean) * scale * factors[v] + offsets[v];
      Store<kIsWide>(out, begin, step, n, values[step]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, occupancy < 1 ? 1 : occupancy)
    layer_norm(const Half* x, const Half* weight, const Half* bias, Half* y, float eps, int m, int n) {
  const unsigned long long addresses =
      reinterpret_cast<unsigned long long>(x) | reinterpret_cast<unsigned long long>(weight) |
      reinterpret_cast<unsigned long long>(bias) | reinterpret_cast<unsigned long long>(y);
  const bool is_wide = n % kWidth == 0 && addresses % sizeof(Wide) == 0;
  for (int row = blockIdx.x; row < m; row += gridDim.x) {
    const Half* in = x + static_cast<long long>(row) * n;
    Half* out = y + static_cast<long long>(row) * n;
    if (is_wide) {
      Normalize<true>(in, weight, bias, out, eps, n);
    } else {
      Normalize<false>(in, weight, bias, out, eps, n);
    }
  }
}
