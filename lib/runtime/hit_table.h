#ifndef TUNEONCE_LIB_RUNTIME_HIT_TABLE_H_
#define TUNEONCE_LIB_RUNTIME_HIT_TABLE_H_

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "runtime/launch_key.h"
#include "runtime/launch_memo.h"
#include "runtime/ready_kernel.h"

namespace tuneonce {
inline namespace v0 {

/// Maps each loaded key to the entry that it runs. The table uses open addressing with linear probing and is at most a
/// third full. An entry is replaced or dropped by one atomic pointer. Find takes no lock, writes no shared memory, and
/// usually reads one cache line, because a key's first entry is stored next to its words if there are at most four of
/// them (the device and three parts of the key).
///
/// Readers may still use slots that were outgrown, and entries that were replaced or dropped. They are freed by the
/// second call of ReleaseOutgrown after that, or by ReleaseRetired. Thread-safe except for these two functions.
class HitTable {
 public:
  /// What a key runs.
  struct Entry {
    const ReadyKernel* kernel;
    std::uint32_t grid[3];  ///< The grid in blocks if is_prepared. Otherwise the first two words are memo_id().
    /// The guards and the assumptions about extents hold for all launches of the key, and only `grid` differs from the
    /// setup.
    bool is_prepared;
    /// The key is pending. The entry never suits a call, so that its fallback config runs. It is not prepared.
    bool is_provisional;
    bool is_pinned = false;  ///< The host pinned the config, which stays until Unpin.

    [[gnu::always_inline]] bool Suits(BoundCall& call) const {
      if (is_prepared) return kernel->assumptions.HoldApartFromExtents(call);
      return !is_provisional && kernel->assumptions.Hold(call) && kernel->GuardsHold(call);
    }
    /// Returns whether this is a selected config whose code accepts the call's arguments, even if its guards do not
    /// hold.
    bool IsFor(const BoundCall& call) const { return !is_provisional && kernel->assumptions.Hold(call); }
    /// Returns what this thread computed for the call's dims, or null if it must be computed or Suits must be checked.
    [[gnu::always_inline]] const LaunchMemo* Remembered(const BoundCall& call) const {
      if (is_prepared) return nullptr;
      const std::uint64_t id = memo_id();
      if (id == 0) return nullptr;
      const LaunchMemo& memo = LaunchMemo::Of(id);
      return memo.IsFor(id, call.problem.dims) && kernel->assumptions.HoldApartFromExtents(call) ? &memo : nullptr;
    }
    /// Launches the entry. REQUIRES: Suits returned true.
    [[gnu::always_inline]] Status Launch(CUstream stream, BoundCall& call) const {
      if (is_prepared) return kernel->LaunchPrepared(grid, stream, call);
      return memo_id() == 0 ? kernel->Launch(stream, call) : LaunchAndRemember(stream, call);
    }
    Status LaunchAndRemember(CUstream stream, BoundCall& call) const;
    /// Makes each thread remember what it computes for its last dims (LaunchMemo). REQUIRES: not is_prepared.
    void Remember() {
      const std::uint64_t id = LaunchMemo::NewId();
      grid[0] = static_cast<std::uint32_t>(id);
      grid[1] = static_cast<std::uint32_t>(id >> 32);
    }

   private:
    /// Returns LaunchMemo::id, or 0 if nothing is remembered. It is stored in `grid`, so that a slot with four words
    /// fits one cache line. REQUIRES: not is_prepared.
    std::uint64_t memo_id() const { return grid[0] | static_cast<std::uint64_t>(grid[1]) << 32; }
  };

  /// Makes a table for keys of `num_words` words. The first word of a key is never 0.
  explicit HitTable(std::size_t num_words);

  /// Returns the entry of `key`, or null.
  [[gnu::always_inline]] const Entry* Find(const LaunchKey& key) const {
    // Computed before the acquiring load, after which the compiler would read it from memory again.
    std::size_t at = key.hash;
    const Slots* slots = slots_.load(std::memory_order_acquire);
    for (;; at += slots->stride) {
      const Slot& slot = *slots->At(at);
      std::uint64_t first = slot.words()[0].load(std::memory_order_acquire);
      if (first == key.words[0] && HasOtherWords(slot, key)) return slot.current.load(std::memory_order_acquire);
      if (first == 0) return nullptr;
    }
  }

  /// Publishes `entry` and replaces a provisional one. If the key has another entry, that one stays. Returns the key's
  /// entry. REQUIRES: the entry's kernel outlives the table.
  const Entry* Insert(const LaunchKey& key, const Entry& entry);
  /// Publishes `entry` and replaces the key's entry, unless that is pinned and `entry` is not. Oldest never returns a
  /// key with a pinned entry.
  const Entry* Replace(const LaunchKey& key, const Entry& entry);
  /// Removes the key's entry.
  void Drop(const LaunchKey& key);
  /// Returns the key whose entry was inserted first, without those that Keep protects.
  std::optional<LaunchKey> Oldest();
  /// Protects all current keys: Oldest never returns them.
  void Keep();
  /// Protects the key that Oldest would return now.
  void KeepOldest();
  /// Returns the number of keys that have an entry.
  std::size_t size() const;
  /// Returns the number of keys that have a selected or a first fallback config, their roles counted once.
  std::size_t num_selections() const;
  /// Returns the kernels of all entries, in the order of insertion.
  std::vector<const ReadyKernel*> Kernels() const;
  /// Counts a call that may use Find or an entry at any time until EndReading. Hits are not counted.
  void BeginReading() const;
  void EndReading() const;
  /// Frees the slots and entries that were outgrown, replaced or dropped before the previous call, so that keys that
  /// come and go leave nothing behind. It frees nothing while others than the caller are reading. REQUIRES: the caller
  /// is counted by BeginReading; every uncounted Find that began before the previous call has returned, and its entry
  /// is no longer used.
  void ReleaseOutgrown();
  /// Frees all unused slots and entries. REQUIRES: no Find is running, and no entry that one returned is in use.
  void ReleaseRetired();

 private:
  static constexpr std::size_t kInitialSlots = 64;
  using Word = std::atomic<std::uint64_t>;

  /// The slot of a key, followed by the key's words in memory. The first word is written last, and is 0 while the slot
  /// is empty.
  struct Slot {
    std::atomic<const Entry*> current;  // `first`, or the entry that replaced it, or null if it was dropped.
    Entry first;
    const Word* words() const { return reinterpret_cast<const Word*>(this + 1); }
    Word* words() { return reinterpret_cast<Word*>(this + 1); }
  };
  struct alignas(64) Line {
    unsigned char bytes[64];
  };
  struct Slots {
    Slots(std::size_t slot_count, std::size_t num_words);
    /// Returns the slot at a hash plus a multiple of the stride.
    Slot* At(std::size_t at) const {
      return reinterpret_cast<Slot*>(reinterpret_cast<unsigned char*>(lines.get()) + (at & mask));
    }
    const std::size_t count;
    const std::size_t stride;  // In bytes, a power of 2.
    const std::size_t mask;    // Applied to a hash, gives the offset of its slot in bytes.
    const std::unique_ptr<Line[]> lines;
  };
  /// The slots of one size, and the entries that replaced others while these slots were in use.
  struct Generation {
    std::unique_ptr<const Slots> slots;
    std::vector<std::unique_ptr<const Entry>> later_entries;
  };

  [[gnu::always_inline]] bool HasOtherWords(const Slot& slot, const LaunchKey& key) const {
    for (std::size_t i = 1; i < num_words_; ++i) {
      if (slot.words()[i].load(std::memory_order_relaxed) != key.words[i]) return false;
    }
    return true;
  }
  /// Returns the key's slot, or the empty one where the key belongs.
  Slot* SlotOf(const LaunchKey& key) const TUNEONCE_REQUIRES(mutex_);
  /// Returns 1 if `key` has the role of a selected or a first fallback config, and the other of them has no entry.
  /// Otherwise returns 0.
  std::size_t AloneInSelection(const LaunchKey& key) const TUNEONCE_REQUIRES(mutex_);
  const Entry* Put(const LaunchKey& key, const Entry& entry, bool replaces) TUNEONCE_REQUIRES(mutex_);
  Slot* Place(const Slots& slots, const LaunchKey& key, const Entry& entry) const;
  /// Returns the number of slots for the next Rebuild.
  std::size_t WantedSlots() const TUNEONCE_REQUIRES(mutex_);
  /// Moves the entries to a new generation, whose slots are at most a sixth full with one more key.
  void Rebuild() TUNEONCE_REQUIRES(mutex_);

  /// One insertion, in order. Entries that were replaced or dropped since are skipped.
  struct Inserted {
    std::uint64_t hash;
    Slot* slot;
    const Entry* entry;
    bool is_current() const { return slot->current.load(std::memory_order_relaxed) == entry; }
  };
  LaunchKey KeyOf(const Inserted& one) const;
  void MoveTo(const Slots& slots, std::deque<Inserted>* inserted) const;

  const std::size_t num_words_;
  mutable Mutex mutex_;                                              // Held by writers.
  std::vector<Generation> generations_ TUNEONCE_GUARDED_BY(mutex_);  // All current entries are in the last one.
  mutable std::size_t num_reading_ TUNEONCE_GUARDED_BY(mutex_) = 0;
  // Number of generations at the last ReleaseOutgrown.
  std::size_t num_outgrown_before_ TUNEONCE_GUARDED_BY(mutex_) = 0;
  // The insertions that Keep protects, which precede the others.
  std::deque<Inserted> kept_ TUNEONCE_GUARDED_BY(mutex_);
  std::deque<Inserted> inserted_ TUNEONCE_GUARDED_BY(mutex_);
  std::size_t used_slots_ TUNEONCE_GUARDED_BY(mutex_) = 0;  // Number of used slots in the last generation.
  std::size_t size_ TUNEONCE_GUARDED_BY(mutex_) = 0;
  std::size_t num_selections_ TUNEONCE_GUARDED_BY(mutex_) = 0;
  std::atomic<const Slots*> slots_;  // Points into the last generation.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_HIT_TABLE_H_
