// y[row] = x[row] * w / sqrt(mean(x[row]^2) + eps) of half-precision numbers, summed in float: a block of 256 threads per
// row, which is kept in registers: TILE_N covers it. For extents, strides and alignments that the Tile IR is not for, and
// where there is no tileiras. Without cuda_fp16.h, which is not everywhere that NVRTC is: a half is its bits.
using Half = unsigned short;

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

constexpr int kThreads = 256;
constexpr int kValues = TILE_N / kThreads;

extern "C" __global__ void __launch_bounds__(kThreads, occupancy)
    rms_norm(const Half* x, const Half* w, Half* y, float eps, int m, int n) {
  __shared__ float warp_sums[kThreads / 32];
  const int row = blockIdx.x;
  if (row >= m) return;
  const Half* in = x + static_cast<long long>(row) * n;
  Half* out = y + static_cast<long long>(row) * n;
  float values[kValues];
  float sum = 0;
#pragma unroll
  for (int v = 0; v < kValues; ++v) {
    const int i = v * kThreads + threadIdx.x;
    values[v] = i < n ? ToFloat(in[i]) : 0.0f;
    sum += values[v] * values[v];
  }
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lane);
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = sum;
  __syncthreads();
  float total = 0;
  for (int i = 0; i < kThreads / 32; ++i) total += warp_sums[i];
  const float scale = rsqrtf(total / n + eps);
#pragma unroll
  for (int v = 0; v < kValues; ++v) {
    const int i = v * kThreads + threadIdx.x;
    if (i < n) out[i] = ToHalf(values[v] * scale * ToFloat(w[i]));
  }
}
