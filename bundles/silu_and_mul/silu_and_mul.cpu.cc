// y[:, j] = silu(x[:, j]) * x[:, n + j]: block (row, tile of TILE_N columns).
static void silu_and_mul(const tuneonce_block& block, const T* x, T* y, int m, int n) {
  const long row = block.x;
  if (row >= m) return;
  const int begin = static_cast<int>(block.y) * TILE_N;
  const int end = begin + TILE_N < n ? begin + TILE_N : n;
  const T* in = x + row * 2 * n;
  for (int i = begin; i < end; ++i) {
    const float gate = static_cast<float>(in[i]);
    y[row * n + i] = static_cast<T>(gate / (1.0f + __builtin_expf(-gate)) * static_cast<float>(in[n + i]));
  }
}
TUNEONCE_CPU_KERNEL(silu_and_mul);
