// The library's own GPU kernels. scripts/make_verify_ptx.py makes verify_kernels.ptx from them.
#include "compare_element.h"

using namespace tuneonce;

/// Measures the launch overhead that every kernel's time contains.
extern "C" __global__ void tuneonce_empty() {}

/// Returns the maximum over the threads of a block, in all of them. `warps` is shared memory with one value per warp,
/// which no thread may write again before all have returned. REQUIRES: kScaleElements threads; `mine` is not negative.
static __device__ double LargestOfBlock(double mine, double* warps) {
  constexpr unsigned kWarp = 32;
  for (unsigned offset = kWarp / 2; offset > 0; offset /= 2) {
    double other = __shfl_xor_sync(~0u, mine, offset);
    if (other > mine) mine = other;
  }
  if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = mine;
  __syncthreads();
  for (unsigned w = 0; w < kScaleElements / kWarp; ++w) {
    if (warps[w] > mine) mine = warps[w];
  }
  return mine;
}

/// found[0]: number of incorrect elements, [1]: number of missing ones, [2]: first index of either; [3] and [4], as
/// bits of doubles: the largest difference, and the largest share of the tolerance. A block of threads processes blocks
/// of elements with one scale in turn: first the scale, then the elements, which are in the cache then. REQUIRES:
/// kScaleElements threads.
extern "C" __global__ void tuneonce_compare(const void* reference, const void* candidate, unsigned long long count,
                                            ElementFormat format, ElementLayout layout, ElementRule rule,
                                            unsigned long long* found) {
  __shared__ double warps[2][kScaleElements / 32];  // Two in turn: the next is written while some still read.
  unsigned long long wrong = 0, missing = 0, first = ~0ull;
  double difference = 0, share = 0;
  const bool needs_scales = NeedsScales(format, rule);
  const unsigned long long num_blocks = NumScaleBlocks(count);
  unsigned turn = 0;
  for (unsigned long long block = blockIdx.x; block < num_blocks; block += gridDim.x) {
    const unsigned long long begin = block * kScaleElements + threadIdx.x, end = ScaleBlockEnd(block, count);
    double scale = 0;
    if (needs_scales) {
      for (unsigned long long i = begin; i < end; i += kScaleElements) {
        double mine = ScaleOfElement(ElementBits(reference, ElementPlace(i, layout), format.bytes), format, rule);
        if (mine > scale) scale = mine;
      }
      scale = LargestOfBlock(scale, warps[turn]);
      turn ^= 1;
    }
    for (unsigned long long i = begin; i < end; i += kScaleElements) {
      unsigned long long place = ElementPlace(i, layout);
      ElementComparison element = CompareElement(ElementBits(reference, place, format.bytes),
                                                 ElementBits(candidate, place, format.bytes), format, rule, scale);
      if (element.difference > difference) difference = element.difference;
      if (element.share > share) share = element.share;
      if (element.verdict == kSame) continue;
      wrong += element.verdict == kWrong;
      missing += element.verdict == kMissing;
      if (i < first) first = i;
    }
  }
  // Doubles that are not negative are ordered as their bits are.
  if (difference > 0) atomicMax(&found[3], static_cast<unsigned long long>(__double_as_longlong(difference)));
  if (share > 0) atomicMax(&found[4], static_cast<unsigned long long>(__double_as_longlong(share)));
  if (wrong + missing == 0) return;
  atomicAdd(&found[0], wrong);
  atomicAdd(&found[1], missing);
  atomicMin(&found[2], first);
}

/// Adds up the memory's parts: the same for the same bytes, whatever the order of threads. `count` parts.
extern "C" __global__ void tuneonce_checksum(const void* data, unsigned long long bytes, unsigned long long misaligned,
                                             unsigned long long count, unsigned long long* sum) {
  unsigned long long mine = 0;
  unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long k = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x; k < count;
       k += step) {
    mine += ChecksumPart(data, bytes, misaligned, k, 0);
  }
  if (mine != 0) atomicAdd(sum, mine);
}

/// Counts elements by ElementClass into found[0] to found[3], and in found[4] those whose bits are not the first
/// element's. REQUIRES: `count` > 0.
extern "C" __global__ void tuneonce_describe(const void* data, unsigned long long count, ElementFormat format,
                                             ElementLayout layout, bool is_signed, unsigned long long* found) {
  // Most threads count something: they add up within their block first, so that few of them meet at one address.
  __shared__ unsigned long long block[5];
  if (threadIdx.x < 5) block[threadIdx.x] = 0;
  __syncthreads();
  unsigned long long mine[5] = {0, 0, 0, 0, 0};
  unsigned long long first = ElementBits(data, ElementPlace(0, layout), format.bytes);
  unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    unsigned long long bits = ElementBits(data, ElementPlace(i, layout), format.bytes);
    ElementClass found_class = ClassifyElement(bits, format, is_signed);
    for (int c = 0; c < 4; ++c) mine[c] += found_class == c;
    mine[4] += bits != first;
  }
  for (int c = 0; c < 5; ++c) {
    if (mine[c] != 0) atomicAdd(&block[c], mine[c]);
  }
  __syncthreads();
  if (threadIdx.x < 5 && block[threadIdx.x] != 0) atomicAdd(&found[threadIdx.x], block[threadIdx.x]);
}

/// found[0]: the number of changed granules; [1]: the first of them. `original` may be null.
extern "C" __global__ void tuneonce_find_changes(const void* data, const void* original, const unsigned int* mask,
                                                 MaskedGranules granules, unsigned long long* found) {
  unsigned long long changed = 0, first = ~0ull;
  unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long k = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       k < granules.count; k += step) {
    if (!IsChanged(data, original, mask, k, granules)) continue;
    ++changed;
    if (k < first) first = k;
  }
  if (changed == 0) return;
  atomicAdd(&found[0], changed);
  atomicMin(&found[1], first);
}
