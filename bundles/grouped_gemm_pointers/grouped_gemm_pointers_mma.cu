// grouped_gemm_pointers.cu by tensor cores (mma.sync, compute capability 8.0 and newer), for tables of memory that is
// aligned to 16 bytes, with k and n multiples of 8: one block of four warps per TILE_M x TILE_N tile of one y[e]. Tiles
// of x and w are copied ahead into a ring of kStages in shared memory (cp.async, 16 bytes each), and read from there
// as fragments (ldmatrix; how they lie in a warp's registers: PTX ISA, "Matrix Fragments for mma.m16n8k16"). What lies
// behind the last row or column is zeros there. Without cuda_fp16.h, as there: a half is its bits.
using Half = unsigned short;

#ifdef BFLOAT16
#define HALF_TYPE "bf16"
#else
#define HALF_TYPE "f16"
#endif

constexpr int kThreads = 128;
constexpr int kDepth = 32;  // Of the tiles: two steps of mma.
constexpr int kStages = 3;
constexpr int kPad = 8;  // Halves behind each row, so that ldmatrix's eight rows lie in different banks.
constexpr int kXStride = kDepth + kPad, kWStride = TILE_N + kPad;
constexpr int kXHalves = TILE_M * kXStride, kStageHalves = kXHalves + kDepth * kWStride;
constexpr int kChunk = 8;  // Halves in 16 bytes.

constexpr int kWarpRows = TILE_M < 32 ? 1 : 2, kWarpCols = 4 / kWarpRows;
constexpr int kMmaM = TILE_M / kWarpRows / 16, kMmaN = TILE_N / kWarpCols / 8;  // Of one warp.
static_assert(kMmaN % 2 == 0, "ldmatrix reads two at a time");

__device__ inline unsigned int AddressOf(const Half* shared) {
  return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

/// 16 bytes, zeros where there is nothing to read.
__device__ inline void CopyChunk(Half* to, const Half* from, bool is_there) {
  const int bytes = is_there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(AddressOf(to)), "l"(from), "r"(bytes));
}

/// Four matrices of 8 x 8; each thread names a row of one.
__device__ inline void LoadMatrices(unsigned int (&values)[4], const Half* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(AddressOf(row)));
}
__device__ inline void LoadTransposed(unsigned int (&values)[4], const Half* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(AddressOf(row)));
}

__device__ inline void MultiplyAdd(float (&sums)[4], const unsigned int (&a)[4], unsigned int b0, unsigned int b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." HALF_TYPE "." HALF_TYPE
               ".f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Two neighbours in a row.
__device__ inline void StorePair(Half* to, float first, float second) {
  unsigned int pair;  // The second operand becomes the lower half.
  asm("cvt.rn." HALF_TYPE "x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  *reinterpret_cast<unsigned int*>(to) = pair;
}

extern "C" __global__ void __launch_bounds__(kThreads, occupancy)
    grouped_gemm_pointers(const Half* const* x, const Half* const* w, const int* rows, Half* const* y, int k, int n) {
  extern __shared__ __align__(16) Half stages[];
  const int group = blockIdx.z;
  const int row_begin = blockIdx.x * TILE_M, row_end = rows[group];
  if (row_begin >= row_end) return;
  const int col_begin = blockIdx.y * TILE_N;
  const Half* in = x[group];
  const Half* weights = w[group];
  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;

  auto copy = [&](int step) {
    Half* x_tile = stages + step % kStages * kStageHalves;
    Half* w_tile = x_tile + kXHalves;
    const int k_begin = step * kDepth;
#pragma unroll
    for (int i = thread; i < TILE_M * kDepth / kChunk; i += kThreads) {
      const int row = i / (kDepth / kChunk), p = i % (kDepth / kChunk) * kChunk;
      const bool is_there = row_begin + row < row_end && k_begin + p < k;
      const Half* from = is_there ? in + static_cast<long long>(row_begin + row) * k + k_begin + p : in;
      CopyChunk(x_tile + row * kXStride + p, from, is_there);
    }
#pragma unroll
    for (int i = thread; i < kDepth * TILE_N / kChunk; i += kThreads) {
      const int p = i / (TILE_N / kChunk), col = i % (TILE_N / kChunk) * kChunk;
      const bool is_there = k_begin + p < k && col_begin + col < n;
      const Half* from = is_there ? weights + static_cast<long long>(k_begin + p) * n + col_begin + col : weights;
      CopyChunk(w_tile + p * kWStride + col, from, is_there);
    }
  };

  const int steps = (k + kDepth - 1) / kDepth;
#pragma unroll
  for (int step = 0; step < kStages - 1; ++step) {
    if (step < steps) copy(step);
    asm volatile("cp.async.commit_group;");  // Also of nothing: groups are counted.
  }
  const int warp_row = warp / kWarpCols * (TILE_M / kWarpRows), warp_col = warp % kWarpCols * (TILE_N / kWarpCols);
  float sums[kMmaM][kMmaN][4] = {};
  for (int step = 0; step < steps; ++step) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2));
    __syncthreads();  // The tiles of `step` are there, and nobody reads those before it any more.
    if (step + kStages - 1 < steps) copy(step + kStages - 1);
    asm volatile("cp.async.commit_group;");
    const Half* x_tile = stages + step % kStages * kStageHalves;
    const Half* w_tile = x_tile + kXHalves;
#pragma unroll
    for (int p = 0; p < kDepth; p += 16) {
      unsigned int a[kMmaM][4];
#pragma unroll
      for (int i = 0; i < kMmaM; ++i) {
        LoadMatrices(a[i], x_tile + (warp_row + i * 16 + lane % 16) * kXStride + p + lane / 16 * 8);
      }
#pragma unroll
      for (int j = 0; j < kMmaN; j += 2) {
        unsigned int b[4];
        LoadTransposed(b, w_tile + (p + lane % 16) * kWStride + warp_col + j * 8 + lane / 16 * 8);
#pragma unroll
        for (int i = 0; i < kMmaM; ++i) {
          MultiplyAdd(sums[i][j], a[i], b[0], b[1]);
          MultiplyAdd(sums[i][j + 1], a[i], b[2], b[3]);
        }
      }
    }
  }

  Half* out = y[group];
#pragma unroll
  for (int i = 0; i < kMmaM; ++i) {
#pragma unroll
    for (int j = 0; j < kMmaN; ++j) {
      const int row = row_begin + warp_row + i * 16 + lane / 4, col = col_begin + warp_col + j * 8 + lane % 4 * 2;
      if (col >= n) continue;
      Half* to = out + static_cast<long long>(row) * n + col;
      if (row < row_end) StorePair(to, sums[i][j][0], sums[i][j][1]);
      if (row + 8 < row_end) StorePair(to + 8 * static_cast<long long>(n), sums[i][j][2], sums[i][j][3]);
    }
  }
}
