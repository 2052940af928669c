// y[:, j] = silu(x[:, j]) * x[:, n + j] of half-precision numbers: block (row, tile of TILE_N columns), 8 columns at a
// time where rows start at 16 bytes. Without cuda_fp16.h, which is not everywhere that NVRTC is: a half is its bits.
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

struct alignas(16) Wide {
  Half values[kWidth];
};

__device__ inline Half SiluAndMul(Half gate, Half up) {
  const float value = ToFloat(gate);
  return ToHalf(value / (1.0f + __expf(-value)) * ToFloat(up));
}

extern "C" __global__ void __launch_bounds__(kThreads, occupancy < 1 ? 1 : occupancy)
    silu_and_mul(const Half* x, Half* y, int m, int n) {
  const int row = blockIdx.x;
  if (row >= m) return;
  const int begin = blockIdx.y * TILE_N;
  const int end = n - begin > TILE_N ? begin + TILE_N : n;
  const Half* gates = x + static_cast<long long>(row) * 2 * n;
  const Half* ups = gates + n;
  Half* out = y + static_cast<long long>(row) * n;
  const unsigned long long addresses =
      reinterpret_cast<unsigned long long>(x) | reinterpret_cast<unsigned long long>(y);
  if (n % kWidth == 0 && addresses % sizeof(Wide) == 0) {
    for (int i = begin + threadIdx.x * kWidth; i < end; i += kThreads * kWidth) {
      const Wide gate = *reinterpret_cast<const Wide*>(gates + i), up = *reinterpret_cast<const Wide*>(ups + i);
      Wide result;
#pragma unroll
      for (int v = 0; v < kWidth; ++v) result.values[v] = SiluAndMul(gate.values[v], up.values[v]);
      *reinterpret_cast<Wide*>(out + i) = result;
    }
  } else {
    for (int i = begin + threadIdx.x; i < end; i += kThreads) out[i] = SiluAndMul(gates[i], ups[i]);
  }
}
