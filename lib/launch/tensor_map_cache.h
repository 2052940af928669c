#ifndef TUNEONCE_LIB_LAUNCH_TENSOR_MAP_CACHE_H_
#define TUNEONCE_LIB_LAUNCH_TENSOR_MAP_CACHE_H_

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "cuda/driver_api.h"
#include "tuneonce/arguments.h"
#include "tuneonce/parameters.h"

namespace tuneonce {
inline namespace v0 {

/// The tensor maps that one config's launches encoded last, by address and shape. Find takes no lock, allocates nothing
/// and calls no other function. A tensor whose slot another one took is encoded again. Thread-safe.
class TensorMapCache {
 public:
  /// `num_descriptors`: how many tensor maps the kernel takes.
  explicit TensorMapCache(std::size_t num_descriptors)
      : slots_(num_descriptors == 0 ? nullptr : new Slot[num_descriptors * kSlots]) {}

  /// Copies the map of the kernel's `descriptor`-th tensor map for `tensor`. Returns false if it is not in the cache.
  bool Find(std::size_t descriptor, const TensorView& tensor, void* map) const {
    const Key key(tensor);
    const Slot& slot = slots_[descriptor * kSlots + key.place];
    // A seqlock: a reader of a slot that is being written sees that the version changed.
    const std::uint32_t version = slot.version.load(std::memory_order_acquire);
    std::uint64_t wrong = version & 1u;
    for (std::size_t i = 0; i < kKeyWords; ++i) wrong |= slot.key[i].load(std::memory_order_acquire) ^ key.words[i];
    if (wrong != 0) return false;
    std::uint64_t words[kMapWords];
    for (std::size_t i = 0; i < kMapWords; ++i) words[i] = slot.map[i].load(std::memory_order_acquire);
    std::memcpy(map, words, sizeof(words));
    return slot.version.load(std::memory_order_relaxed) == version;
  }
  /// Stores a map, or does nothing while another thread writes into the slot.
  void Put(std::size_t descriptor, const TensorView& tensor, const void* map) {
    const Key key(tensor);
    Slot& slot = slots_[descriptor * kSlots + key.place];
    std::uint32_t version = slot.version.load(std::memory_order_relaxed);
    if ((version & 1u) != 0 || !slot.version.compare_exchange_strong(version, version + 1, std::memory_order_acq_rel)) {
      return;
    }
    std::uint64_t words[kMapWords];
    std::memcpy(words, map, sizeof(words));
    for (std::size_t i = 0; i < kKeyWords; ++i) slot.key[i].store(key.words[i], std::memory_order_release);
    for (std::size_t i = 0; i < kMapWords; ++i) slot.map[i].store(words[i], std::memory_order_release);
    slot.version.store(version + 2, std::memory_order_release);
  }

 private:
  /// Per descriptor: more than a model has layers, whose weights one kernel meets in turn. A power of two.
  static constexpr std::size_t kSlots = 256;
  static constexpr std::size_t kMapWords = sizeof(CUtensorMap) / sizeof(std::uint64_t);
  static constexpr std::size_t kKeyWords = 2 + 2 * TensorMap::kMaxRank;

  struct Key {
    explicit Key(const TensorView& tensor) {
      words[0] = reinterpret_cast<std::uintptr_t>(tensor.data);
      words[1] = static_cast<std::uint64_t>(tensor.dtype) << 8 | static_cast<std::uint64_t>(tensor.rank);
      std::uint64_t hash = words[0] >> 4;
      for (std::size_t d = 0; d < TensorMap::kMaxRank; ++d) {
        bool is_there = d < static_cast<std::size_t>(tensor.rank);
        words[2 + 2 * d] = is_there ? static_cast<std::uint64_t>(tensor.shape[d]) : 0;
        words[3 + 2 * d] = is_there ? static_cast<std::uint64_t>(tensor.strides[d]) : 0;
        hash += words[2 + 2 * d] * (2 * d + 3);
      }
      place = static_cast<std::size_t>(hash * 0x9e3779b97f4a7c15u >> 32) % kSlots;  // Fibonacci hashing.
    }
    std::uint64_t words[kKeyWords];
    std::size_t place;
  };
  struct Slot {
    std::atomic<std::uint32_t> version{0};                    // Odd while it is written.
    std::array<std::atomic<std::uint64_t>, kKeyWords> key{};  // The address 0 marks an empty slot.
    std::array<std::atomic<std::uint64_t>, kMapWords> map{};
  };

  std::unique_ptr<Slot[]> slots_;
};

/// How a launch comes by its tensor maps.
struct TensorMaps {
  const DriverApi* api = nullptr;   ///< Encodes them.
  TensorMapCache* cache = nullptr;  ///< May be null.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_LAUNCH_TENSOR_MAP_CACHE_H_
