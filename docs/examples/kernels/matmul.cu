// c[M, N] = a[M, K] * b[K, N], one block of 16 x 16 threads per TILE_M x TILE_N tile of c. The tiles of a and b go through
// shared memory, TILE_K deep; each thread keeps (TILE_M / 16) x (TILE_N / 16) sums in registers.
constexpr int kThreads = 16;
constexpr int kRows = TILE_M / kThreads;
constexpr int kCols = TILE_N / kThreads;

extern "C" __global__ void __launch_bounds__(kThreads* kThreads)
    matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float a_tile[TILE_M][TILE_K];
  __shared__ float b_tile[TILE_K][TILE_N];
  const int row_begin = blockIdx.y * TILE_M;
  const int col_begin = blockIdx.x * TILE_N;
  const int thread = threadIdx.y * kThreads + threadIdx.x;
  float sums[kRows][kCols] = {};
  for (int k_begin = 0; k_begin < k; k_begin += TILE_K) {
    for (int i = thread; i < TILE_M * TILE_K; i += kThreads * kThreads) {
      const int row = row_begin + i / TILE_K, p = k_begin + i % TILE_K;
      a_tile[i / TILE_K][i % TILE_K] = row < m && p < k ? a[static_cast<long long>(row) * k + p] : 0.0f;
    }
    for (int i = thread; i < TILE_K * TILE_N; i += kThreads * kThreads) {
      const int p = k_begin + i / TILE_N, col = col_begin + i % TILE_N;
      b_tile[i / TILE_N][i % TILE_N] = p < k && col < n ? b[static_cast<long long>(p) * n + col] : 0.0f;
    }
    __syncthreads();
#pragma unroll UNROLL
    for (int p = 0; p < TILE_K; ++p) {
      float a_values[kRows], b_values[kCols];
#pragma unroll
      for (int r = 0; r < kRows; ++r) a_values[r] = a_tile[r * kThreads + threadIdx.y][p];
#pragma unroll
      for (int s = 0; s < kCols; ++s) b_values[s] = b_tile[p][s * kThreads + threadIdx.x];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
#pragma unroll
        for (int s = 0; s < kCols; ++s) sums[r][s] += a_values[r] * b_values[s];
      }
    }
    __syncthreads();
  }
  for (int r = 0; r < kRows; ++r) {
    for (int s = 0; s < kCols; ++s) {
      const int row = row_begin + r * kThreads + threadIdx.y, col = col_begin + s * kThreads + threadIdx.x;
      if (row < m && col < n) c[static_cast<long long>(row) * n + col] = sums[r][s];
    }
  }
}
