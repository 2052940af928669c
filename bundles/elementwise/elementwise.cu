// y = gelu(x) * z of half-precision numbers, BLOCK elements per block of 256 threads, 8 at a time where tensors start
// at 16 bytes; gelu with tanh: (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)). Without cuda_fp16.h, which is not everywhere
// that NVRTC is: a half is its bits.
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

constexpr int kThreads = 256;
constexpr int kWidth = 8;  // Values that a thread loads at once: 16 bytes.

struct alignas(16) Wide {
  Half values[kWidth];
};

__device__ inline Half GeluAndMul(Half gate, Half factor) {
  const float value = ToFloat(gate);
  const float exponent = __expf(value * (value * value * 0.044715f + 1.0f) * -1.5957691216057308f);
  return ToHalf(value / (1.0f + exponent) * ToFloat(factor));
}

extern "C" __global__ void __launch_bounds__(kThreads) elementwise(const Half* x, const Half* z, Half* y, long long n) {
  const long long begin = static_cast<long long>(blockIdx.x) * BLOCK;
  const long long end = begin + BLOCK < n ? begin + BLOCK : n;
  const unsigned long long addresses = reinterpret_cast<unsigned long long>(x) |
                                       reinterpret_cast<unsigned long long>(z) |
                                       reinterpret_cast<unsigned long long>(y);
  const long long wide_end = addresses % sizeof(Wide) == 0 ? begin + (end - begin) / kWidth * kWidth : begin;
  for (long long i = begin + threadIdx.x * kWidth; i < wide_end; i += kThreads * kWidth) {
    const Wide gates = *reinterpret_cast<const Wide*>(x + i), factors = *reinterpret_cast<const Wide*>(z + i);
    Wide result;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) result.values[v] = GeluAndMul(gates.values[v], factors.values[v]);
    *reinterpret_cast<Wide*>(y + i) = result;
  }
  for (long long i = wide_end + threadIdx.x; i < end; i += kThreads) y[i] = GeluAndMul(x[i], z[i]);
}
