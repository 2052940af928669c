// y = softmax(x) by rows, one row per block, TILE_N columns at a time.
static void softmax(const tuneonce_block& block, const float* x, float* y, int m, int n) {
  const long row = block.x;
  if (row >= m) return;
  const float* in = x + row * n;
  float* out = y + row * n;
  float largest = in[0];
  for (int i = 1; i < n; ++i) largest = in[i] > largest ? in[i] : largest;
  float sum = 0;
  for (int begin = 0; begin < n; begin += TILE_N) {
    const int end = begin + TILE_N < n ? begin + TILE_N : n;
    for (int i = begin; i < end; ++i) {
      out[i] = __builtin_expf(in[i] - largest);
      sum += out[i];
    }
  }
  for (int i = 0; i < n; ++i) out[i] /= sum;
}
TUNEONCE_CPU_KERNEL(softmax);
