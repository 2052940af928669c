#ifndef TUNEONCE_KEY_H_
#define TUNEONCE_KEY_H_

#include <cstdint>
#include <string>
#include <utility>

#include "tuneonce/api.h"

namespace tuneonce {
inline namespace v0 {

/// One part of what decides which tuned config a launch gets: a dim (exact, or by bucket), a tensor's dtype, or the
/// value of a scalar. Made by KeyOf, DTypeOf and ValueOf.
struct TUNEONCE_API KeyPart {
  enum class Kind : std::uint8_t { kDim, kDType, kValue };
  enum class Bucket : std::uint8_t { kExact, kNextPow2 };

  Kind kind = Kind::kDim;
  std::string name;  ///< Of the dim, tensor or scalar.
  Bucket bucket = Bucket::kExact;

  /// All values up to the next power of two share one tune, made at that upper bound.
  KeyPart NextPow2() && {
    bucket = Bucket::kNextPow2;
    return std::move(*this);
  }

  /// The bucket's upper bound for `value`: what goes into the key.
  std::int64_t Round(std::int64_t value) const { return Round(bucket, value); }
  static std::int64_t Round(Bucket bucket, std::int64_t value) {
    if (bucket == Bucket::kExact || value <= 1) return value;
    std::uint64_t power = std::uint64_t{1} << (64 - __builtin_clzll(static_cast<std::uint64_t>(value - 1)));
    return power > (std::uint64_t{1} << 62) ? value : static_cast<std::int64_t>(power);
  }
  /// "M<=4096" for a bucket's bound, "M=4095" for an exact value, "x:float32", "causal=1".
  std::string ToString(std::int64_t value) const;
};

/// The value of the dim `name` decides.
inline KeyPart KeyOf(std::string name) {
  return KeyPart{KeyPart::Kind::kDim, std::move(name), KeyPart::Bucket::kExact};
}
/// The dtype of the tensor parameter `name` decides: it does in any case, and stands in the key where this says.
inline KeyPart DTypeOf(std::string name) {
  return KeyPart{KeyPart::Kind::kDType, std::move(name), KeyPart::Bucket::kExact};
}
/// The value of the scalar parameter `name` decides (a flag, say), bit by bit.
inline KeyPart ValueOf(std::string name) {
  return KeyPart{KeyPart::Kind::kValue, std::move(name), KeyPart::Bucket::kExact};
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_KEY_H_
