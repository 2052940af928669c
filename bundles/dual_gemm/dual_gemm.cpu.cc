// y (m, n) = silu(x w_gate) (x w_up), element by element, summed in float: one tile of y per block.
static int smaller(int a, int b) { return a < b ? a : b; }

/// The row's products with `cols` columns of w (k, n), which start at w.
static void multiply_row(const T* x, const T* w, float* sums, int cols, int n, int k) {
  for (int col = 0; col < cols; ++col) sums[col] = 0;
  for (int p = 0; p < k; ++p) {
    const float factor = static_cast<float>(x[p]);
    const T* w_row = w + static_cast<long>(p) * n;
    for (int col = 0; col < cols; ++col) sums[col] += factor * static_cast<float>(w_row[col]);
  }
}

static void dual_gemm(const tuneonce_block& block, const T* x, const T* w_gate, const T* w_up, T* y, int m, int n,
                      int k) {
  const int row_end = smaller((static_cast<int>(block.x) + 1) * TILE_M, m);
  const int col_begin = static_cast<int>(block.y) * TILE_N, cols = smaller(TILE_N, n - col_begin);
  for (int row = static_cast<int>(block.x) * TILE_M; row < row_end; ++row) {
    float gates[TILE_N], ups[TILE_N];
    multiply_row(x + static_cast<long>(row) * k, w_gate + col_begin, gates, cols, n, k);
    multiply_row(x + static_cast<long>(row) * k, w_up + col_begin, ups, cols, n, k);
    T* out = y + static_cast<long>(row) * n + col_begin;
    for (int col = 0; col < cols; ++col)
      out[col] = static_cast<T>(gates[col] / (1.0f + __builtin_expf(-gates[col])) * ups[col]);
  }
}
TUNEONCE_CPU_KERNEL(dual_gemm);
