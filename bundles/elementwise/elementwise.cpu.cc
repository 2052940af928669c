// y = gelu(x) * z, BLOCK elements per block; gelu with tanh: (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)).
static void elementwise(const tuneonce_block& block, const T* x, const T* z, T* y, long n) {
  const long begin = static_cast<long>(block.x) * BLOCK;
  const long end = begin + BLOCK < n ? begin + BLOCK : n;
  for (long i = begin; i < end; ++i) {
    const float gate = static_cast<float>(x[i]);
    const float exponent = __builtin_expf(gate * (gate * gate * 0.044715f + 1.0f) * -1.5957691216057308f);
    y[i] = static_cast<T>(gate / (1.0f + exponent) * static_cast<float>(z[i]));
  }
}
TUNEONCE_CPU_KERNEL(elementwise);
