// What it means that two elements differ, and that memory does: compiled into the library, and by NVRTC into
// verify_kernels.ptx. C++ without any header, since NVRTC has none here.
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

/// A floating-point element as a double; NaN and infinity stay what they are.
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
  int rank;  ///< 0: one behind the other.
  long long extents[8];
  long long strides[8];  ///< In elements; not negative.
};

/// Of the tensor's element `i` (in row-major order): how many elements of memory lie before it.
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

/// By how much elements may differ, and what the memory held before the runs.
struct ElementRule {
  double absolute;
  double relative;            ///< To the reference's magnitude.
  double ulps;                ///< Steps between neighbouring values of the format, at the reference's magnitude.
  bool is_poisoned;           ///< The candidate's memory held `poison` before its run.
  bool reference_is_partial;  ///< Where the reference is `reference_poison`, nothing is asked.
  unsigned long long poison;
  unsigned long long reference_poison;
};

enum ElementVerdict { kSame, kWrong, kMissing };

/// What a comparison of two elements found. The difference and its share are 0 for the same bits, and where nothing is
/// asked; infinite where no number says how far apart they are.
struct ElementComparison {
  ElementVerdict verdict;
  double difference;  ///< |candidate - reference|.
  double share;       ///< The same, divided by what is allowed: above 1 is wrong.
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

/// Compares a candidate's element with the reference's. NaN equals NaN, infinity the same infinity; else they are the
/// same if |candidate - reference| <= absolute + relative * |reference| + ulps * (the reference's ulp). What is not the
/// same and holds the poison was not written: a kernel may compute the poison's value, but only where it is right.
TUNEONCE_EVERYWHERE inline ElementComparison CompareElement(unsigned long long reference, unsigned long long candidate,
                                                            const ElementFormat& format, const ElementRule& rule) {
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
  double allowed = rule.absolute + rule.relative * magnitude;
  if (rule.ulps > 0) allowed += rule.ulps * ElementUlp(reference, format);
  if (difference == 0) return {kSame, 0, 0};  // 0 and -0.
  double share = allowed > 0 ? difference / allowed : infinity;
  if (difference <= allowed) return {kSame, difference, share};
  return is_poison ? ElementComparison{kMissing, 0, 0} : ElementComparison{kWrong, difference, share};
}

/// The 8 bytes of memory from `8 * k - misaligned` bytes on, zero where that is outside of `bytes`, mixed with `first +
/// k`: what a checksum adds up. `misaligned`: of the address, modulo 8, so that words are read where they are aligned.
/// The mixing is SplitMix64's (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195).
TUNEONCE_EVERYWHERE inline unsigned long long ChecksumPart(const void* data, unsigned long long bytes,
                                                           unsigned long long misaligned, unsigned long long k,
                                                           unsigned long long first) {
  const unsigned char* memory = static_cast<const unsigned char*>(data);
  unsigned long long word = 0;
  unsigned long long begin = 8 * k;  // As if the memory began `misaligned` earlier.
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
