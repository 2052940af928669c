// The first rows[e] rows of x[e] (., k) times w[e] (k, n), for tables of pointers x, w and y; summed in float: one tile
// of one y[e] per block.
static int smaller(int a, int b) { return a < b ? a : b; }

static void grouped_gemm_pointers(const tuneonce_block& block, const T* const* x, const T* const* w, const int* rows,
                                  T* const* y, int k, int n) {
  const int group = static_cast<int>(block.z);
  const int row_begin = static_cast<int>(block.x) * TILE_M, row_end = smaller(row_begin + TILE_M, rows[group]);
  const int col_begin = static_cast<int>(block.y) * TILE_N, cols = smaller(TILE_N, n - col_begin);
  for (int row = row_begin; row < row_end; ++row) {
    float sums[TILE_N] = {};
    for (int p = 0; p < k; ++p) {
      const float factor = static_cast<float>(x[group][static_cast<long>(row) * k + p]);
      const T* w_row = w[group] + static_cast<long>(p) * n + col_begin;
      for (int col = 0; col < cols; ++col) sums[col] += factor * static_cast<float>(w_row[col]);
    }
    T* out = y[group] + static_cast<long>(row) * n + col_begin;
    for (int col = 0; col < cols; ++col) out[col] = static_cast<T>(sums[col]);
  }
}
TUNEONCE_CPU_KERNEL(grouped_gemm_pointers);
