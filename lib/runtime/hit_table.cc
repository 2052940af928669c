#include "runtime/hit_table.h"

#include <utility>

namespace tuneonce {

void HitTable::Place(Slots* slots, const ResidentKernel* entry) {
  std::size_t i = entry->key.hash & slots->mask;
  while (slots->entries[i].load(std::memory_order_relaxed) != nullptr) i = (i + 1) & slots->mask;
  slots->entries[i].store(entry, std::memory_order_release);
}

const ResidentKernel* HitTable::Insert(std::unique_ptr<const ResidentKernel> entry) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const ResidentKernel* existing = Find(entry->key); existing != nullptr) return existing;
  const ResidentKernel* added = entry.get();
  entries_.push_back(std::move(entry));
  Slots* slots = slots_.load(std::memory_order_relaxed);
  if (2 * entries_.size() <= slots->mask) {
    Place(slots, added);
    return added;
  }
  Slots* larger = NewSlots(2 * (slots->mask + 1));
  for (const auto& each : entries_) Place(larger, each.get());
  slots_.store(larger, std::memory_order_release);
  return added;
}

}  // namespace tuneonce
