#ifndef TUNEONCE_LIB_RUNTIME_HIT_TABLE_H_
#define TUNEONCE_LIB_RUNTIME_HIT_TABLE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/resident_kernel.h"
#include "runtime/resident_key.h"

namespace tuneonce {

/// The resident kernels by key: insert-only, open addressing, at most half full. Find takes no lock and writes nothing
/// shared; entries and outgrown slot arrays live as long as the table, so that a reader never meets freed memory (the
/// outgrown ones add up to less than the current one). A find touches two cache lines: a slot, and an entry.
/// Thread-safe.
class HitTable {
 public:
  HitTable() : slots_(NewSlots(kInitialSlots)) {}

  /// What `key` runs, or null.
  const ResidentKernel* Find(const ResidentKey& key) const {
    const Slots* slots = slots_.load(std::memory_order_acquire);
    for (std::size_t i = key.hash & slots->mask;; i = (i + 1) & slots->mask) {
      const Slot& slot = slots->slots[i];
      const Entry* entry = slot.entry.load(std::memory_order_acquire);
      if (entry == nullptr) return nullptr;
      if (slot.hash == key.hash && entry->Is(key)) return entry->kernel;
    }
  }

  /// Publishes an entry. If its key is there already, what it runs stays, and is returned. REQUIRES: `kernel` outlives
  /// the table.
  const ResidentKernel* Insert(const ResidentKey& key, const ResidentKernel* kernel);

 private:
  static constexpr std::size_t kInitialSlots = 64;
  static constexpr std::size_t kInlineWords = 6;

  /// One cache line for keys of up to kInlineWords words: context, role, and four parts of a recipe.
  struct alignas(64) Entry {
    const ResidentKernel* kernel;
    std::array<std::uint64_t, kInlineWords> words;
    std::unique_ptr<std::uint64_t[]> more;  // The other words; null if there are none.

    /// REQUIRES: the hashes are equal, which with one recipe means that the counts are.
    bool Is(const ResidentKey& key) const {
      std::size_t inline_count = key.count < kInlineWords ? key.count : kInlineWords;
      for (std::size_t i = 0; i < inline_count; ++i) {
        if (words[i] != key.words[i]) return false;
      }
      for (std::size_t i = inline_count; i < key.count; ++i) {
        if (more[i - kInlineWords] != key.words[i]) return false;
      }
      return true;
    }
  };
  /// Entries lie close together, so that few pages hold them all.
  static constexpr std::size_t kBlockEntries = 64;
  using Block = std::array<Entry, kBlockEntries>;

  struct Slot {
    std::uint64_t hash = 0;  // Written before `entry`, and never again.
    std::atomic<const Entry*> entry{nullptr};
  };
  struct Slots {
    explicit Slots(std::size_t count) : mask(count - 1), slots(new Slot[count]) {}
    std::size_t mask;
    std::unique_ptr<Slot[]> slots;
  };

  Slots* NewSlots(std::size_t count) {
    all_slots_.push_back(std::make_unique<Slots>(count));
    return all_slots_.back().get();
  }
  Entry& At(std::size_t i) { return (*blocks_[i / kBlockEntries])[i % kBlockEntries]; }
  static void Place(Slots* slots, std::uint64_t hash, const Entry* entry);

  std::mutex mutex_;  // Of writers.
  std::vector<std::unique_ptr<Slots>> all_slots_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<std::uint64_t> hashes_;  // Of the entries, in order.
  std::atomic<Slots*> slots_;
};

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_HIT_TABLE_H_
