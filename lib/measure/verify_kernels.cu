// The kernels of our own that run on a GPU; scripts/make_verify_ptx.py makes verify_kernels.ptx of this.
#include "compare_element.h"

using namespace tuneonce;

/// What a launch adds to any kernel's time.
extern "C" __global__ void tuneonce_empty() {}

/// Largest |element|, as a double's bits, of those that are finite and not poison.
extern "C" __global__ void tuneonce_largest(const void* data, unsigned long long count, ElementFormat format,
                                            ElementLayout layout, bool is_poisoned, unsigned long long poison,
                                            unsigned long long* largest) {
  double mine = 0;
  unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    unsigned long long bits = ElementBits(data, ElementPlace(i, layout), format.bytes);
    if (is_poisoned && bits == poison) continue;
    double value = ElementValue(bits, format);
    double magnitude = value < 0 ? -value : value;
    if (magnitude <= 1.7976931348623157e308 && magnitude > mine) mine = magnitude;
  }
  // Doubles that are not negative are ordered as their bits are.
  if (mine > 0) atomicMax(largest, static_cast<unsigned long long>(__double_as_longlong(mine)));
}

/// found[0]: wrong elements, [1]: missing ones, [2]: first index of either; [3] and [4], as doubles' bits: the largest
/// difference, and the largest share of what is allowed.
extern "C" __global__ void tuneonce_compare(const void* reference, const void* candidate, unsigned long long count,
                                            ElementFormat format, ElementLayout layout, ElementRule rule,
                                            unsigned long long* found) {
  unsigned long long wrong = 0, missing = 0, first = ~0ull;
  double difference = 0, share = 0;
  unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    unsigned long long place = ElementPlace(i, layout);
    ElementComparison element = CompareElement(ElementBits(reference, place, format.bytes),
                                               ElementBits(candidate, place, format.bytes), format, rule);
    if (element.difference > difference) difference = element.difference;
    if (element.share > share) share = element.share;
    if (element.verdict == kSame) continue;
    wrong += element.verdict == kWrong;
    missing += element.verdict == kMissing;
    if (i < first) first = i;
  }
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
  for (unsigned long long k = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x; k < count; k += step) {
    mine += ChecksumPart(data, bytes, misaligned, k, 0);
  }
  if (mine != 0) atomicAdd(sum, mine);
}
