// y[row] = (x[row] - mean) / sqrt(variance + eps) * weight + bias, centred first; a block takes every grid-th row.
static float sum_of(const float* parts) {
  float sum = 0;
  for (int i = 0; i < 16; ++i) sum += parts[i];
  return sum;
}

static void normalize(const T* in, const T* weight, const T* bias, T* out, float eps, int n) {
  float sums[16] = {}, squares[16] = {};
  for (int i = 0; i < n; ++i) sums[i % 16] += static_cast<float>(in[i]);
  const float mean = sum_of(sums) / static_cast<float>(n);
  for (int i = 0; i < n; ++i) {
    const float centred = static_cast<float>(in[i]) - mean;
    squares[i % 16] += centred * centred;
  }
  const float scale = 1.0f / __builtin_sqrtf(sum_of(squares) / static_cast<float>(n) + eps);
  for (int begin = 0; begin < n; begin += TILE_N) {
    const int end = n - begin > TILE_N ? begin + TILE_N : n;
    for (int i = begin; i < end; ++i) {
      const float normal = (static_cast<float>(in[i]) - mean) * scale;
      out[i] = static_cast<T>(normal * static_cast<float>(weight[i]) + static_cast<float>(bias[i]));
    }
  }
}

static void layer_norm(const tuneonce_block& block, const T* x, const T* weight, const T* bias, T* y, float eps, int m,
                       int n) {
  for (long row = block.x; row < m; row += block.grid_x) normalize(x + row * n, weight, bias, y + row * n, eps, n);
}
TUNEONCE_CPU_KERNEL(layer_norm);
