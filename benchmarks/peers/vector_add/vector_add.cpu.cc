// z = x + y, BLOCK elements a block: for the CPU device.
static void vector_add(const tuneonce_block& block, const float* x, const float* y, float* z, long n) {
  const long begin = static_cast<long>(block.x) * BLOCK;
  const long end = begin + BLOCK < n ? begin + BLOCK : n;
  for (long i = begin; i < end; ++i) z[i] = x[i] + y[i];
}
TUNEONCE_CPU_KERNEL(vector_add);
