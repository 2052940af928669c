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

/// One part of what decides which tuned config a launch gets: a dim (exact, or by bucket), a tensor's dtype, or the
/// value of a scalar. Made by KeyOf, DTypeOf and ValueOf; a dim has at most one of the buckets below. What is wrong
/// with one (a list that is empty or does not rise, two buckets) is an error of KernelDefinition::Validate.
struct TUNEONCE_API KeyPart {
  enum class Kind : std::uint8_t { kDim, kDType, kValue };
  enum class Bucket : std::uint8_t { kExact, kNextPow2, kBounds, kNearest };

  Kind kind = Kind::kDim;
  std::string name;  ///< Of the dim, tensor or scalar.
  Bucket bucket = Bucket::kExact;
  std::vector<std::int64_t> values = {};  ///< Of kBounds and kNearest, rising.
  bool has_two_buckets = false;           ///< A mistake.

  /// All values up to the next power of two share one tune, made at that upper bound.
  KeyPart NextPow2() && { return std::move(*this).In(Bucket::kNextPow2, {}); }
  /// All values up to one of `upper_bounds`, and above the one before it, share one tune, made at that upper bound: the
  /// batch sizes that an engine captures, {1, 2, 4, 8, 16, 24, 32}, say. What is above the last goes by the next power
  /// of two, so that a long prompt is no new tune for each length.
  KeyPart Buckets(std::vector<std::int64_t> upper_bounds) && {
    return std::move(*this).In(Bucket::kBounds, std::move(upper_bounds));
  }
  /// All values that are nearest to one of `tuned` share one tune, made there; of two as near, the smaller. A launch
  /// may have more than was tuned: on tensors that are the launch's begin, or, where an integer of the launch's could
  /// be an index beyond them, on the fills that are declared (ForWarmup), else at the launch's own shape.
  KeyPart Nearest(std::vector<std::int64_t> tuned) && {
    return std::move(*this).In(Bucket::kNearest, std::move(tuned));
  }

  /// What goes into the key for `value`: a bucket's upper bound, or the value that is nearest.
  std::int64_t Round(std::int64_t value) const;
  /// The next power of two, from 1 on; a value for which 64 bits have none stays.
  static std::int64_t NextPow2Of(std::int64_t value) {
    if (value <= 1) return value;
    std::uint64_t power = std::uint64_t{1} << (64 - __builtin_clzll(static_cast<std::uint64_t>(value - 1)));
    return power > (std::uint64_t{1} << 62) ? value : static_cast<std::int64_t>(power);
  }
  /// "M<=4096" for a bucket's bound, "M~4096" for the nearest, "M=4095" for an exact value, "x:float32", "causal=1".
  std::string ToString(std::int64_t value) const;
  /// Errors: InvalidArgument, naming the part, if it has two buckets, a list that is empty, does not rise, or has more
  /// than kMostValues or one below 1, or is no dim and has a bucket.
  Status Check() const;
  static constexpr std::size_t kMostValues = 1024;

 private:
  KeyPart In(Bucket its_bucket, std::vector<std::int64_t> its_values) && {
    has_two_buckets = bucket != Bucket::kExact;
    bucket = its_bucket;
    values = std::move(its_values);
    return std::move(*this);
  }
};

/// The value of the dim `name` decides.
inline KeyPart KeyOf(std::string name) { return KeyPart{KeyPart::Kind::kDim, std::move(name)}; }
/// The dtype of the tensor parameter `name` decides: it does in any case, and stands in the key where this says.
inline KeyPart DTypeOf(std::string name) { return KeyPart{KeyPart::Kind::kDType, std::move(name)}; }
/// The value of the scalar parameter `name` decides (a flag, say), bit by bit.
inline KeyPart ValueOf(std::string name) { return KeyPart{KeyPart::Kind::kValue, std::move(name)}; }

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_KEY_H_
