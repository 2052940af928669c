// o = softmax(scale q k^T) v of half-precision numbers within each sequence, as varlen_attention_declared.py says it,
// in float, for heads of any size whose tiles shared memory holds: block (TILE_M queries of a sequence, head), kQueries
// of them at a time, against 32 keys at a time, one per lane. A warp has kOfWarp queries; its lanes share their maxima
// and sums so far, and each has every 32nd column of their output. Without tensor cores: for head sizes, strides and
// alignments that the Tile IR is not for, and where there is no tileiras. Without cuda_fp16.h, which is not everywhere
// that NVRTC is: a half is its bits.
using Half = unsigned short;

#ifdef BFLOAT16  // A half is a bfloat16 then: a float's upper half.
__device__ inline float ToFloat(Half half) { return __uint_as_float(static_cast<unsigned int>(half) << 16); }
/// To the nearest, of two the even one.
__device__ inline Half ToHalf(float value) {
  const unsigned int bits = __float_as_uint(value);
  return static_cast<Half>(value == value ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16 : 0x7fff);
}
#else
__device__ inline float ToFloat(Half half) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return value;
}
__device__ inline Half ToHalf(float value) {
  Half half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
}
#endif

constexpr int kWarp = 32;
constexpr int kWarps = 8;
constexpr int kOfWarp = 4;
constexpr int kQueries = kWarps * kOfWarp;
constexpr int kThreads = kWarps * kWarp;
static_assert(TILE_M % kQueries == 0, "a block takes whole groups of queries");
constexpr float kLog2E = 1.4426950408889634f;
constexpr float kLeast = -3.4e38f;  // Finite: a query may have seen nothing yet, and its scores may all be -infinity.

__device__ inline float Infinity() { return __int_as_float(0x7f800000); }
__device__ inline float LargestOf(float value) {
  for (int lane = kWarp / 2; lane > 0; lane /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, lane));
  return value;
}
__device__ inline float SumOf(float value) {
  for (int lane = kWarp / 2; lane > 0; lane /= 2) value += __shfl_xor_sync(0xffffffffu, value, lane);
  return value;
}

/// The dynamic shared memory of a block: 320 d + 128 bytes (the manifest says so, too).
struct Tiles {
  static constexpr int kPadding = 2;  // So that 32 lanes find the same column of their keys in 32 banks.
  float* sums;                        // [kQueries][d]
  Half* queries;                      // [kQueries][d]
  Half* keys;                         // [kWarp][d + kPadding]
  Half* values;                       // [kWarp][d]
};

/// `rows` rows of d numbers each, `from_stride` and `stride` apart; 0 beyond the first `count`.
__device__ inline void Load(const Half* from, long long from_stride, Half* to, int rows, int count, int d, int stride) {
  for (int row = threadIdx.x / kWarp; row < rows; row += kWarps) {
    for (int i = threadIdx.x % kWarp; i < d; i += kWarp) {
      to[row * stride + i] = row < count ? from[row * from_stride + i] : Half{0};
    }
  }
}

/// Of a warp's queries: greatest score and sum of exponents so far.
struct Seen {
  float largest[kOfWarp], total[kOfWarp];
};

/// A warp's queries against the keys and values in `tiles`, whose first is `first`. last: the last key that the warp's
/// first query sees; each query after it sees `step` more.
__device__ inline void Attend(const Tiles& tiles, Seen& seen, float scale, int first, int last, int step, int t,
                              int d) {
  __shared__ float weights[kQueries][kWarp];
  const int lane = threadIdx.x % kWarp, query = threadIdx.x / kWarp * kOfWarp;
  float scores[kOfWarp] = {}, factors[kOfWarp];
  for (int i = 0; i < d; ++i) {
    const float key = ToFloat(tiles.keys[lane * (d + Tiles::kPadding) + i]);
#pragma unroll
    for (int r = 0; r < kOfWarp; ++r) scores[r] += ToFloat(tiles.queries[(query + r) * d + i]) * key;
  }
#pragma unroll
  for (int r = 0; r < kOfWarp; ++r) {
    const bool is_seen = first + lane < t && first + lane <= last + r * step;
    const float score = is_seen ? scores[r] * scale : -Infinity();
    const float most = fmaxf(seen.largest[r], LargestOf(score));
    const float weight = exp2f(score - most);
    factors[r] = exp2f(seen.largest[r] - most);
    seen.total[r] = seen.total[r] * factors[r] + SumOf(weight);
    seen.largest[r] = most;
    weights[query + r][lane] = weight;
  }
  __syncwarp();
  for (int i = lane; i < d; i += kWarp) {
    float sums[kOfWarp];
#pragma unroll
    for (int r = 0; r < kOfWarp; ++r) sums[r] = tiles.sums[(query + r) * d + i] * factors[r];
    for (int key = 0; key < kWarp; ++key) {
      const float value = ToFloat(tiles.values[key * d + i]);
#pragma unroll
      for (int r = 0; r < kOfWarp; ++r) sums[r] += weights[query + r][key] * value;
    }
#pragma unroll
    for (int r = 0; r < kOfWarp; ++r) tiles.sums[(query + r) * d + i] = sums[r];
  }
}

/// The last sequence that begins with this block or before.
__device__ inline int SequenceOf(int block, const int* cu_seqlens, int num_sequences) {
  int sequence = 0;
  for (int end = num_sequences; end - sequence > 1;) {
    const int middle = (sequence + end) / 2;
    if (cu_seqlens[middle] / TILE_M + middle <= block) {
      sequence = middle;
    } else {
      end = middle;
    }
  }
  return sequence;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    varlen_attention(const Half* q, const Half* k, const Half* v, const int* cu_seqlens, Half* o, float scale,
                     bool causal, int num_offsets, int h, int g, int d) {
  extern __shared__ float memory[];
  Tiles tiles;
  tiles.sums = memory;
  tiles.queries = reinterpret_cast<Half*>(tiles.sums + kQueries * d);
  tiles.keys = tiles.queries + kQueries * d;
  tiles.values = tiles.keys + kWarp * (d + Tiles::kPadding);
  const int lane = threadIdx.x % kWarp, query = threadIdx.x / kWarp * kOfWarp;
  const int sequence = SequenceOf(blockIdx.x, cu_seqlens, num_offsets - 1);
  const int of_sequence = cu_seqlens[sequence], t = cu_seqlens[sequence + 1] - of_sequence;
  const long long q_stride = static_cast<long long>(h) * d, k_stride = static_cast<long long>(g) * d;
  const long long of_queries = of_sequence * q_stride + static_cast<long long>(blockIdx.y) * d;
  const long long of_keys = of_sequence * k_stride + static_cast<long long>(blockIdx.y) * g / h * d;
  const int tile = blockIdx.x - of_sequence / TILE_M - sequence;
  const int begin = ((t + TILE_M - 1) / TILE_M - 1 - tile) * TILE_M;  // Blocks with the most keys come first.
  if (begin < 0) return;
  for (int row = begin; row < begin + TILE_M && row < t; row += kQueries) {
    __syncthreads();  // The queries before may still be read.
    Load(q + of_queries + row * q_stride, q_stride, tiles.queries, kQueries, t - row, d, d);
    for (int i = threadIdx.x; i < kQueries * d; i += kThreads) tiles.sums[i] = 0;
    Seen seen;
#pragma unroll
    for (int r = 0; r < kOfWarp; ++r) {
      seen.largest[r] = kLeast;
      seen.total[r] = 0;
    }
    const int end = causal ? min(row + kQueries, t) : t;
    for (int first = 0; first < end; first += kWarp) {
      __syncthreads();
      const long long at = of_keys + first * k_stride;
      Load(k + at, k_stride, tiles.keys, kWarp, t - first, d, d + Tiles::kPadding);
      Load(v + at, k_stride, tiles.values, kWarp, t - first, d, d);
      __syncthreads();
      Attend(tiles, seen, scale * kLog2E, first, causal ? row + query : t, causal ? 1 : 0, t, d);
    }
#pragma unroll
    for (int r = 0; r < kOfWarp; ++r) {
      if (row + query + r >= t) break;
      for (int i = lane; i < d; i += kWarp) {
        const float result = seen.total[r] > 0 ? tiles.sums[(query + r) * d + i] / seen.total[r] : 0.0f;
        o[of_queries + (row + query + r) * q_stride + i] = ToHalf(result);
      }
    }
  }
}
