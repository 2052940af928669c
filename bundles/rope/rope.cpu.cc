// Rotary embedding in place, of x (t, h, 2 * HALF): one token per block, TILE_H heads at a time.
static void rope(const tuneonce_block& block, T* x, const float* cosines, const float* sines, int t, int h) {
  const long token = block.x;
  if (token >= t) return;
  const float* c = cosines + token * HALF;
  const float* s = sines + token * HALF;
  for (int begin = 0; begin < h; begin += TILE_H) {
    for (int head = begin; head < begin + TILE_H && head < h; ++head) {
      T* low = x + (token * h + head) * 2 * HALF;
      T* high = low + HALF;
      for (int i = 0; i < HALF; ++i) {
        const float u = static_cast<float>(low[i]), v = static_cast<float>(high[i]);
        low[i] = static_cast<T>(u * c[i] - v * s[i]);
        high[i] = static_cast<T>(v * c[i] + u * s[i]);
      }
    }
  }
}
TUNEONCE_CPU_KERNEL(rope);
