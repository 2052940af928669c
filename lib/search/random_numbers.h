#ifndef TUNEONCE_LIB_SEARCH_RANDOM_NUMBERS_H_
#define TUNEONCE_LIB_SEARCH_RANDOM_NUMBERS_H_

#include <cstddef>
#include <cstdint>

namespace tuneonce {
inline namespace v0 {

/// Pseudo-random numbers that are equal on every machine, which the distributions of the standard library do not
/// promise: splitmix64 (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195). Thread rule: one thread.
class RandomNumbers {
 public:
  /// `stream`: gives another sequence for the same seed.
  explicit RandomNumbers(std::uint64_t seed, std::uint64_t stream = 0) : state_(seed) {
    state_ = Next() + stream * 0xd1342543de82ef95;  // Any odd number: neighbouring streams start far from each other.
    Next();
  }

  std::uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }
  /// Returns a number below `limit`. The error of the distribution is below limit / 2^32. REQUIRES: 0 < limit < 2^32.
  std::size_t Below(std::size_t limit) { return static_cast<std::size_t>(((Next() >> 32) * limit) >> 32); }
  /// Returns a number from [0, 1).
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_RANDOM_NUMBERS_H_
