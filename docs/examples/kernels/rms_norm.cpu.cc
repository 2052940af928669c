// y[row] = x[row] * w / sqrt(mean(x[row]^2) + eps), ROWS rows per block. UNROLL independent partial sums: without them
// each addition waits for the one before it, since the compiler may not reorder floating-point sums.
static void rms_norm(const tuneonce_block& block, const float* x, const float* w, float* y, float eps, int m, int n) {
  for (int row = block.x * ROWS; row < static_cast<int>((block.x + 1) * ROWS) && row < m; ++row) {
    const float* in = x + static_cast<long>(row) * n;
    float* out = y + static_cast<long>(row) * n;
    float sums[UNROLL] = {};
    int i = 0;
    for (; i + UNROLL <= n; i += UNROLL) {
      for (int u = 0; u < UNROLL; ++u) sums[u] += in[i + u] * in[i + u];
    }
    for (; i < n; ++i) sums[0] += in[i] * in[i];
    float sum = 0;
    for (int u = 0; u < UNROLL; ++u) sum += sums[u];
    const float scale = 1.0f / __builtin_sqrtf(sum / static_cast<float>(n) + eps);
    for (int j = 0; j < n; ++j) out[j] = in[j] * scale * w[j];
  }
}
TUNEONCE_CPU_KERNEL(rms_norm);
