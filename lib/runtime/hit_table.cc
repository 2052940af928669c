#include "runtime/hit_table.h"

#include <algorithm>
#include <utility>

namespace tuneonce {

void HitTable::Place(Slots* slots, std::uint64_t hash, const Entry* entry) {
  std::size_t i = hash & slots->mask;
  while (slots->slots[i].entry.load(std::memory_order_relaxed) != nullptr) i = (i + 1) & slots->mask;
  slots->slots[i].hash = hash;
  slots->slots[i].entry.store(entry, std::memory_order_release);
}

const ResidentKernel* HitTable::Insert(const ResidentKey& key, const ResidentKernel* kernel) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const ResidentKernel* existing = Find(key); existing != nullptr) return existing;
  auto entry = std::make_unique<Entry>();
  entry->kernel = kernel;
  std::size_t inline_count = std::min(key.count, kInlineWords);
  std::copy_n(key.words.begin(), inline_count, entry->words.begin());
  if (key.count > kInlineWords) {
    entry->more = std::make_unique<std::uint64_t[]>(key.count - kInlineWords);
    std::copy_n(key.words.begin() + kInlineWords, key.count - kInlineWords, entry->more.get());
  }
  entries_.emplace_back(key.hash, std::move(entry));
  Slots* slots = slots_.load(std::memory_order_relaxed);
  if (2 * entries_.size() <= slots->mask) {
    Place(slots, key.hash, entries_.back().second.get());
    return kernel;
  }
  Slots* larger = NewSlots(2 * (slots->mask + 1));
  for (const auto& [hash, each] : entries_) Place(larger, hash, each.get());
  slots_.store(larger, std::memory_order_release);
  return kernel;
}

}  // namespace tuneonce
