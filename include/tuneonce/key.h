#ifndef TUNEONCE_KEY_H_
#define TUNEONCE_KEY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tuneonce/api.h"
#include "tuneonce/status.h"

namespace tuneonce {
inline namespace v0 {

/// One part of the key that decides which config a launch gets: a dim (exact or by bucket), a tensor's dtype, or a
/// scalar's value. KeyOf, DTypeOf and ValueOf make one. A dim can have one bucket: NextPow2, Buckets or Nearest.
/// KernelDefinition::Validate returns the errors of Check.
struct TUNEONCE_API KeyPart {
  enum class Kind : std::uint8_t { kDim, kDType, kValue };
  enum class Bucket : std::uint8_t { kExact, kNextPow2, kBounds, kNearest };

  Kind kind = Kind::kDim;
  std::string name;  ///< Name of the dim, tensor or scalar.
  Bucket bucket = Bucket::kExact;
  std::vector<std::int64_t> values = {};  ///< Values of kBounds and kNearest, increasing.
  bool has_two_buckets = false;           ///< Set by a second bucket, which is a mistake.

  /// Makes all values from one power of two (exclusive) to the next (inclusive) share one config, which is tuned at
  /// that upper bound.
  KeyPart NextPow2() && { return std::move(*this).In(Bucket::kNextPow2, {}); }
  /// Makes all values above one bound and up to the next one share one config, which is tuned at that upper bound. The
  /// bounds could be the batch sizes that an engine captures: {1, 2, 4, 8, 16, 24, 32}. Values above the last bound are
  /// rounded up to a power of two, so that a long prompt does not need a tune for each length.
  KeyPart Buckets(std::vector<std::int64_t> upper_bounds) && {
    return std::move(*this).In(Bucket::kBounds, std::move(upper_bounds));
  }
  /// Makes all values that are nearest to the same entry of `tuned` share one config, which is tuned at that entry.
  /// Between two equally near entries the smaller one is taken. A launch may be larger than the entry, and is then
  /// tuned on the beginning of its tensors. If an integer in its tensors could be an index beyond that beginning, it is
  /// tuned on the declared fills (ForWarmup), or else at the launch's own shape.
  KeyPart Nearest(std::vector<std::int64_t> tuned) && {
    return std::move(*this).In(Bucket::kNearest, std::move(tuned));
  }

  /// Returns what the key contains for a dim's `value`: the bucket's upper bound, the nearest entry, or `value` itself
  /// without a bucket.
  std::int64_t Round(std::int64_t value) const;
  /// Returns the next power of two, or `value` itself if it is below 1 or 64 bits cannot hold the power.
  static std::int64_t NextPow2Of(std::int64_t value) {
    if (value <= 1) return value;
    std::uint64_t power = std::uint64_t{1} << (64 - __builtin_clzll(static_cast<std::uint64_t>(value - 1)));
    return power > (std::uint64_t{1} << 62) ? value : static_cast<std::int64_t>(power);
  }
  /// Returns the part with `value` as text: "M<=4096" for a bucket's upper bound, "M~4096" for an entry of a Nearest
  /// list, "M=4095" for an exact value, "x:float32" for a dtype, "causal=1" for a scalar.
  std::string ToString(std::int64_t value) const;
  /// Checks the part. Errors: InvalidArgument, naming the part, if it has two buckets, if it is not a dim but has a
  /// bucket, or if its list is empty, is not increasing, is longer than kMostValues or has a value below 1.
  Status Check() const;
  static constexpr std::size_t kMostValues = 1024;

 private:
  KeyPart In(Bucket new_bucket, std::vector<std::int64_t> bucket_values) && {
    has_two_buckets = bucket != Bucket::kExact;
    bucket = new_bucket;
    values = std::move(bucket_values);
    return std::move(*this);
  }
};

/// Makes a part that puts the value of the dim `name` into the key, exactly unless a bucket is added:
/// KeyOf("M").NextPow2().
inline KeyPart KeyOf(std::string name) { return KeyPart{KeyPart::Kind::kDim, std::move(name)}; }
/// Makes a part that puts the dtype of the tensor parameter `name` into the key. Every dtype is part of the key in any
/// case.
inline KeyPart DTypeOf(std::string name) { return KeyPart{KeyPart::Kind::kDType, std::move(name)}; }
/// Makes a part that puts the value of the scalar parameter `name` (a flag, for example) into the key. Values are
/// compared bit by bit.
inline KeyPart ValueOf(std::string name) { return KeyPart{KeyPart::Kind::kValue, std::move(name)}; }

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_KEY_H_
