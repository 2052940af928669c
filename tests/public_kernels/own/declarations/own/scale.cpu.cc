static void scale(const tuneonce_block& block, const float* x, float* y, float factor, long n) {
  const long begin = static_cast<long>(block.x) * TILE;
  const long end = begin + TILE < n ? begin + TILE : n;
  for (long i = begin; i < end; ++i) y[i] = x[i] * factor;
}
TUNEONCE_CPU_KERNEL(scale);
