// c (m, n) = a (m, k) b (k, n), summed in float: one tile of c per block, whose parts of k go through the workspace one
// after the other, as split_k_matmul_declared.py says it. The counters, which are for blocks, stay 0.
static int smaller(int x, int y) { return x < y ? x : y; }

/// Part of a row of c: of `cols` columns, over the numbers of k from `k_begin` on.
static void add_products(const T* a_row, const T* b, float* sums, int k_begin, int k_end, int cols, int n) {
  for (int p = k_begin; p < k_end; ++p) {
    const float factor = static_cast<float>(a_row[p]);
    const T* b_row = b + static_cast<long>(p) * n;
    for (int col = 0; col < cols; ++col) sums[col] += factor * static_cast<float>(b_row[col]);
  }
}

static void split_k_matmul(const tuneonce_block& block, const T* a, const T* b, T* c, int* counters, float* partial,
                           int m, int n, int k) {
  static_cast<void>(counters);
  const int row_begin = static_cast<int>(block.x) * TILE_M, col_begin = static_cast<int>(block.y) * TILE_N;
  const int cols = smaller(TILE_N, n - col_begin);
  const int of_split = ((k + TILE_K - 1) / TILE_K + SPLITS - 1) / SPLITS * TILE_K;
  const long tile = static_cast<long>(block.x) * ((n + TILE_N - 1) / TILE_N) + block.y;
  for (int row = row_begin; row < smaller(row_begin + TILE_M, m); ++row) {
    float total[TILE_N] = {};
    for (int split = 0; split < SPLITS; ++split) {
      const int k_begin = split * of_split, k_end = smaller(k_begin + of_split, k);
      float* sums = SPLITS == 1 ? total : partial + ((tile * SPLITS + split) * TILE_M + row - row_begin) * TILE_N;
      for (int col = 0; col < cols; ++col) sums[col] = 0;
      add_products(a + static_cast<long>(row) * k, b + col_begin, sums, k_begin, k_end, cols, n);
    }
    for (int split = 0; SPLITS > 1 && split < SPLITS; ++split) {
      const float* sums = partial + ((tile * SPLITS + split) * TILE_M + row - row_begin) * TILE_N;
      for (int col = 0; col < cols; ++col) total[col] += sums[col];
    }
    T* out = c + static_cast<long>(row) * n + col_begin;
    for (int col = 0; col < cols; ++col) out[col] = static_cast<T>(total[col]);
  }
}
TUNEONCE_CPU_KERNEL(split_k_matmul);
