// Defines when two elements, or two parts of memory, differ. It is compiled into the library, and by NVRTC into
// verify_kernels.ptx, so it includes no header.
#ifndef TUNEONCE_LIB_MEASURE_COMPARE_ELEMENT_H_
#define TUNEONCE_LIB_MEASURE_COMPARE_ELEMENT_H_

#ifdef __CUDACC_RTC__
#define TUNEONCE_EVERYWHERE __device__
#else
#define TUNEONCE_EVERYWHERE
#endif

namespace tuneonce {
inline namespace v0 {

/// How the bits of an element are to be read.
struct ElementFormat {
  int bytes;          ///< 1, 2, 4 or 8.
  int exponent_bits;  ///< 0: no floating point: equal bits, or not.
  int mantissa_bits;
  bool has_infinity;  ///< False (E4M3): the largest exponent is a number like others, but for all ones: NaN.
};

/// The bits of element `i`.
TUNEONCE_EVERYWHERE inline unsigned long long ElementBits(const void* data, unsigned long long i, int bytes) {
  if (bytes == 1) return static_cast<const unsigned char*>(data)[i];
  if (bytes == 2) return static_cast<const unsigned short*>(data)[i];
  if (bytes == 4) return static_cast<const unsigned int*>(data)[i];
  return static_cast<const unsigned long long*>(data)[i];
}

TUNEONCE_EVERYWHERE inline double DoubleOfBits(unsigned long long bits) {
#ifdef __CUDA_ARCH__
  return __longlong_as_double(static_cast<long long>(bits));
#else
  double value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
#endif
}

/// Returns a floating-point element as a double. NaN and infinity keep their values.
TUNEONCE_EVERYWHERE inline double ElementValue(unsigned long long bits, const ElementFormat& format) {
  unsigned long long mantissa_mask = (1ull << format.mantissa_bits) - 1;
  unsigned long long exponent_mask = (1ull << format.exponent_bits) - 1;
  unsigned long long mantissa = bits & mantissa_mask;
  unsigned long long exponent = (bits >> format.mantissa_bits) & exponent_mask;
  unsigned long long sign = (bits >> (format.mantissa_bits + format.exponent_bits)) & 1;
  constexpr int kDoubleMantissa = 52;
  constexpr int kDoubleBias = 1023;
  unsigned long long wide;  // A double's bits.
  bool is_special = exponent == exponent_mask && (format.has_infinity || mantissa == mantissa_mask);
  if (is_special) {
    wide = (0x7ffull << kDoubleMantissa) | (mantissa << (kDoubleMantissa - format.mantissa_bits));
  } else if (exponent == 0 && mantissa == 0) {
    wide = 0;
  } else if (format.exponent_bits == 11) {
    wide = (exponent << kDoubleMantissa) | mantissa;
  } else {
    int bias = (1 << (format.exponent_bits - 1)) - 1;
    int power = static_cast<int>(exponent) - bias;
    if (exponent == 0) {  // Subnormal: shift the leading one to its place.
      power = 1 - bias;
      while ((mantissa >> format.mantissa_bits) == 0) {
        mantissa <<= 1;
        --power;
      }
      mantissa &= mantissa_mask;
    }
    wide = (static_cast<unsigned long long>(power + kDoubleBias) << kDoubleMantissa) |
           (mantissa << (kDoubleMantissa - format.mantissa_bits));
  }
  wide |= sign << 63;
  return DoubleOfBits(wide);
}

/// Where the elements of a tensor lie.
struct ElementLayout {
  int rank;  ///< 0 for consecutive elements.
  long long extents[8];
  long long strides[8];  ///< In elements; not negative.
};

/// Returns how many elements of memory precede the tensor's element `i` (in row-major order).
TUNEONCE_EVERYWHERE inline unsigned long long ElementPlace(unsigned long long i, const ElementLayout& layout) {
  if (layout.rank == 0) return i;
  unsigned long long place = 0;
  for (int d = layout.rank - 1; d >= 0; --d) {
    unsigned long long extent = static_cast<unsigned long long>(layout.extents[d]);
    place += i % extent * static_cast<unsigned long long>(layout.strides[d]);
    i /= extent;
  }
  return place;
}

/// Elements that are compared by one scale: so many that follow each other in row-major order.
constexpr unsigned long long kScaleElements = 256;

/// Returns the number of blocks in which an array is compared. The last block also has the rest of the array. REQUIRES:
/// `count` > 0.
TUNEONCE_EVERYWHERE inline unsigned long long NumScaleBlocks(unsigned long long count) {
  return count < kScaleElements ? 1 : count / kScaleElements;
}
/// Returns the end of block `b`, which begins at `b * kScaleElements`.
TUNEONCE_EVERYWHERE inline unsigned long long ScaleBlockEnd(unsigned long long b, unsigned long long count) {
  return b + 1 == NumScaleBlocks(count) ? count : (b + 1) * kScaleElements;
}

/// How much elements may differ, and what the memory held before the runs.
struct ElementRule {
  double absolute;        ///< To the scale of the element's block.
  double least_absolute;  ///< Lower limit of the absolute part, because scales below it cannot be represented exactly.
  double relative;        ///< To the reference's magnitude.
  double ulps;            ///< Steps between neighbouring values of the format, at the reference's magnitude.
  bool is_poisoned;       ///< The candidate's memory held `poison` before its run.
  bool reference_is_partial;  ///< Where the reference is `reference_poison`, nothing is asked.
  unsigned long long poison;
  unsigned long long reference_poison;
};

enum ElementVerdict { kSame, kWrong, kMissing };

/// The result of comparing two elements. The difference and its share are 0 for equal bits, and where nothing is
/// compared. They are infinite if no number expresses the difference.
struct ElementComparison {
  ElementVerdict verdict;
  double difference;  ///< |candidate - reference|.
  double share;       ///< The difference divided by the tolerance. A value above 1 is a failure.
};

/// The step from a value to its neighbours: of the format's last place at this exponent.
TUNEONCE_EVERYWHERE inline double ElementUlp(unsigned long long bits, const ElementFormat& format) {
  unsigned long long exponent = (bits >> format.mantissa_bits) & ((1ull << format.exponent_bits) - 1);
  int bias = (1 << (format.exponent_bits - 1)) - 1;
  int power = static_cast<int>(exponent == 0 ? 1 : exponent) - bias - format.mantissa_bits;
  double ulp = 1;
  for (; power > 0; --power) ulp *= 2;
  for (; power < 0; ++power) ulp /= 2;
  return ulp;
}

/// True if differences are measured against the scales of blocks.
TUNEONCE_EVERYWHERE inline bool NeedsScales(const ElementFormat& format, const ElementRule& rule) {
  return format.exponent_bits > 0 && rule.absolute > 0;
}

/// Returns a reference element's contribution to the scale of its block, which is the largest of them: its magnitude,
/// or 0 if it is not finite or was not written.
TUNEONCE_EVERYWHERE inline double ScaleOfElement(unsigned long long reference, const ElementFormat& format,
                                                 const ElementRule& rule) {
  constexpr double kLargest = 1.7976931348623157e308;
  if (rule.reference_is_partial && reference == rule.reference_poison) return 0;
  double value = ElementValue(reference, format);
  double magnitude = value < 0 ? -value : value;
  return magnitude <= kLargest ? magnitude : 0;
}

/// Compares a candidate's element with the reference's. NaN equals NaN, and infinity equals the same infinity. Other
/// values match if |candidate - reference| <= absolute * scale + relative * |reference| + ulps * (the reference's ulp).
/// A mismatch that has the poison's value was not written: a kernel may compute the poison's value, but only where it
/// matches.
TUNEONCE_EVERYWHERE inline ElementComparison CompareElement(unsigned long long reference, unsigned long long candidate,
                                                            const ElementFormat& format, const ElementRule& rule,
                                                            double scale) {
  constexpr double kLargest = 1.7976931348623157e308;
  const double infinity = DoubleOfBits(0x7ffull << 52);
  if (rule.reference_is_partial && reference == rule.reference_poison) return {kSame, 0, 0};
  if (reference == candidate) return {kSame, 0, 0};
  const bool is_poison = rule.is_poisoned && candidate == rule.poison;
  const ElementComparison beyond_numbers =
      is_poison ? ElementComparison{kMissing, 0, 0} : ElementComparison{kWrong, infinity, infinity};
  if (format.exponent_bits == 0) return beyond_numbers;
  double a = ElementValue(reference, format);
  double b = ElementValue(candidate, format);
  if (a != a && b != b) return {kSame, 0, 0};
  double magnitude = a < 0 ? -a : a;
  double difference = a < b ? b - a : a - b;
  // Infinities: the difference is infinite, or no number, and no tolerance makes it right.
  if (!(difference <= kLargest)) return beyond_numbers;
  double allowed = rule.absolute * scale;
  if (allowed < rule.least_absolute) allowed = rule.least_absolute;
  allowed += rule.relative * magnitude;
  if (rule.ulps > 0) allowed += rule.ulps * ElementUlp(reference, format);
  if (difference == 0) return {kSame, 0, 0};  // 0 and -0.
  double share = allowed > 0 ? difference / allowed : infinity;
  if (difference <= allowed) return {kSame, difference, share};
  return is_poison ? ElementComparison{kMissing, 0, 0} : ElementComparison{kWrong, difference, share};
}

/// The classes of elements for statistics. The numbers are indices of the counters of tuneonce_describe.
enum ElementClass { kZeroElement, kNotFiniteElement, kNegativeElement, kPositiveElement };

/// Returns the class of an element. A floating-point element is classified by its value, where -0 is zero, and NaN and
/// infinity are not finite. Any other element is the integer of its bits, with a sign if `is_signed`.
TUNEONCE_EVERYWHERE inline ElementClass ClassifyElement(unsigned long long bits, const ElementFormat& format,
                                                        bool is_signed) {
  constexpr double kLargest = 1.7976931348623157e308;
  if (format.exponent_bits == 0) {
    if (bits == 0) return kZeroElement;
    return is_signed && (bits >> (8 * format.bytes - 1)) != 0 ? kNegativeElement : kPositiveElement;
  }
  double value = ElementValue(bits, format);
  if (value == 0) return kZeroElement;
  if (!(value <= kLargest && value >= -kLargest)) return kNotFiniteElement;
  return value < 0 ? kNegativeElement : kPositiveElement;
}

/// Memory of which a part must stay as it is, in granules of so many bytes.
struct MaskedGranules {
  int bytes;  ///< 1, 2, 4 or 8.
  unsigned long long count;
  unsigned long long fill;  ///< The value that a granule must still have, unless an original is given.
};

/// True if granule `k` is other than it must be. `mask`: bit k % 32 of word k / 32 is set if it may be anything.
/// `original`: null: it must be `fill`.
TUNEONCE_EVERYWHERE inline bool IsChanged(const void* data, const void* original, const unsigned int* mask,
                                          unsigned long long k, const MaskedGranules& granules) {
  if ((mask[k / 32] >> (k % 32) & 1) != 0) return false;
  unsigned long long expected = original == nullptr ? granules.fill : ElementBits(original, k, granules.bytes);
  return ElementBits(data, k, granules.bytes) != expected;
}

/// The 8 bytes of memory from `8 * k - misaligned` bytes on, zero where that is outside of `bytes`, mixed with `first +
/// k`: what a checksum adds up. `misaligned`: of the address, modulo 8, so that words are read where they are aligned.
/// The mixing is SplitMix64's (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195).
TUNEONCE_EVERYWHERE inline unsigned long long ChecksumPart(const void* data, unsigned long long bytes,
                                                           unsigned long long misaligned, unsigned long long k,
                                                           unsigned long long first) {
  const unsigned char* memory = static_cast<const unsigned char*>(data);
  unsigned long long word = 0;
  unsigned long long begin = 8 * k;  // As if the memory began `misaligned` bytes earlier.
  if (begin >= misaligned && begin + 8 <= bytes + misaligned) {
#ifdef __CUDA_ARCH__
    word = *reinterpret_cast<const unsigned long long*>(memory + (begin - misaligned));
#else
    __builtin_memcpy(&word, memory + (begin - misaligned), sizeof(word));
#endif
  } else {
    for (unsigned long long at = begin; at < begin + 8; ++at) {
      if (at < misaligned || at >= bytes + misaligned) continue;
      word |= static_cast<unsigned long long>(memory[at - misaligned]) << (8 * (at - begin));
    }
  }
  word += (first + k + 1) * 0x9e3779b97f4a7c15ull;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ull;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebull;
  return word ^ (word >> 31);
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_MEASURE_COMPARE_ELEMENT_H_
