// Each row of x (t, k) times its group's w (k, n), as grouped_gemm_declared.py says it, summed in float: one tile of
// one group's rows of y per block.
static int smaller(int a, int b) { return a < b ? a : b; }

/// The last group that begins with this block or before.
static int group_of(int block, const int* offsets, int num_groups) {
  int group = 0;
  while (group + 1 < num_groups && offsets[group + 1] / TILE_M + group + 1 <= block) ++group;
  return group;
}

static void grouped_gemm(const tuneonce_block& block, const T* x, const T* w, const int* offsets, T* y, int e, int k,
                         int n) {
  const int group = group_of(static_cast<int>(block.x), offsets, e);
  const int tile = static_cast<int>(block.x) - offsets[group] / TILE_M - group;
  const int row_begin = offsets[group] + tile * TILE_M, row_end = smaller(row_begin + TILE_M, offsets[group + 1]);
  const int col_begin = static_cast<int>(block.y) * TILE_N, cols = smaller(TILE_N, n - col_begin);
  const T* weights = w + static_cast<long>(group) * k * n + col_begin;
  for (int row = row_begin; row < row_end; ++row) {
    float sums[TILE_N] = {};
    for (int p = 0; p < k; ++p) {
      const float factor = static_cast<float>(x[static_cast<long>(row) * k + p]);
      const T* w_row = weights + static_cast<long>(p) * n;
      for (int col = 0; col < cols; ++col) sums[col] += factor * static_cast<float>(w_row[col]);
    }
    T* out = y + static_cast<long>(row) * n + col_begin;
    for (int col = 0; col < cols; ++col) out[col] = static_cast<T>(sums[col]);
  }
}
TUNEONCE_CPU_KERNEL(grouped_gemm);
