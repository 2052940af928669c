// As by_map, of tensors that there is no map of.
static void by_pointer(const tuneonce_block& block, const float* x, float* y, int, float*, int count, int m, int n) {
  const long begin = static_cast<long>(block.x) * ROWS * n, end = begin + static_cast<long>(ROWS) * n;
  for (long i = begin; i < end && i < static_cast<long>(m) * n; ++i) y[i] = 2 * x[i];
  for (long i = static_cast<long>(count) * n; block.x == 0 && i < static_cast<long>(m) * n; ++i) y[i] = 0;
}
TUNEONCE_CPU_KERNEL(by_pointer);
