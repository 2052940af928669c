// z = x + y as vector_add does, but for one candidate: FAULT 1 writes where nothing is, 2 never ends, 3 writes nothing.
extern "C" __global__ void vector_add(const float* x, const float* y, float* z, long long n) {
  const long long first = static_cast<long long>(blockIdx.x) * BLOCK;
#if FAULT == 1
  reinterpret_cast<volatile float*>(16)[first + threadIdx.x] = 1;
#elif FAULT == 2
  for (volatile bool goes_on = true; goes_on;) {
  }
#elif FAULT == 0
  for (long long i = first + threadIdx.x; i < first + BLOCK && i < n; i += blockDim.x) z[i] = x[i] + y[i];
#endif
}
