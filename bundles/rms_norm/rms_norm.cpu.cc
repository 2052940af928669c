// y[row] = x[row] * w / sqrt(mean(x[row]^2) + eps), TILE_N columns at a time; a block takes every grid-th row.
static void normalize(const T* in, const T* w, T* out, float eps, int n) {
  float sums[16] = {};
  for (int begin = 0; begin < n; begin += TILE_N) {
    const int end = n - begin > TILE_N ? begin + TILE_N : n;
    for (int i = begin; i < end; ++i) sums[i % 16] += static_cast<float>(in[i]) * static_cast<float>(in[i]);
  }
  float sum = 0;
  for (float part : sums) sum += part;
  const float scale = 1.0f / __builtin_sqrtf(sum / static_cast<float>(n) + eps);
  for (int i = 0; i < n; ++i) out[i] = static_cast<T>(static_cast<float>(in[i]) * scale * static_cast<float>(w[i]));
}

static void rms_norm(const tuneonce_block& block, const T* x, const T* w, T* y, float eps, int m, int n) {
  for (long row = block.x; row < m; row += block.grid_x) normalize(x + row * n, w, y + row * n, eps, n);
}
TUNEONCE_CPU_KERNEL(rms_norm);
