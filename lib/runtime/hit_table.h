#ifndef TUNEONCE_LIB_RUNTIME_HIT_TABLE_H_
#define TUNEONCE_LIB_RUNTIME_HIT_TABLE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/resident_kernel.h"
#include "runtime/resident_key.h"

namespace tuneonce {

/// The resident kernels by key: insert-only, open addressing with linear probing, at most a third full. Find takes no
/// lock, writes nothing shared, and as a rule touches one cache line: what a key runs lies beside its words, which fit
/// up to five (the device, and four parts of a recipe). Outgrown slots live as long as the table, so that a reader
/// never meets freed memory; they add up to less than the current ones. Thread-safe.
class HitTable {
 public:
  /// What a key runs.
  struct Entry {
    const ResidentKernel* kernel;
    std::uint32_t grid[3];  ///< In blocks, if is_prepared.
    bool is_prepared;       ///< Guards and assumptions about extents hold, geometry is known: `grid` is left.

    bool Suits(const BoundCall& call) const {
      if (is_prepared) return kernel->assumptions->HoldApartFromExtents(call);
      return kernel->assumptions->Hold(call) && kernel->GuardsHold(call);
    }
    /// REQUIRES: Suits.
    Status Launch(CUstream stream, BoundCall& call) const {
      return is_prepared ? kernel->LaunchPrepared(grid, stream, call) : kernel->Launch(stream, call);
    }
  };

  /// For keys of `num_words` words, of which the first is never 0.
  explicit HitTable(std::size_t num_words);

  /// What `key` runs, or null.
  const Entry* Find(const ResidentKey& key) const {
    const Slots* slots = slots_.load(std::memory_order_acquire);
    for (std::size_t at = key.hash;; at += slots->stride) {
      const Slot& slot = *slots->At(at);
      std::uint64_t first = slot.words()[0].load(std::memory_order_acquire);
      if (first == key.words[0] && HasOtherWords(slot, key)) return &slot.entry;
      if (first == 0) return nullptr;
    }
  }

  /// Publishes `entry`. If the key is there already, what it runs stays, and is returned.
  /// REQUIRES: the kernel outlives the table.
  const Entry* Insert(const ResidentKey& key, const Entry& entry);

 private:
  static constexpr std::size_t kInitialSlots = 64;
  using Word = std::atomic<std::uint64_t>;

  /// An entry; the key's words follow it in memory. The first is written last, and 0 as long as the slot is empty.
  struct Slot {
    Entry entry;
    const Word* words() const { return reinterpret_cast<const Word*>(this + 1); }
    Word* words() { return reinterpret_cast<Word*>(this + 1); }
  };
  struct alignas(64) Line {
    unsigned char bytes[64];
  };
  struct Slots {
    Slots(std::size_t its_count, std::size_t num_words);
    /// The slot of a hash, or one behind it by a multiple of the stride.
    Slot* At(std::size_t at) const {
      return reinterpret_cast<Slot*>(reinterpret_cast<unsigned char*>(lines.get()) + (at & mask));
    }
    const std::size_t count;
    const std::size_t stride;  // In bytes, a power of 2.
    const std::size_t mask;    // Of a hash: its slot's offset in bytes.
    const std::unique_ptr<Line[]> lines;
  };

  bool HasOtherWords(const Slot& slot, const ResidentKey& key) const {
    for (std::size_t i = 1; i < num_words_; ++i) {
      if (slot.words()[i].load(std::memory_order_relaxed) != key.words[i]) return false;
    }
    return true;
  }
  const Slot* Place(const Slots& slots, const ResidentKey& key, const Entry& entry) const;
  void Grow();

  const std::size_t num_words_;
  std::mutex mutex_;  // Of writers.
  std::vector<std::unique_ptr<const Slots>> all_slots_;
  struct Inserted {
    std::uint64_t hash;
    const Slot* slot;
  };
  std::vector<Inserted> inserted_;
  std::atomic<const Slots*> slots_;  // The last of all_slots_.
};

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_HIT_TABLE_H_
