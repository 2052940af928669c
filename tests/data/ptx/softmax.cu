// y = softmax of each row of x[rows, 1000]: one block of 256 threads per row. softmax.ptx is this by NVRTC 13.0
// (--gpu-architecture=compute_75); tests/gpu races it with the Tile IR kernel of the same op.
extern "C" __global__ void softmax(const float* x, float* y) {
  constexpr int kColumns = 1000, kThreads = 256;
  __shared__ float partial[kThreads];
  const float* row = x + static_cast<long long>(blockIdx.x) * kColumns;
  float sum = 0;
  for (int c = threadIdx.x; c < kColumns; c += kThreads) sum += expf(row[c]);
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  for (int c = threadIdx.x; c < kColumns; c += kThreads) {
    y[static_cast<long long>(blockIdx.x) * kColumns + c] = expf(row[c]) / partial[0];
  }
}
