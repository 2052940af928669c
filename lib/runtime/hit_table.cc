#include "runtime/hit_table.h"

#include <new>

namespace tuneonce {
namespace {

/// Bytes from slot to slot: a power of 2, so that a hash's bits are an offset.
std::size_t StrideFor(std::size_t bytes) {
  std::size_t stride = 64;
  while (stride < bytes) stride *= 2;
  return stride;
}

}  // namespace

HitTable::Slots::Slots(std::size_t its_count, std::size_t num_words)
    : count(its_count),
      stride(StrideFor(sizeof(Slot) + num_words * sizeof(Word))),
      mask((count - 1) * stride),
      lines(new Line[count * stride / sizeof(Line)]) {
  for (std::size_t i = 0; i < count; ++i) {
    Slot* slot = new (At(i * stride)) Slot{};
    for (std::size_t word = 0; word < num_words; ++word) new (slot->words() + word) Word(0);
  }
}

HitTable::HitTable(std::size_t num_words) : num_words_(num_words) {
  all_slots_.push_back(std::make_unique<const Slots>(kInitialSlots, num_words));
  slots_.store(all_slots_.back().get(), std::memory_order_release);
}

const HitTable::Slot* HitTable::Place(const Slots& slots, const ResidentKey& key, const Entry& entry) const {
  std::size_t at = key.hash;
  while (slots.At(at)->words()[0].load(std::memory_order_relaxed) != 0) at += slots.stride;
  Slot* slot = slots.At(at);
  slot->entry = entry;
  for (std::size_t i = 1; i < num_words_; ++i) slot->words()[i].store(key.words[i], std::memory_order_relaxed);
  slot->words()[0].store(key.words[0], std::memory_order_release);
  return slot;
}

void HitTable::Grow() {
  auto larger = std::make_unique<const Slots>(2 * all_slots_.back()->count, num_words_);
  ResidentKey key;
  for (Inserted& one : inserted_) {
    key.hash = one.hash;
    for (std::size_t i = 0; i < num_words_; ++i) key.words[i] = one.slot->words()[i].load(std::memory_order_relaxed);
    one.slot = Place(*larger, key, one.slot->entry);
  }
  slots_.store(larger.get(), std::memory_order_release);
  all_slots_.push_back(std::move(larger));
}

const HitTable::Entry* HitTable::Insert(const ResidentKey& key, const Entry& entry) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const Entry* existing = Find(key); existing != nullptr) return existing;
  if (3 * (inserted_.size() + 1) > all_slots_.back()->count) Grow();
  inserted_.push_back(Inserted{key.hash, Place(*all_slots_.back(), key, entry)});
  return &inserted_.back().slot->entry;
}

}  // namespace tuneonce
