// Rotary embedding in place, of half-precision x (t, h, 2 * HALF): a block of HALF x 4 threads per token, TILE_H heads
// at a time. For strides and alignments that the Tile IR is not for, and where there is no tileiras. Without
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

constexpr int kRows = 4;  // Of threads: heads that are rotated side by side.

extern "C" __global__ void __launch_bounds__(HALF* kRows, occupancy)
    rope(Half* x, const float* cosines, const float* sines, int t, int h) {
  const int token = blockIdx.x;
  if (token >= t) return;
  const int i = threadIdx.x;
  const float c = cosines[static_cast<long long>(token) * HALF + i];
  const float s = sines[static_cast<long long>(token) * HALF + i];
  for (int begin = threadIdx.y; begin < h; begin += TILE_H) {
#pragma unroll
    for (int step = 0; step < TILE_H; step += kRows) {
      const int head = begin + step;
      if (head >= h) break;
      Half* low = x + (static_cast<long long>(token) * h + head) * 2 * HALF;
      Half* high = low + HALF;
      const float u = ToFloat(low[i]), v = ToFloat(high[i]);
      low[i] = ToHalf(u * c - v * s);
      high[i] = ToHalf(v * c + u * s);
    }
  }
}
