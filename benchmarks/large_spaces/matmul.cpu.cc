// c (m, n) = a (m, k) b^T on the CPU device, tile by tile. WARPS_M, WARPS_N, STAGES and GROUP mean nothing here.
static void matmul(const tuneonce_block& block, const _Float16* a, const _Float16* b, _Float16* c, int m, int n,
                   int k) {
  const int tiles_n = (n + TILE_N - 1) / TILE_N;
  const int row = block.x / tiles_n * TILE_M, column = block.x % tiles_n * TILE_N;
  for (int i = row; i < row + TILE_M && i < m; ++i) {
    for (int j = column; j < column + TILE_N && j < n; ++j) {
      float sum = 0;
      for (int at = 0; at < k; ++at) sum += static_cast<float>(a[i * k + at]) * static_cast<float>(b[j * k + at]);
      c[i * n + j] = static_cast<_Float16>(sum);
    }
  }
}
TUNEONCE_CPU_KERNEL(matmul);
