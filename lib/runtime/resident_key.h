#ifndef TUNEONCE_LIB_RUNTIME_RESIDENT_KEY_H_
#define TUNEONCE_LIB_RUNTIME_RESIDENT_KEY_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "tuneonce/kernel/problem.h"

namespace tuneonce {

/// Most words of a key: context, role, and the recipe's parts.
inline constexpr std::size_t kMaxKeyWords = 2 + 2 * static_cast<std::size_t>(kMaxParameters);

/// What a launch is looked up by: the context, whether the tuned or the fallback config is wanted, and the recipe's
/// words. On the stack of the launch.
struct ResidentKey {
  std::array<std::uint64_t, kMaxKeyWords> words;  // Only the first `count` are set.
  std::size_t count = 0;
  std::uint64_t hash = 0;

  enum Role : std::uint64_t { kTuned, kFallback };

  /// Multiply and fold each word (the constant is 2^64 / golden ratio, Knuth's multiplicative hashing).
  void Seal() {
    std::uint64_t h = count;
    for (std::size_t i = 0; i < count; ++i) {
      h = (h ^ words[i]) * 0x9e3779b97f4a7c15u;
      h ^= h >> 29;
    }
    hash = h;
  }
  bool operator==(const ResidentKey& other) const {
    if (hash != other.hash || count != other.count) return false;
    for (std::size_t i = 0; i < count; ++i) {
      if (words[i] != other.words[i]) return false;
    }
    return true;
  }
};

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_RESIDENT_KEY_H_
