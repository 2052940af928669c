// c (m, n) = a (m, k) b (k, n): one tile of c per block, summed in float over TILE_K products at a time.
static void tiled_product(const tuneonce_block& block, const _Float16* a, const _Float16* b, _Float16* c, int m, int n,
                          int k) {
  const int row_begin = static_cast<int>(block.x) * TILE_M, column_begin = static_cast<int>(block.y) * TILE_N;
  for (int row = row_begin; row < row_begin + TILE_M && row < m; ++row) {
    for (int column = column_begin; column < column_begin + TILE_N && column < n; ++column) {
      float sum = 0;
      for (int k_begin = 0; k_begin < k; k_begin += TILE_K) {
        for (int p = k_begin; p < k_begin + TILE_K && p < k; ++p) {
          sum += static_cast<float>(a[static_cast<long>(row) * k + p]) *
                 static_cast<float>(b[static_cast<long>(p) * n + column]);
        }
      }
      c[static_cast<long>(row) * n + column] = static_cast<_Float16>(sum);
    }
  }
}
TUNEONCE_CPU_KERNEL(tiled_product);
