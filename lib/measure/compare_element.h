// What it means that two elements differ: compiled into the library, and by NVRTC into verify_kernels.ptx.
// C++ without any header, since NVRTC has none here.
#ifndef TUNEONCE_LIB_MEASURE_COMPARE_ELEMENT_H_
#define TUNEONCE_LIB_MEASURE_COMPARE_ELEMENT_H_

#ifdef __CUDACC_RTC__
#define TUNEONCE_EVERYWHERE __device__
#else
#define TUNEONCE_EVERYWHERE
#endif

namespace tuneonce {

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
#ifdef __CUDA_ARCH__
  return __longlong_as_double(static_cast<long long>(wide));
#else
  double value;
  __builtin_memcpy(&value, &wide, sizeof(value));
  return value;
#endif
}

enum ElementVerdict { kSame, kWrong, kMissing };

/// Compares a candidate's element with the reference's. NaN equals NaN, infinity the same infinity; else they are the
/// same if |candidate - reference| <= absolute + relative * |reference|. `poison`: the bits that the element had before
/// the run, if `is_poisoned`: a candidate that left them where the reference did not misses the element; where the
/// reference left them nothing is asked.
TUNEONCE_EVERYWHERE inline ElementVerdict CompareElement(unsigned long long reference, unsigned long long candidate,
                                                         const ElementFormat& format, double absolute, double relative,
                                                         bool is_poisoned, unsigned long long poison) {
  if (is_poisoned && reference == poison) return kSame;
  if (reference == candidate) return kSame;
  if (is_poisoned && candidate == poison) return kMissing;
  if (format.exponent_bits == 0) return kWrong;
  double a = ElementValue(reference, format);
  double b = ElementValue(candidate, format);
  if (a != a && b != b) return kSame;
  double magnitude = a < 0 ? -a : a;
  double difference = a < b ? b - a : a - b;
  // Infinities: the difference is infinite, or no number, and no tolerance makes it right.
  constexpr double kLargest = 1.7976931348623157e308;
  return difference <= kLargest && difference <= absolute + relative * magnitude ? kSame : kWrong;
}

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_MEASURE_COMPARE_ELEMENT_H_
