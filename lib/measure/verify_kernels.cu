// The kernels of our own that run on a GPU; scripts/make_verify_ptx.py makes verify_kernels.ptx of this.
#include "compare_element.h"

using namespace tuneonce;

/// What a launch adds to any kernel's time.
extern "C" __global__ void tuneonce_empty() {}

/// Largest |element|, as a double's bits, of those that are finite and not poison.
extern "C" __global__ void tuneonce_largest(const void* data, unsigned long long count, ElementFormat format,
                                            bool is_poisoned, unsigned long long poison, unsigned long long* largest) {
  double mine = 0;
  unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    unsigned long long bits = ElementBits(data, i, format.bytes);
    if (is_poisoned && bits == poison) continue;
    double value = ElementValue(bits, format);
    double magnitude = value < 0 ? -value : value;
    if (magnitude <= 1.7976931348623157e308 && magnitude > mine) mine = magnitude;
  }
  // Doubles that are not negative are ordered as their bits are.
  if (mine > 0) atomicMax(largest, static_cast<unsigned long long>(__double_as_longlong(mine)));
}

/// counts[0]: wrong elements, [1]: missing ones, [2]: first index of either.
extern "C" __global__ void tuneonce_compare(const void* reference, const void* candidate, unsigned long long count,
                                            ElementFormat format, double absolute, double relative, bool is_poisoned,
                                            unsigned long long poison, unsigned long long* counts) {
  unsigned long long wrong = 0, missing = 0, first = ~0ull;
  unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    ElementVerdict verdict =
        CompareElement(ElementBits(reference, i, format.bytes), ElementBits(candidate, i, format.bytes), format, absolute,
                       relative, is_poisoned, poison);
    if (verdict == kSame) continue;
    wrong += verdict == kWrong;
    missing += verdict == kMissing;
    if (i < first) first = i;
  }
  if (wrong + missing == 0) return;
  atomicAdd(&counts[0], wrong);
  atomicAdd(&counts[1], missing);
  atomicMin(&counts[2], first);
}
