#ifndef TUNEONCE_LIB_RUNTIME_HIT_TABLE_H_
#define TUNEONCE_LIB_RUNTIME_HIT_TABLE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/resident_kernel.h"

namespace tuneonce {

/// The resident kernels by key: insert-only, open addressing, at most half full. Find takes no lock and writes nothing
/// shared; entries and outgrown slot arrays live as long as the table, so that a reader never meets freed memory (the
/// outgrown ones add up to less than the current one). Thread-safe.
class HitTable {
 public:
  HitTable() : slots_(NewSlots(kInitialSlots)) {}

  /// The entry for `key`, or null.
  const ResidentKernel* Find(const ResidentKey& key) const {
    const Slots* slots = slots_.load(std::memory_order_acquire);
    for (std::size_t i = key.hash & slots->mask;; i = (i + 1) & slots->mask) {
      const ResidentKernel* entry = slots->entries[i].load(std::memory_order_acquire);
      if (entry == nullptr || entry->key == key) return entry;
    }
  }

  /// Publishes an entry. If its key is there already, the first one stays and is returned.
  const ResidentKernel* Insert(std::unique_ptr<const ResidentKernel> entry);

 private:
  static constexpr std::size_t kInitialSlots = 64;

  struct Slots {
    explicit Slots(std::size_t count) : mask(count - 1), entries(new std::atomic<const ResidentKernel*>[count]()) {}
    std::size_t mask;
    std::unique_ptr<std::atomic<const ResidentKernel*>[]> entries;
  };

  Slots* NewSlots(std::size_t count) {
    all_slots_.push_back(std::make_unique<Slots>(count));
    return all_slots_.back().get();
  }
  static void Place(Slots* slots, const ResidentKernel* entry);

  std::mutex mutex_;  // Of writers.
  std::vector<std::unique_ptr<Slots>> all_slots_;
  std::vector<std::unique_ptr<const ResidentKernel>> entries_;
  std::atomic<Slots*> slots_;
};

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_HIT_TABLE_H_
