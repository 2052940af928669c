// c (m, n) = a (m, k) b (k, n), summed in float: each block takes every grid-th tile of c.
static int smaller(int x, int y) { return x < y ? x : y; }

/// One tile of c.
static void multiply_tile(int tile_m, int tile_n, const T* a, const T* b, T* c, int m, int n, int k) {
  const int row_end = smaller((tile_m + 1) * TILE_M, m);
  const int col_begin = tile_n * TILE_N, cols = smaller(TILE_N, n - col_begin);
  for (int row = tile_m * TILE_M; row < row_end; ++row) {
    float sums[TILE_N] = {};
    for (int k_begin = 0; k_begin < k; k_begin += TILE_K) {
      const int k_end = smaller(k_begin + TILE_K, k);
      for (int p = k_begin; p < k_end; ++p) {
        const float factor = static_cast<float>(a[static_cast<long>(row) * k + p]);
        const T* b_row = b + static_cast<long>(p) * n + col_begin;
        for (int col = 0; col < cols; ++col) sums[col] += factor * static_cast<float>(b_row[col]);
      }
    }
    for (int col = 0; col < cols; ++col) c[static_cast<long>(row) * n + col_begin + col] = static_cast<T>(sums[col]);
  }
}

static void persistent_matmul(const tuneonce_block& block, const T* a, const T* b, T* c, int m, int n, int k) {
  const int tiles_n = (n + TILE_N - 1) / TILE_N;
  const int tiles = (m + TILE_M - 1) / TILE_M * tiles_n;
  for (int tile = static_cast<int>(block.x); tile < tiles; tile += static_cast<int>(block.grid_x)) {
    multiply_tile(tile / tiles_n, tile % tiles_n, a, b, c, m, n, k);
  }
}
TUNEONCE_CPU_KERNEL(persistent_matmul);
