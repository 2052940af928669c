#ifndef TUNEONCE_LIB_RUNTIME_LAUNCH_KEY_H_
#define TUNEONCE_LIB_RUNTIME_LAUNCH_KEY_H_

#include <cuda.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "launch/variant_set.h"
#include "tuneonce/arguments.h"

namespace tuneonce {
inline namespace v0 {

/// Maximum number of words of a key: one for device and role, and the parts of the key. It keeps a launch's stack frame
/// below 4 KiB, because on some CPUs stores and loads that are 4 KiB apart wait for each other.
inline constexpr std::size_t kMaxKeyWords = 1 + static_cast<std::size_t>(kMaxDims + kMaxParameters);

/// Odd multipliers for KeyWriter, one per word: random numbers (splitmix64 with seed 1) that were made odd.
struct KeyMultipliers {
  constexpr KeyMultipliers() {
    std::uint64_t state = 1;
    for (std::uint64_t& value : values) {
      state += 0x9e3779b97f4a7c15u;
      std::uint64_t z = state;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      value = (z ^ (z >> 31)) | 1;
    }
  }
  std::uint64_t values[kMaxKeyWords] = {};
};
inline constexpr KeyMultipliers kKeyMultipliers;

/// The key of a launch in memory: the device, a dtype, whether the selected or a fallback config is wanted, and the
/// words of the definition's key. It lies on the launch's stack.
struct LaunchKey {
  std::array<std::uint64_t, kMaxKeyWords> words;  // The first `count` words are set.
  std::size_t count;
  std::uint64_t hash;

  LaunchKey() = default;
  /// Copies only the words that are set.
  LaunchKey(const LaunchKey& other) { *this = other; }
  LaunchKey& operator=(const LaunchKey& other) {
    count = other.count;
    hash = other.hash;
    std::copy_n(other.words.begin(), count, words.begin());
    return *this;
  }

  /// kFallback + i is the i-th fallback config, for calls that the earlier ones do not suit.
  enum Role : std::uint64_t { kTuned = 1, kFallback };
  static constexpr int kRoleBits = 8;
  static constexpr std::size_t kMostFallbacks = (1 << kRoleBits) - kFallback;
  static Role Fallback(std::size_t i) { return static_cast<Role>(kFallback + i); }

  /// Returns the first word, which is never 0. From its lowest bit on it has the role, the device and
  /// CallBinder::LeadingDType, and in its upper half the variants that the key excludes (for most keys none). The
  /// context is not part of it, because a CUkernel runs in every context.
  static std::uint64_t FirstWord(CUdevice device, Role role, std::uint64_t dtype = 0) {
    return dtype << kDTypeShift | static_cast<std::uint64_t>(device) << kRoleBits | role;
  }
  static constexpr int kDTypeShift = 24;
  static constexpr int kLeftOutShift = 32;
  /// Returns the device and role in a first word.
  static constexpr std::uint64_t DeviceAndRole(std::uint64_t word) { return word & 0xffffffu; }
  CUdevice device() const { return static_cast<CUdevice>(DeviceAndRole(words[0]) >> kRoleBits); }
  VariantSet left_out() const { return VariantSet(static_cast<std::uint32_t>(words[0] >> kLeftOutShift)); }
};

/// Fills a key word by word. It is a local variable of one function, so that the hash stays in a register and a launch
/// waits for no store.
class KeyWriter {
 public:
  explicit KeyWriter(LaunchKey* key) : key_(key) {}

  /// Adds a word by multilinear hashing (Lemire and Kaser, "Strongly universal string hashing is fast"), whose products
  /// do not depend on each other.
  void Add(std::uint64_t word) {
    hash_ += word * kKeyMultipliers.values[count_];
    key_->words[count_++] = word;
  }
  /// Ends the key. The hash's high half is folded into the low half, which selects the slot.
  void Finish() {
    key_->count = count_;
    key_->hash = hash_ ^ (hash_ >> 32);
  }

 private:
  LaunchKey* key_;
  std::size_t count_ = 0;
  std::uint64_t hash_ = 0;
};

/// Returns the key with another first word. REQUIRES: all its words are set.
inline LaunchKey WithFirstWord(const LaunchKey& key, std::uint64_t word) {
  LaunchKey other;
  KeyWriter writer(&other);
  writer.Add(word);
  for (std::size_t i = 1; i < key.count; ++i) writer.Add(key.words[i]);
  writer.Finish();
  return other;
}
/// Returns the key with another role.
inline LaunchKey WithRole(const LaunchKey& key, LaunchKey::Role role) {
  return WithFirstWord(key, key.words[0] >> LaunchKey::kRoleBits << LaunchKey::kRoleBits | role);
}
/// Returns the key of calls that these variants reject.
inline LaunchKey LeavingOut(const LaunchKey& key, VariantSet variants) {
  return WithFirstWord(key, (key.words[0] & 0xffffffffu) | static_cast<std::uint64_t>(variants.bits())
                                                               << LaunchKey::kLeftOutShift);
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_LAUNCH_KEY_H_
