// z = x + y, BLOCK elements per block of 256 threads; UNROLL loads are in flight per thread.
constexpr int kThreads = 256;

extern "C" __global__ void __launch_bounds__(kThreads)
    vector_add(const float* x, const float* y, float* z, long long n) {
  const long long begin = static_cast<long long>(blockIdx.x) * BLOCK;
  const long long end = begin + BLOCK < n ? begin + BLOCK : n;
  for (long long i = begin + threadIdx.x; i < end; i += kThreads * UNROLL) {
    float sums[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const long long j = i + u * kThreads;
      sums[u] = j < end ? x[j] + y[j] : 0.0f;
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const long long j = i + u * kThreads;
      if (j < end) z[j] = sums[u];
    }
  }
}
