#include "runtime/hit_table.h"

#include <algorithm>
#include <new>

namespace tuneonce {

void HitTable::Place(Slots* slots, std::uint64_t hash, const Entry* entry) {
  auto is_taken = [&](std::size_t i) { return slots->slots[i].load(std::memory_order_relaxed) != 0; };
  std::size_t i = hash & slots->mask;
  while (is_taken(i) && is_taken(i + 1)) i = (i + 2) & slots->mask;
  if (is_taken(i)) ++i;
  slots->slots[i].store((hash & kTagMask) | reinterpret_cast<std::uint64_t>(entry), std::memory_order_release);
}

const HitTable::Entry* HitTable::Insert(const ResidentKey& key, const Entry& entry) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const Entry* existing = Find(key); existing != nullptr) return existing;
  if (inserted_.size() % kBlockEntries == 0) blocks_.push_back(Block(new Line[kBlockEntries * lines_per_entry_]));
  auto* made = new (LinesOf(inserted_.size())) Entry(entry);
  std::copy_n(key.words.begin(), num_words_, made->words());
  inserted_.push_back(Inserted{key.hash, made});
  Slots* slots = slots_.load(std::memory_order_relaxed);
  if (4 * inserted_.size() <= slots->count()) {
    Place(slots, key.hash, made);
    return made;
  }
  Slots* larger = NewSlots(2 * slots->count());
  for (const Inserted& one : inserted_) Place(larger, one.hash, one.entry);
  slots_.store(larger, std::memory_order_release);
  return made;
}

}  // namespace tuneonce
