// y = softmax(x) of floats, by rows of any length, TILE_N columns at a time: a row that TILE_N covers is read once and
// kept in registers, of others the sum is scaled down as larger values come. A block takes one row, or (ONE_ROW 0)
// every grid-th.
constexpr int kWidth = 4;  // Values that a thread loads at once: 16 bytes.
constexpr int kThreads = TILE_N / kWidth < 256 ? TILE_N / kWidth : 256;
constexpr int kSteps = TILE_N / kWidth / kThreads;
constexpr float kLeast = -3.402823466e+38f;  // Finite: of a row's values all may be -infinity at first.

/// Where a thread's values of one step are: side by side where a row starts at 16 bytes, else spread, so that
/// neighbours load neighbours.
template <bool kIsWide>
__device__ inline int ColumnOf(int step, int value) {
  return kIsWide ? (step * kThreads + threadIdx.x) * kWidth + value : (step * kWidth + value) * kThreads + threadIdx.x;
}

/// -infinity beyond the row's end.
template <bool kIsWide>
__device__ inline void Load(const float* row, int begin, int step, int n, float* values) {
  const float none = __int_as_float(0xff800000);
  if (kIsWide) {
    const int column = begin + ColumnOf<true>(step, 0);
    float4 wide = {none, none, none, none};
    if (column < n) wide = *reinterpret_cast<const float4*>(row + column);
    values[0] = wide.x, values[1] = wide.y, values[2] = wide.z, values[3] = wide.w;
  } else {
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      const int column = begin + ColumnOf<false>(step, v);
      values[v] = column < n ? row[column] : none;
    }
  }
}
template <bool kIsWide>
__device__ inline void Store(float* row, int begin, int step, int n, const float* values) {
  if (kIsWide) {
    const int column = begin + ColumnOf<true>(step, 0);
    if (column < n) *reinterpret_cast<float4*>(row + column) = {values[0], values[1], values[2], values[3]};
  } else {
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      const int column = begin + ColumnOf<false>(step, v);
      if (column < n) row[column] = values[v];
    }
  }
}

/// Of the threads' largest values and sums of e^(value - largest), to all threads.
__device__ inline void Reduce(float& largest, float& sum) {
  __shared__ float warp_largest[kThreads / 32], warp_sums[kThreads / 32];
  float most = largest;
  for (int lane = 16; lane > 0; lane /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, lane));
  sum *= __expf(largest - most);
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  __syncthreads();  // The row before may still be read.
  if (threadIdx.x % 32 == 0) warp_largest[threadIdx.x / 32] = most, warp_sums[threadIdx.x / 32] = sum;
  __syncthreads();
  largest = kLeast;
  for (int i = 0; i < kThreads / 32; ++i) largest = fmaxf(largest, warp_largest[i]);
  sum = 0;
  for (int i = 0; i < kThreads / 32; ++i) sum += warp_sums[i] * __expf(warp_largest[i] - largest);
}

template <bool kIsWide>
__device__ inline void Softmax(const float* in, float* out, int n) {
  float values[kSteps][kWidth];
  float largest = kLeast, sum = 0;
  for (int begin = 0; begin < n; begin += TILE_N) {
    float most = largest;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      Load<kIsWide>(in, begin, step, n, values[step]);
#pragma unroll
      for (int v = 0; v < kWidth; ++v) most = fmaxf(most, values[step][v]);
    }
    sum *= __expf(largest - most);
    largest = most;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int v = 0; v < kWidth; ++v) sum += __expf(values[step][v] - largest);
    }
  }
  Reduce(largest, sum);
  const float scale = 1.0f / sum;
  for (int begin = 0; begin < n; begin += TILE_N) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (n > TILE_N) Load<kIsWide>(in, begin, step, n, values[step]);
#pragma unroll
      for (int v = 0; v < kWidth; ++v) values[step][v] = __expf(values[step][v] - largest) * scale;
      Store<kIsWide>(out, begin, step, n, values[step]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, occupancy < 1 ? 1 : occupancy)
    softmax(const float* x, float* y, int m, int n) {
  const unsigned long long addresses =
      reinterpret_cast<unsigned long long>(x) | reinterpret_cast<unsigned long long>(y);
  const bool is_wide = n % kWidth == 0 && addresses % sizeof(float4) == 0;
  for (int row = blockIdx.x; row < m; row += gridDim.x) {
    const float* in = x + static_cast<long long>(row) * n;
    float* out = y + static_cast<long long>(row) * n;
    if (is_wide) {
      Softmax<true>(in, out, n);
    } else {
      Softmax<false>(in, out, n);
    }
  }
}
