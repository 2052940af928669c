#ifndef TUNEONCE_LIB_RUNTIME_RESIDENT_KEY_H_
#define TUNEONCE_LIB_RUNTIME_RESIDENT_KEY_H_

#include <cuda.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "launch/variant_set.h"
#include "tuneonce/problem.h"

namespace tuneonce {
inline namespace v0 {

/// Most words of a key: one for device and role, and the recipe's parts. A launch's stack frame stays below 4 KiB for
/// it: stores and loads that are 4 KiB apart wait for each other on some CPUs.
inline constexpr std::size_t kMaxKeyWords = 1 + static_cast<std::size_t>(kMaxDims + kMaxParameters);

/// Odd multipliers for KeyWriter, one per word: random numbers (splitmix64 from seed 1), made odd.
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

/// What a launch is looked up by: the device, a dtype, whether the tuned or a stand-in config is wanted, and the
/// recipe's words. On the stack of the launch.
struct ResidentKey {
  std::array<std::uint64_t, kMaxKeyWords> words;  // The first `count` are set.
  std::size_t count;
  std::uint64_t hash;

  ResidentKey() = default;
  /// Copies the words that are set: few, where there is room for many.
  ResidentKey(const ResidentKey& other) { *this = other; }
  ResidentKey& operator=(const ResidentKey& other) {
    count = other.count;
    hash = other.hash;
    std::copy_n(other.words.begin(), count, words.begin());
    return *this;
  }

  /// kStandIn + i: the i-th stand-in, for calls that those before it do not suit.
  enum Role : std::uint64_t { kTuned = 1, kStandIn };
  static constexpr int kRoleBits = 8;
  static constexpr std::size_t kMostStandIns = (1 << kRoleBits) - kStandIn;
  static Role StandIn(std::size_t i) { return static_cast<Role>(kStandIn + i); }

  /// The first word, never 0, from its lowest bits on: the role, the device, CallBinder::LeadingDType, and in its upper
  /// half the variants that the key leaves out; of most keys none. The context does not count: a CUkernel runs in each.
  static std::uint64_t FirstWord(CUdevice device, Role role, std::uint64_t dtype = 0) {
    return dtype << kDTypeShift | static_cast<std::uint64_t>(device) << kRoleBits | role;
  }
  static constexpr int kDTypeShift = 24;
  static constexpr int kLeftOutShift = 32;
  /// Of a first word: device and role alone.
  static constexpr std::uint64_t DeviceAndRole(std::uint64_t word) { return word & 0xffffffu; }
  CUdevice device() const { return static_cast<CUdevice>(DeviceAndRole(words[0]) >> kRoleBits); }
  VariantSet left_out() const { return VariantSet(static_cast<std::uint32_t>(words[0] >> kLeftOutShift)); }
};

/// Fills a key word by word. A local variable of one function: the hash then grows in a register, and a launch waits
/// for no store.
class KeyWriter {
 public:
  explicit KeyWriter(ResidentKey* key) : key_(key) {}

  /// Multilinear hashing (Lemire and Kaser, "Strongly universal string hashing is fast"): the products do not wait for
  /// each other.
  void Add(std::uint64_t word) {
    hash_ += word * kKeyMultipliers.values[count_];
    key_->words[count_++] = word;
  }
  /// After the last word. The hash's high half is folded into the low one, which picks the slot.
  void Finish() {
    key_->count = count_;
    key_->hash = hash_ ^ (hash_ >> 32);
  }

 private:
  ResidentKey* key_;
  std::size_t count_ = 0;
  std::uint64_t hash_ = 0;
};

/// The key with another first word. REQUIRES: its words are all there.
inline ResidentKey WithFirstWord(const ResidentKey& key, std::uint64_t word) {
  ResidentKey other;
  KeyWriter writer(&other);
  writer.Add(word);
  for (std::size_t i = 1; i < key.count; ++i) writer.Add(key.words[i]);
  writer.Finish();
  return other;
}
/// The key with another role.
inline ResidentKey WithRole(const ResidentKey& key, ResidentKey::Role role) {
  return WithFirstWord(key, key.words[0] >> ResidentKey::kRoleBits << ResidentKey::kRoleBits | role);
}
/// The key of calls that these variants do not suit.
inline ResidentKey LeavingOut(const ResidentKey& key, VariantSet variants) {
  return WithFirstWord(key, (key.words[0] & 0xffffffffu) | static_cast<std::uint64_t>(variants.bits())
                                                               << ResidentKey::kLeftOutShift);
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_RESIDENT_KEY_H_
