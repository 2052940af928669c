// o = softmax(scale q k^T) v of half-precision numbers, of one query per sequence, as decode_attention_declared.py says
// it, in float, for heads of any size whose tiles shared memory holds: block (split, up to kHeads heads that share
// keys, sequence), TILE_N keys at a time. Each thread has a key's scores with some of the heads, then a column of their
// output. Without tensor cores: for head sizes, strides and alignments that the Tile IR is not for, and where there is
// no tileiras. Without cuda_fp16.h, which is not everywhere that NVRTC is: a half is its bits.
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
constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarp;
constexpr int kHeads = 16;
constexpr int kKeysAtOnce = TILE_N < kThreads ? TILE_N : kThreads;
constexpr int kParts = kThreads / kKeysAtOnce;  // Of the heads, between threads that have the same keys.
constexpr int kOfThread = kHeads / kParts;
static_assert(TILE_N % kKeysAtOnce == 0 && kThreads % kKeysAtOnce == 0 && kHeads % kParts == 0, "all threads work");
constexpr float kLog2E = 1.4426950408889634f;
constexpr float kLeast = -3.4e38f;  // Finite: the log2 of a sum of exponents of no keys, so that two differ by 0.

__device__ inline float LargestOf(float value) {
  for (int lane = kWarp / 2; lane > 0; lane /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, lane));
  return value;
}
__device__ inline float SumOf(float value) {
  for (int lane = kWarp / 2; lane > 0; lane /= 2) value += __shfl_xor_sync(0xffffffffu, value, lane);
  return value;
}

/// The dynamic shared memory of a block: d (96 + 2 TILE_N) + 4 TILE_N bytes (the manifest says so, too).
struct Tiles {
  static constexpr int kPadding = 2;  // So that 32 lanes find the same column of their keys in 32 banks.
  float* sums;                        // [kHeads][d]
  Half* queries;                      // [kHeads][d]
  Half* keys;                         // [TILE_N][d + kPadding]
};
/// Of a block's heads: the scores of a tile of keys, then their exponents; what is known of the keys so far.
struct Seen {
  float weights[kHeads][TILE_N];
  float largest[kHeads], total[kHeads], factor[kHeads];
};

/// `rows` rows of d numbers each, side by side; `stride` apart in `to`.
__device__ inline void Load(const Half* from, Half* to, int rows, int d, int stride) {
  for (int row = threadIdx.x / kWarp; row < rows; row += kWarps) {
    for (int i = threadIdx.x % kWarp; i < d; i += kWarp) to[row * stride + i] = from[row * d + i];
  }
}

/// The scores of `heads` heads with the first `count` keys of `tiles`; of the others minus infinity.
__device__ inline void Score(const Tiles& tiles, Seen& seen, float scale, int heads, int count, int d) {
  const int part = threadIdx.x / kKeysAtOnce;
  for (int key = threadIdx.x % kKeysAtOnce; key < TILE_N; key += kKeysAtOnce) {
    float scores[kOfThread] = {};
    for (int i = 0; i < d && key < count; ++i) {
      const float of_key = ToFloat(tiles.keys[key * (d + Tiles::kPadding) + i]);
#pragma unroll
      for (int r = 0; r < kOfThread; ++r) {
        if (r * kParts + part < heads) scores[r] += ToFloat(tiles.queries[(r * kParts + part) * d + i]) * of_key;
      }
    }
#pragma unroll
    for (int r = 0; r < kOfThread; ++r) {
      seen.weights[r * kParts + part][key] = key < count ? scores[r] * scale : __int_as_float(0xff800000);
    }
  }
}

/// Scores become exponents relative to the largest one so far: a warp per head.
__device__ inline void Weigh(Seen& seen, int heads) {
  const int lane = threadIdx.x % kWarp;
  for (int head = threadIdx.x / kWarp; head < heads; head += kWarps) {
    float most = seen.largest[head], total = 0;
    const float before = most;
    for (int key = lane; key < TILE_N; key += kWarp) most = fmaxf(most, seen.weights[head][key]);
    most = LargestOf(most);
    for (int key = lane; key < TILE_N; key += kWarp) {
      const float weight = exp2f(seen.weights[head][key] - most);
      seen.weights[head][key] = weight;
      total += weight;
    }
    total = SumOf(total);
    if (lane == 0) {
      seen.factor[head] = exp2f(before - most);
      seen.total[head] = seen.total[head] * seen.factor[head] + total;
      seen.largest[head] = most;
    }
    __syncwarp();
  }
}

/// Adds the first `count` values, weighted, to the outputs so far.
__device__ inline void AddValues(const Tiles& tiles, const Seen& seen, const Half* values, int heads, int count,
                                 int d) {
  for (int i = threadIdx.x; i < d; i += kThreads) {
    float sums[kHeads];
#pragma unroll
    for (int r = 0; r < kHeads; ++r) sums[r] = r < heads ? tiles.sums[r * d + i] * seen.factor[r] : 0.0f;
    for (int key = 0; key < count; ++key) {
      const float value = ToFloat(values[static_cast<long long>(key) * d + i]);
#pragma unroll
      for (int r = 0; r < kHeads; ++r) {
        if (r < heads) sums[r] += seen.weights[r][key] * value;
      }
    }
#pragma unroll
    for (int r = 0; r < kHeads; ++r) {
      if (r < heads) tiles.sums[r * d + i] = sums[r];
    }
  }
}

/// A block's part of the workspaces, kHeads rows each: as in decode_attention.py.
struct Partial {
  float* o;    // [splits][kHeads][d]
  float* lse;  // [splits][kHeads]
};

/// Whether this block is the last one to come here of those that share `counter`, which is 0 again then. What the
/// others wrote before is seen from then on (threadFenceReduction of the CUDA samples shows this order).
__device__ inline bool IsLast(unsigned* counter) {
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  return is_last;
}

/// The outputs of all splits, each weighed by its sum of exponents, in their order.
__device__ inline void Combine(const Partial& partial, Half* out, int heads, int d) {
  const int splits = gridDim.x;
  for (int at = threadIdx.x; at < heads * d; at += kThreads) {
    const int head = at / d;
    float most = kLeast, total = 0, sum = 0;
    for (int split = 0; split < splits; ++split) most = fmaxf(most, partial.lse[split * kHeads + head]);
    for (int split = 0; split < splits; ++split) {
      const float weight = exp2f(partial.lse[split * kHeads + head] - most);
      total += weight;
      sum += weight * partial.o[static_cast<long long>(split) * kHeads * d + at];
    }
    out[at] = ToHalf(sum / total);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    decode_attention(const Half* q, const Half* k, const Half* v, const int* lengths, Half* o, unsigned* counters,
                     float scale, float* partial_o, float* partial_lse, int c, int h, int g, int d) {
  extern __shared__ float memory[];
  __shared__ Seen seen;
  Tiles tiles;
  tiles.sums = memory;
  tiles.queries = reinterpret_cast<Half*>(tiles.sums + kHeads * d);
  tiles.keys = tiles.queries + kHeads * d;
  const int sharing = h / g, parts = (sharing + kHeads - 1) / kHeads;
  const int at_head = blockIdx.y / parts, part = blockIdx.y % parts;
  const int heads = min(kHeads, sharing - part * kHeads);
  const long long row = static_cast<long long>(blockIdx.z) * h + at_head * sharing + part * kHeads;
  const long long of_keys = (static_cast<long long>(blockIdx.z) * g + at_head) * c * d;
  const int splits = gridDim.x, length = lengths[blockIdx.z];
  const int of_split = ((length + TILE_N - 1) / TILE_N + splits - 1) / splits * TILE_N;
  const int begin = blockIdx.x * of_split, end = min(begin + of_split, length);
  Load(q + row * d, tiles.queries, heads, d, d);
  for (int i = threadIdx.x; i < heads * d; i += kThreads) tiles.sums[i] = 0;
  for (int head = threadIdx.x; head < kHeads; head += kThreads) {
    seen.largest[head] = kLeast;
    seen.total[head] = 0;
  }
  for (int first = begin; first < end; first += TILE_N) {
    const int count = min(TILE_N, end - first);
    const long long at = of_keys + static_cast<long long>(first) * d;
    __syncthreads();  // The weights before may still be read.
    Load(k + at, tiles.keys, count, d, d + Tiles::kPadding);
    __syncthreads();
    Score(tiles, seen, scale * kLog2E, heads, count, d);
    __syncthreads();
    Weigh(seen, heads);
    __syncthreads();
    AddValues(tiles, seen, v + at, heads, count, d);
  }
  __syncthreads();
  const long long first_block = (static_cast<long long>(blockIdx.z) * gridDim.y + blockIdx.y) * splits;
  const Partial partial = {partial_o + first_block * kHeads * d, partial_lse + first_block * kHeads};
  for (int at = threadIdx.x; at < heads * d; at += kThreads) {
    const float total = seen.total[at / d], result = total > 0 ? tiles.sums[at] / total : 0.0f;
    if (splits == 1) {
      o[row * d + at] = ToHalf(result);
    } else {
      partial.o[static_cast<long long>(blockIdx.x) * kHeads * d + at] = result;
    }
  }
  if (splits == 1) return;
  for (int head = threadIdx.x; head < heads; head += kThreads) {
    const float total = seen.total[head];
    partial.lse[blockIdx.x * kHeads + head] = total > 0 ? seen.largest[head] + log2f(total) : kLeast;
  }
  if (IsLast(counters + row)) Combine(partial, o + row * d, heads, d);
}
