#ifndef TUNEONCE_LIB_RUNTIME_HIT_TABLE_H_
#define TUNEONCE_LIB_RUNTIME_HIT_TABLE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/resident_kernel.h"
#include "runtime/resident_key.h"

namespace tuneonce {

/// The resident kernels by key: insert-only, open addressing by pairs of slots, at most a quarter full. Find takes no
/// lock and writes nothing shared; entries and outgrown slot arrays live as long as the table, so that a reader never
/// meets freed memory (the outgrown ones add up to less than the current one). A find touches two cache lines: a pair
/// of slots, and an entry (of keys with up to five words: the context, and four parts of a recipe). Thread-safe.
class HitTable {
 public:
  /// What a key runs. Its words follow in memory.
  struct Entry {
    const ResidentKernel* kernel;
    bool is_prepared;       ///< Guards and assumptions about extents hold, geometry is known: `grid` is left.
    std::uint32_t grid[3];  ///< In blocks, if is_prepared.

    bool Suits(const BoundCall& call) const {
      if (is_prepared) return kernel->assumptions->HoldApartFromExtents(call);
      return kernel->assumptions->Hold(call) && kernel->GuardsHold(call);
    }
    /// REQUIRES: Suits.
    Status Launch(CUstream stream, BoundCall& call) const {
      return is_prepared ? kernel->LaunchPrepared(grid, stream, call) : kernel->Launch(stream, call);
    }
    const std::uint64_t* words() const { return reinterpret_cast<const std::uint64_t*>(this + 1); }
    std::uint64_t* words() { return reinterpret_cast<std::uint64_t*>(this + 1); }
  };

  /// For keys of `num_words` words.
  explicit HitTable(std::size_t num_words)
      : num_words_(num_words),
        lines_per_entry_((sizeof(Entry) + num_words * sizeof(std::uint64_t) + sizeof(Line) - 1) / sizeof(Line)),
        slots_(NewSlots(kInitialSlots)) {}

  /// What `key` runs, or null.
  const Entry* Find(const ResidentKey& key) const {
    const Slots* slots = slots_.load(std::memory_order_acquire);
    for (std::size_t i = key.hash & slots->mask;; i = (i + 2) & slots->mask) {
      std::uint64_t first = slots->slots[i].load(std::memory_order_acquire);
      std::uint64_t second = slots->slots[i + 1].load(std::memory_order_acquire);
      // Which of the two is chance, which a branch could not predict; that it is one of them is nearly certain (of
      // random keys 97 % at a quarter full).
      std::uint64_t is_first = 0 - static_cast<std::uint64_t>(HasTag(first, key));
      std::uint64_t slot = second ^ ((first ^ second) & is_first);
      if (HasTag(slot, key) && HasWords(*EntryOf(slot), key)) return EntryOf(slot);
      if (HasTag(second, key) && HasWords(*EntryOf(second), key)) return EntryOf(second);  // Both tags were the key's.
      if (second == 0) return nullptr;
    }
  }

  /// Publishes an entry with `entry`'s fields. If the key is there already, what it runs stays, and is returned.
  /// REQUIRES: the kernel outlives the table.
  const Entry* Insert(const ResidentKey& key, const Entry& entry);

 private:
  static constexpr std::size_t kInitialSlots = 64;
  /// Entries lie close together, so that few pages hold them all.
  static constexpr std::size_t kBlockEntries = 64;
  struct alignas(64) Line {
    unsigned char bytes[64];
  };
  using Block = std::unique_ptr<Line[]>;

  /// An entry's address, with the highest bits of its key's hash in the 16 that addresses of user space leave free (on
  /// x86-64 and AArch64, unless a program asks for more at mmap); 0: empty. Small, so that many slots stay in the
  /// cache.
  using Slot = std::atomic<std::uint64_t>;
  static constexpr std::uint64_t kTagMask = ~std::uint64_t{0} << 48;
  static const Entry* EntryOf(std::uint64_t slot) { return reinterpret_cast<const Entry*>(slot & ~kTagMask); }
  struct Slots {
    explicit Slots(std::size_t num_slots) : mask(num_slots - 2), slots(new Slot[num_slots]()) {}
    std::size_t count() const { return mask + 2; }
    std::size_t mask;  // Of a hash: the first slot of its pair.
    std::unique_ptr<Slot[]> slots;
  };

  static bool HasTag(std::uint64_t slot, const ResidentKey& key) {
    return slot != 0 && ((slot ^ key.hash) & kTagMask) == 0;
  }
  bool HasWords(const Entry& entry, const ResidentKey& key) const {
    for (std::size_t i = 0; i < num_words_; ++i) {
      if (entry.words()[i] != key.words[i]) return false;
    }
    return true;
  }
  Slots* NewSlots(std::size_t count) {
    all_slots_.push_back(std::make_unique<Slots>(count));
    return all_slots_.back().get();
  }
  Line* LinesOf(std::size_t i) { return &blocks_[i / kBlockEntries][(i % kBlockEntries) * lines_per_entry_]; }
  static void Place(Slots* slots, std::uint64_t hash, const Entry* entry);

  const std::size_t num_words_;
  const std::size_t lines_per_entry_;
  std::mutex mutex_;  // Of writers.
  std::vector<std::unique_ptr<Slots>> all_slots_;
  std::vector<Block> blocks_;
  struct Inserted {
    std::uint64_t hash;
    const Entry* entry;
  };
  std::vector<Inserted> inserted_;
  std::atomic<Slots*> slots_;
};

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_HIT_TABLE_H_
