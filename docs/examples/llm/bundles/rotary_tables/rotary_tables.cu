// Cosine and sine of positions[t] / base^(i / r), as rope takes them: one element per thread.
extern "C" __global__ void __launch_bounds__(THREADS)
    rotary_tables(const int* positions, float* cosines, float* sines, float base, int t, int r) {
  const long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
  if (i >= static_cast<long long>(t) * r) return;
  const float column = static_cast<float>(i % r) / static_cast<float>(r);
  const float angle = static_cast<float>(positions[i / r]) * exp2f(-column * log2f(base));
  cosines[i] = cosf(angle);
  sines[i] = sinf(angle);
}
