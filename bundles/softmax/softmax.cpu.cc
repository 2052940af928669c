// y = softmax(x) by rows, TILE_N columns at a time; a block takes every grid-th row.
static void softmax_of(const float* in, float* out, int n) {
  float largest = in[0];
  for (int i = 1; i < n; ++i) largest = in[i] > largest ? in[i] : largest;
  float sum = 0;
  for (int begin = 0; begin < n; begin += TILE_N) {
    const int end = n - begin > TILE_N ? begin + TILE_N : n;
    for (int i = begin; i < end; ++i) {
      out[i] = __builtin_expf(in[i] - largest);
      sum += out[i];
    }
  }
  for (int i = 0; i < n; ++i) out[i] /= sum;
}

static void softmax(const tuneonce_block& block, const float* x, float* y, int m, int n) {
  for (long row = block.x; row < m; row += block.grid_x) softmax_of(x + row * n, y + row * n, n);
}
TUNEONCE_CPU_KERNEL(softmax);
