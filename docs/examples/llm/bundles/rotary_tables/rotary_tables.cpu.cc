// Cosine and sine of positions[t] / base^(i / r), as rope takes them: THREADS elements per block.
static void rotary_tables(const tuneonce_block& block, const int* positions, float* cosines, float* sines, float base,
                          int t, int r) {
  const long begin = static_cast<long>(block.x) * THREADS, all = static_cast<long>(t) * r;
  for (long i = begin; i < begin + THREADS && i < all; ++i) {
    const float column = static_cast<float>(i % r) / static_cast<float>(r);
    const float angle = static_cast<float>(positions[i / r]) * __builtin_exp2f(-column * __builtin_log2f(base));
    cosines[i] = __builtin_cosf(angle);
    sines[i] = __builtin_sinf(angle);
  }
}
TUNEONCE_CPU_KERNEL(rotary_tables);
