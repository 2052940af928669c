// y[row] = x[row] * w / sqrt(mean(x[row]^2) + eps), a block of 256 threads per ROWS rows. UNROLL loads are in flight per
// thread.
constexpr int kThreads = 256;

extern "C" __global__ void __launch_bounds__(kThreads)
    rms_norm(const float* x, const float* w, float* y, float eps, int m, int n) {
  __shared__ float warp_sums[kThreads / 32];
  for (int r = 0; r < ROWS; ++r) {
    const int row = blockIdx.x * ROWS + r;
    if (row >= m) return;
    const float* in = x + static_cast<long long>(row) * n;
    float* out = y + static_cast<long long>(row) * n;
    float sum = 0;
    for (int begin = threadIdx.x; begin < n; begin += kThreads * UNROLL) {
      float values[UNROLL];
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        const int i = begin + u * kThreads;
        values[u] = i < n ? in[i] : 0.0f;
      }
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) sum += values[u] * values[u];
    }
    for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lane);
    __syncthreads();  // The sums of the row before have been read.
    if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = sum;
    __syncthreads();
    float total = 0;
    for (int i = 0; i < kThreads / 32; ++i) total += warp_sums[i];
    const float scale = rsqrtf(total / n + eps);
    for (int i = threadIdx.x; i < n; i += kThreads) out[i] = in[i] * scale * w[i];
  }
}
