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
  if (hashes_.size() % kBlockEntries == 0) blocks_.push_back(std::make_unique<Block>());
  Entry& entry = At(hashes_.size());
  hashes_.push_back(key.hash);
  entry.kernel = kernel;
  std::size_t inline_count = std::min(key.count, kInlineWords);
  std::copy_n(key.words.begin(), inline_count, entry.words.begin());
  if (key.count > kInlineWords) {
    entry.more = std::make_unique<std::uint64_t[]>(key.count - kInlineWords);
    std::copy_n(key.words.begin() + kInlineWords, key.count - kInlineWords, entry.more.get());
  }
  Slots* slots = slots_.load(std::memory_order_relaxed);
  if (2 * hashes_.size() <= slots->mask) {
    Place(slots, key.hash, &entry);
    return kernel;
  }
  Slots* larger = NewSlots(2 * (slots->mask + 1));
  for (std::size_t i = 0; i < hashes_.size(); ++i) Place(larger, hashes_[i], &At(i));
  slots_.store(larger, std::memory_order_release);
  return kernel;
}

}  // namespace tuneonce
