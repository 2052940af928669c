#include "runtime/hit_table.h"

#include <new>

namespace tuneonce {
inline namespace v0 {
namespace {

/// Returns the distance of two slots in bytes, a power of 2, so that bits of a hash are an offset.
std::size_t StrideFor(std::size_t bytes) {
  std::size_t stride = 64;
  while (stride < bytes) stride *= 2;
  return stride;
}

}  // namespace

HitTable::Slots::Slots(std::size_t slot_count, std::size_t num_words)
    : count(slot_count),
      stride(StrideFor(sizeof(Slot) + num_words * sizeof(Word))),
      mask((count - 1) * stride),
      lines(new Line[count * stride / sizeof(Line)]) {
  for (std::size_t i = 0; i < count; ++i) {
    Slot* slot = new (At(i * stride)) Slot{};
    for (std::size_t word = 0; word < num_words; ++word) new (slot->words() + word) Word(0);
  }
}

HitTable::HitTable(std::size_t num_words) : num_words_(num_words) {
  generations_.push_back(Generation{std::make_unique<const Slots>(kInitialSlots, num_words), {}});
  slots_.store(generations_.back().slots.get(), std::memory_order_release);
}

HitTable::Slot* HitTable::Place(const Slots& slots, const LaunchKey& key, const Entry& entry) const {
  std::size_t at = key.hash;
  while (slots.At(at)->words()[0].load(std::memory_order_relaxed) != 0) at += slots.stride;
  Slot* slot = slots.At(at);
  slot->first = entry;
  slot->current.store(&slot->first, std::memory_order_relaxed);
  for (std::size_t i = 1; i < num_words_; ++i) slot->words()[i].store(key.words[i], std::memory_order_relaxed);
  slot->words()[0].store(key.words[0], std::memory_order_release);
  return slot;
}

HitTable::Slot* HitTable::SlotOf(const LaunchKey& key) const {
  const Slots& slots = *generations_.back().slots;
  for (std::size_t at = key.hash;; at += slots.stride) {
    Slot* slot = slots.At(at);
    std::uint64_t first = slot->words()[0].load(std::memory_order_relaxed);
    if (first == 0 || (first == key.words[0] && HasOtherWords(*slot, key))) return slot;
  }
}

LaunchKey HitTable::KeyOf(const Inserted& one) const {
  LaunchKey key;
  for (std::size_t i = 0; i < num_words_; ++i) key.words[i] = one.slot->words()[i].load(std::memory_order_relaxed);
  key.count = num_words_;
  key.hash = one.hash;
  return key;
}

void HitTable::MoveTo(const Slots& slots, std::deque<Inserted>* inserted) const {
  std::deque<Inserted> moved;
  for (const Inserted& one : *inserted) {
    if (!one.is_current()) continue;
    Slot* slot = Place(slots, KeyOf(one), *one.entry);
    moved.push_back(Inserted{one.hash, slot, &slot->first});
  }
  *inserted = std::move(moved);
}

std::size_t HitTable::WantedSlots() const {
  std::size_t count = kInitialSlots;
  while (count < 6 * (size_ + 1)) count *= 2;
  return count;
}

void HitTable::Rebuild() {
  Generation next{std::make_unique<const Slots>(WantedSlots(), num_words_), {}};
  generations_.reserve(generations_.size() + 1);
  MoveTo(*next.slots, &kept_);
  MoveTo(*next.slots, &inserted_);
  slots_.store(next.slots.get(), std::memory_order_release);
  generations_.push_back(std::move(next));
  used_slots_ = size_;
}

Status HitTable::Entry::LaunchAndRemember(CUstream stream, BoundCall& call) const {
  std::uint32_t of_call[3];
  // Launch returns the error of a grid that cannot be launched.
  if (!kernel->GridOf(call, of_call)) return kernel->Launch(stream, call);
  LaunchMemo::Of(memo_id()).Set(memo_id(), call.problem.dims, of_call);
  return kernel->LaunchPrepared(of_call, stream, call);
}

const HitTable::Entry* HitTable::Insert(const LaunchKey& key, const Entry& entry) {
  MutexLock lock(mutex_);
  return Put(key, entry, /*replaces=*/false);
}

const HitTable::Entry* HitTable::Replace(const LaunchKey& key, const Entry& entry) {
  MutexLock lock(mutex_);
  return Put(key, entry, /*replaces=*/true);
}

const HitTable::Entry* HitTable::Put(const LaunchKey& key, const Entry& entry, bool replaces) {
  if (3 * (used_slots_ + 1) > generations_.back().slots->count) Rebuild();
  Slot* slot = SlotOf(key);
  std::deque<Inserted>& list = entry.is_pinned ? kept_ : inserted_;
  bool is_new = slot->words()[0].load(std::memory_order_relaxed) == 0;
  if (is_new) {
    list.push_back(Inserted{key.hash, slot, &slot->first});
    Place(*generations_.back().slots, key, entry);
    ++used_slots_;
    ++size_;
    num_selections_ += AloneInSelection(key);
    return &slot->first;
  }
  const Entry* existing = slot->current.load(std::memory_order_relaxed);
  if (existing != nullptr && !existing->is_provisional && !replaces) return existing;
  if (existing != nullptr && existing->is_pinned && !entry.is_pinned) return existing;
  std::vector<std::unique_ptr<const Entry>>& later_entries = generations_.back().later_entries;
  later_entries.push_back(std::make_unique<const Entry>(entry));
  const Entry* later = later_entries.back().get();
  list.push_back(Inserted{key.hash, slot, later});
  slot->current.store(later, std::memory_order_release);
  if (existing == nullptr) {
    ++size_;
    num_selections_ += AloneInSelection(key);
  }
  return later;
}

void HitTable::Drop(const LaunchKey& key) {
  MutexLock lock(mutex_);
  Slot* slot = SlotOf(key);
  bool is_empty = slot->words()[0].load(std::memory_order_relaxed) == 0;
  if (is_empty || slot->current.load(std::memory_order_relaxed) == nullptr) return;
  slot->current.store(nullptr, std::memory_order_release);
  --size_;
  num_selections_ -= AloneInSelection(key);
}

std::optional<LaunchKey> HitTable::Oldest() {
  MutexLock lock(mutex_);
  while (!inserted_.empty() && !inserted_.front().is_current()) inserted_.pop_front();
  if (inserted_.empty()) return std::nullopt;
  return KeyOf(inserted_.front());
}

void HitTable::Keep() {
  MutexLock lock(mutex_);
  kept_.insert(kept_.end(), inserted_.begin(), inserted_.end());
  inserted_.clear();
}

void HitTable::KeepOldest() {
  MutexLock lock(mutex_);
  while (!inserted_.empty() && !inserted_.front().is_current()) inserted_.pop_front();
  if (inserted_.empty()) return;
  kept_.push_back(inserted_.front());
  inserted_.pop_front();
}

std::size_t HitTable::size() const {
  MutexLock lock(mutex_);
  return size_;
}

std::size_t HitTable::num_selections() const {
  MutexLock lock(mutex_);
  return num_selections_;
}

std::size_t HitTable::AloneInSelection(const LaunchKey& key) const {
  const LaunchKey selected = WithRole(key, LaunchKey::kTuned), fallback = WithRole(key, LaunchKey::kFallback);
  const bool is_selected = key.words[0] == selected.words[0];
  if (!is_selected && key.words[0] != fallback.words[0]) return 0;
  const Slot* other = SlotOf(is_selected ? fallback : selected);
  const bool has_entry = other->words()[0].load(std::memory_order_relaxed) != 0 &&
                         other->current.load(std::memory_order_relaxed) != nullptr;
  return has_entry ? 0 : 1;
}

std::vector<const ReadyKernel*> HitTable::Kernels() const {
  MutexLock lock(mutex_);
  std::vector<const ReadyKernel*> kernels;
  for (const std::deque<Inserted>* list : {&kept_, &inserted_}) {
    for (const Inserted& one : *list) {
      if (one.is_current()) kernels.push_back(one.entry->kernel);
    }
  }
  return kernels;
}

// This takes the lock of ReleaseOutgrown, so that a reader which begins after it finds the last generation.
void HitTable::BeginReading() const {
  MutexLock lock(mutex_);
  ++num_reading_;
}

void HitTable::EndReading() const {
  MutexLock lock(mutex_);
  --num_reading_;
}

void HitTable::ReleaseOutgrown() {
  MutexLock lock(mutex_);
  if (num_reading_ > 1) return;
  generations_.erase(generations_.begin(), generations_.begin() + static_cast<std::ptrdiff_t>(num_outgrown_before_));
  num_outgrown_before_ = 0;  // Set before anything that may throw in Rebuild.
  // A key that is dropped and inserted again reuses its slot but needs a new entry each time, so the table may contain
  // few keys after many insertions.
  const Generation& last = generations_.back();
  const std::size_t wanted = WantedSlots();
  if (last.later_entries.size() > wanted || last.slots->count > 2 * wanted) Rebuild();
  num_outgrown_before_ = generations_.size() - 1;
}

void HitTable::ReleaseRetired() {
  MutexLock lock(mutex_);
  Rebuild();
  generations_.erase(generations_.begin(), generations_.end() - 1);
  num_outgrown_before_ = 0;
}

}  // namespace v0
}  // namespace tuneonce
