// z = x + y, BLOCK elements per block, UNROLL of them per step.
static void summed(const tuneonce_block& block, const float* x, const float* y, float* z, long n) {
  const long begin = static_cast<long>(block.x) * BLOCK, end = begin + BLOCK < n ? begin + BLOCK : n;
  for (long i = begin; i < end; i += UNROLL) {
    for (long u = i; u < i + UNROLL && u < end; ++u) z[u] = x[u] + y[u];
  }
}
TUNEONCE_CPU_KERNEL(summed);
