#ifndef TUNEONCE_LIB_RUNTIME_HIT_TABLE_H_
#define TUNEONCE_LIB_RUNTIME_HIT_TABLE_H_

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "runtime/launch_memo.h"
#include "runtime/resident_kernel.h"
#include "runtime/resident_key.h"

namespace tuneonce {
inline namespace v0 {

/// What each resident key runs: open addressing with linear probing, at most a third full. What a key runs is replaced
/// or dropped by one atomic pointer. Find takes no lock, writes nothing shared, and as a rule touches one cache line:
/// what a key ran first lies beside its words, which fit up to four (the device, and three parts of a recipe).
///
/// Outgrown slots, and entries that were replaced or dropped, live on, since readers may be on their way to them, until
/// ReleaseOutgrown was called twice, or ReleaseRetired. Thread-safe but for these.
class HitTable {
 public:
  /// What a key runs.
  struct Entry {
    const ResidentKernel* kernel;
    std::uint32_t grid[3];   ///< In blocks, if is_prepared. Else the first two are the id of what threads remember.
    bool is_prepared;        ///< Guards and assumptions about extents hold, geometry is known: `grid` is left.
    bool is_provisional;     ///< The key waits for its choice: it never suits, so that its stand-in runs. Not prepared.
    bool is_pinned = false;  ///< The host's choice: it stays until the host ends it.

    [[gnu::always_inline]] bool Suits(BoundCall& call) const {
      if (is_prepared) return kernel->assumptions.HoldApartFromExtents(call);
      return !is_provisional && kernel->assumptions.Hold(call) && kernel->GuardsHold(call);
    }
    /// True if it is a choice whose code suits the call, whatever guards say of its config: what is there for such
    /// calls.
    bool IsFor(const BoundCall& call) const { return !is_provisional && kernel->assumptions.Hold(call); }
    /// What this thread computed for the call's dims; null if it has to be computed, or Suits to be asked.
    [[gnu::always_inline]] const LaunchMemo* Remembered(const BoundCall& call) const {
      if (is_prepared) return nullptr;
      const std::uint64_t id = memo_id();
      if (id == 0) return nullptr;
      const LaunchMemo& memo = LaunchMemo::Of(id);
      return memo.IsFor(id, call.problem.dims) && kernel->assumptions.HoldApartFromExtents(call) ? &memo : nullptr;
    }
    /// REQUIRES: Suits.
    [[gnu::always_inline]] Status Launch(CUstream stream, BoundCall& call) const {
      if (is_prepared) return kernel->LaunchPrepared(grid, stream, call);
      return memo_id() == 0 ? kernel->Launch(stream, call) : LaunchAndRemember(stream, call);
    }
    Status LaunchAndRemember(CUstream stream, BoundCall& call) const;
    /// Each thread remembers what it computes for its last dims from now on (LaunchMemo). REQUIRES: not is_prepared.
    void Remember() {
      const std::uint64_t id = LaunchMemo::NewId();
      grid[0] = static_cast<std::uint32_t>(id);
      grid[1] = static_cast<std::uint32_t>(id >> 32);
    }

   private:
    /// LaunchMemo::id; 0 if nothing is remembered. REQUIRES: not is_prepared. In `grid`, so that a slot with four words
    /// stays one cache line.
    std::uint64_t memo_id() const { return grid[0] | static_cast<std::uint64_t>(grid[1]) << 32; }
  };

  /// For keys of `num_words` words, of which the first is never 0.
  explicit HitTable(std::size_t num_words);

  /// What `key` runs, or null.
  [[gnu::always_inline]] const Entry* Find(const ResidentKey& key) const {
    std::size_t at = key.hash;  // Before the load that acquires, behind which it would be read back from memory.
    const Slots* slots = slots_.load(std::memory_order_acquire);
    for (;; at += slots->stride) {
      const Slot& slot = *slots->At(at);
      std::uint64_t first = slot.words()[0].load(std::memory_order_acquire);
      if (first == key.words[0] && HasOtherWords(slot, key)) return slot.current.load(std::memory_order_acquire);
      if (first == 0) return nullptr;
    }
  }

  /// Publishes `entry`, in place of a provisional one. If the key runs something else already, that stays. Returns what
  /// the key runs now. REQUIRES: the kernel outlives the table.
  const Entry* Insert(const ResidentKey& key, const Entry& entry);
  /// Publishes `entry`, in place of whatever the key runs, but for a pinned entry, whose place only a pinned one takes.
  /// A pinned one is never the Oldest.
  const Entry* Replace(const ResidentKey& key, const Entry& entry);
  /// The key runs nothing from now on.
  void Drop(const ResidentKey& key);
  /// The key whose entry was inserted first of all that are there, but for those that Keep kept.
  std::optional<ResidentKey> Oldest();
  /// What is there now is never the Oldest.
  void Keep();
  /// The same for the one that is the Oldest now.
  void KeepOldest();
  /// Number of keys that run something.
  std::size_t size() const;
  /// What the keys run, in the order in which it was inserted.
  std::vector<const ResidentKernel*> Kernels() const;
  /// Counts calls of which a Find may be under way, or an entry in use, at any time until they end. A hit is not
  /// counted.
  void BeginReading() const;
  void EndReading() const;
  /// Frees what was outgrown, replaced or dropped before the last call already, so that keys that come and go leave
  /// nothing behind; nothing while others than the caller are reading. REQUIRES: the caller is counted; every uncounted
  /// Find that began before the previous call has returned, and its entry is no longer used.
  void ReleaseOutgrown();
  /// Frees all of it. REQUIRES: no Find is under way, and no entry that one returned is in use.
  void ReleaseRetired();

 private:
  static constexpr std::size_t kInitialSlots = 64;
  using Word = std::atomic<std::uint64_t>;

  /// What a key runs; the key's words follow it in memory. The first is written last, and 0 as long as the slot is
  /// empty.
  struct Slot {
    std::atomic<const Entry*> current;  // `first`, or what replaced it; null if it was dropped.
    Entry first;
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
  /// Slots, and the entries that took another's place while these were the table's.
  struct Generation {
    std::unique_ptr<const Slots> slots;
    std::vector<std::unique_ptr<const Entry>> later_entries;
  };

  [[gnu::always_inline]] bool HasOtherWords(const Slot& slot, const ResidentKey& key) const {
    for (std::size_t i = 1; i < num_words_; ++i) {
      if (slot.words()[i].load(std::memory_order_relaxed) != key.words[i]) return false;
    }
    return true;
  }
  /// The key's slot, or the empty one where it belongs.
  Slot* SlotOf(const ResidentKey& key) const TUNEONCE_REQUIRES(mutex_);
  const Entry* Put(const ResidentKey& key, const Entry& entry, bool replaces) TUNEONCE_REQUIRES(mutex_);
  Slot* Place(const Slots& slots, const ResidentKey& key, const Entry& entry) const;
  /// How many slots there are after a Rebuild.
  std::size_t WantedSlots() const TUNEONCE_REQUIRES(mutex_);
  /// Moves what the keys run to a new generation, whose slots are at most a sixth full with one more key.
  void Rebuild() TUNEONCE_REQUIRES(mutex_);

  /// What is current is in order of insertion, among what was replaced or dropped since.
  struct Inserted {
    std::uint64_t hash;
    Slot* slot;
    const Entry* entry;
    bool is_current() const { return slot->current.load(std::memory_order_relaxed) == entry; }
  };
  ResidentKey KeyOf(const Inserted& one) const;
  void MoveTo(const Slots& slots, std::deque<Inserted>* inserted) const;

  const std::size_t num_words_;
  mutable Mutex mutex_;  // Of writers.
  std::vector<Generation> generations_ TUNEONCE_GUARDED_BY(mutex_);  // What is current is all in the last one.
  mutable std::size_t num_reading_ TUNEONCE_GUARDED_BY(mutex_) = 0;
  std::size_t num_outgrown_before_ TUNEONCE_GUARDED_BY(mutex_) = 0;  // Generations, at the last ReleaseOutgrown.
  std::deque<Inserted> kept_ TUNEONCE_GUARDED_BY(mutex_);  // Before them all: by Keep.
  std::deque<Inserted> inserted_ TUNEONCE_GUARDED_BY(mutex_);
  std::size_t used_slots_ TUNEONCE_GUARDED_BY(mutex_) = 0;  // Of the last generation.
  std::size_t size_ TUNEONCE_GUARDED_BY(mutex_) = 0;
  std::atomic<const Slots*> slots_;  // The last generation's.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_HIT_TABLE_H_
