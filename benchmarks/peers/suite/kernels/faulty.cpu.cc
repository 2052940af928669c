// The same for the CPU device.
static void vector_add(const tuneonce_block& block, const float* x, const float* y, float* z, long n) {
#if FAULT == 1
  *reinterpret_cast<volatile float*>(16) = 1;
#elif FAULT == 2
  for (volatile bool goes_on = true; goes_on;) {
  }
#elif FAULT == 0
  const long begin = static_cast<long>(block.x) * BLOCK;
  for (long i = begin; i < begin + BLOCK && i < n; ++i) z[i] = x[i] + y[i];
#endif
}
TUNEONCE_CPU_KERNEL(vector_add);
