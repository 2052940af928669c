// c[M, N] = a[M, K] * b[K, N], one block per TILE_M x TILE_N tile of c. UNROLL rows of the tile are computed together,
// so that each load of b serves UNROLL rows; TILE_K bounds how much of b is swept before the next rows reuse it from
// cache.
static int smaller(int x, int y) { return x < y ? x : y; }

static void matmul(const tuneonce_block& block, const float* a, const float* b, float* c, int m, int n, int k) {
  const int row_begin = block.y * TILE_M, row_end = smaller(row_begin + TILE_M, m);
  const int col_begin = block.x * TILE_N, cols = smaller(TILE_N, n - col_begin);
  for (int row = row_begin; row < row_end; ++row) {
    for (int col = 0; col < cols; ++col) c[row * n + col_begin + col] = 0;
  }
  for (int k_begin = 0; k_begin < k; k_begin += TILE_K) {
    const int k_end = smaller(k_begin + TILE_K, k);
    for (int row = row_begin; row < row_end; row += UNROLL) {
      const int rows = smaller(UNROLL, row_end - row);
      float sums[UNROLL][TILE_N];
      for (int r = 0; r < rows; ++r) {
        for (int col = 0; col < cols; ++col) sums[r][col] = c[(row + r) * n + col_begin + col];
      }
      for (int p = k_begin; p < k_end; ++p) {
        const float* b_row = b + p * n + col_begin;
        if (rows == UNROLL && cols == TILE_N) {  // Known trip counts: the compiler keeps the sums in registers.
          for (int r = 0; r < UNROLL; ++r) {
            const float factor = a[(row + r) * k + p];
            for (int col = 0; col < TILE_N; ++col) sums[r][col] += factor * b_row[col];
          }
        } else {
          for (int r = 0; r < rows; ++r) {
            const float factor = a[(row + r) * k + p];
            for (int col = 0; col < cols; ++col) sums[r][col] += factor * b_row[col];
          }
        }
      }
      for (int r = 0; r < rows; ++r) {
        for (int col = 0; col < cols; ++col) c[(row + r) * n + col_begin + col] = sums[r][col];
      }
    }
  }
}
TUNEONCE_CPU_KERNEL(matmul);
