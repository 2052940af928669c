// c (m, n) = a (m, k) b^T, b (n, k), of half-precision numbers, summed in float by tensor cores (sm_80 and newer).
// Tiles of a and b, TILE_K deep, go through STAGES buffers of shared memory by asynchronous copies. WARPS_M x WARPS_N
// warps share a TILE_M x TILE_N tile of c. GROUP rows of tiles are processed before the next column of tiles, for the
// L2 cache. Every config adds the products of an element in the same order, so all results are equal to the bit. It
// includes no header: a half is its bits.
using Half = unsigned short;

constexpr int kThreads = 32 * WARPS_M * WARPS_N;
constexpr int kPitch = TILE_K + 8;  // In halves. Rows of a fragment then lie in different banks.
constexpr int kRows = TILE_M / WARPS_M / 16;
constexpr int kCols = TILE_N / WARPS_N / 8;

/// Starts a copy of 16 bytes to shared memory, or writes zeros there.
__device__ inline void CopyAsync(Half* to, const Half* from, bool is_inside) {
  const auto address = static_cast<unsigned int>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(is_inside ? 16 : 0)
               : "memory");
}
__device__ inline void CommitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until the copies of all but the last STAGES - 2 commits are done.
__device__ inline void WaitForCopies() { asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory"); }

/// Adds the product of a 16 x 16 and a 16 x 8 fragment.
__device__ inline void MultiplyAdd(float (&sum)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ inline unsigned int ToHalves(float low, float high) {
  unsigned int halves;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(halves) : "f"(high), "f"(low));
  return halves;
}

/// Starts to copy rows [row, row + ROWS) and columns [column, column + TILE_K) of a (rows, k) matrix.
template <int ROWS>
__device__ inline void CopyTile(Half* tile, const Half* matrix, int row, int rows, int column, int k) {
  constexpr int kChunks = TILE_K / 8;
  for (int i = threadIdx.x; i < ROWS * kChunks; i += kThreads) {
    const int r = i / kChunks, c = i % kChunks * 8;
    const bool is_inside = row + r < rows && column + c < k;
    CopyAsync(tile + r * kPitch + c, is_inside ? matrix + static_cast<long long>(row + r) * k + column + c : matrix,
              is_inside);
  }
}

__device__ inline unsigned int TwoHalves(const Half* at) { return *reinterpret_cast<const unsigned int*>(at); }

extern "C" __global__ void __launch_bounds__(kThreads)
    matmul(const Half* a, const Half* b, Half* c, int m, int n, int k) {
  extern __shared__ __align__(16) Half shared[];
  const int tiles_m = (m + TILE_M - 1) / TILE_M, tiles_n = (n + TILE_N - 1) / TILE_N;
  const int group = blockIdx.x / (GROUP * tiles_n) * GROUP;
  const int rows_of_group = min(GROUP, tiles_m - group), in_group = blockIdx.x % (GROUP * tiles_n);
  const int row = (group + in_group % rows_of_group) * TILE_M, column = in_group / rows_of_group * TILE_N;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / WARPS_N * kRows * 16, warp_column = warp % WARPS_N * kCols * 8;
  const int steps = (k + TILE_K - 1) / TILE_K;
  auto a_tile = [&](int step) { return shared + step % STAGES * (TILE_M + TILE_N) * kPitch; };
  auto b_tile = [&](int step) { return a_tile(step) + TILE_M * kPitch; };
  auto copy = [&](int step) {
    if (step < steps) {
      CopyTile<TILE_M>(a_tile(step), a, row, m, step * TILE_K, k);
      CopyTile<TILE_N>(b_tile(step), b, column, n, step * TILE_K, k);
    }
    CommitCopies();
  };
  float sums[kRows][kCols][4] = {};
  for (int step = 0; step < STAGES - 1; ++step) copy(step);
  for (int step = 0; step < steps; ++step) {
    WaitForCopies();
    __syncthreads();
    copy(step + STAGES - 1);
    const Half* a_at = a_tile(step) + (warp_row + lane / 4) * kPitch + lane % 4 * 2;
    const Half* b_at = b_tile(step) + (warp_column + lane / 4) * kPitch + lane % 4 * 2;
#pragma unroll
    for (int depth = 0; depth < TILE_K; depth += 16) {
      unsigned int a_part[kRows][4], b_part[kCols][2];
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const Half* at = a_at + i * 16 * kPitch + depth;
        a_part[i][0] = TwoHalves(at);
        a_part[i][1] = TwoHalves(at + 8 * kPitch);
        a_part[i][2] = TwoHalves(at + 8);
        a_part[i][3] = TwoHalves(at + 8 * kPitch + 8);
      }
#pragma unroll
      for (int j = 0; j < kCols; ++j) {
        const Half* at = b_at + j * 8 * kPitch + depth;
        b_part[j][0] = TwoHalves(at);
        b_part[j][1] = TwoHalves(at + 8);
      }
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int j = 0; j < kCols; ++j) MultiplyAdd(sums[i][j], a_part[i], b_part[j]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kCols; ++j) {
      const int r = row + warp_row + i * 16 + lane / 4, col = column + warp_column + j * 8 + lane % 4 * 2;
      if (col >= n) continue;
      auto* to = reinterpret_cast<unsigned int*>(c + static_cast<long long>(r) * n + col);
      if (r < m) *to = ToHalves(sums[i][j][0], sums[i][j][1]);
      if (r + 8 < m) to[4 * static_cast<long long>(n)] = ToHalves(sums[i][j][2], sums[i][j][3]);
    }
  }
}
