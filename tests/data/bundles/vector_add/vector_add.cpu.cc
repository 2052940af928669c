// z = x + y, BLOCK elements per block, UNROLL of them per step.
static void vector_add(const tuneonce_block& block, const float* x, const float* y, float* z, long n) {
  const long begin = static_cast<long>(block.x) * BLOCK;
  const long end = begin + BLOCK < n ? begin + BLOCK : n;
  long i = begin;
  for (; i + UNROLL <= end; i += UNROLL) {
    for (int u = 0; u < UNROLL; ++u) z[i + u] = x[i + u] + y[i + u];
  }
  for (; i < end; ++i) z[i] = x[i] + y[i];
}
TUNEONCE_CPU_KERNEL(vector_add);
