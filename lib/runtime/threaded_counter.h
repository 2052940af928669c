#ifndef TUNEONCE_LIB_RUNTIME_THREADED_COUNTER_H_
#define TUNEONCE_LIB_RUNTIME_THREADED_COUNTER_H_

#include <atomic>
#include <cstdint>
#include <memory>

namespace tuneonce {
inline namespace v0 {

/// Counts from many threads without sharing a cache line. Each of the process's first threads has its own cell, which
/// only it writes, so that adding is a plain load and store. All other threads share one cell. Thread-safe. Sum may
/// miss additions that run at the same time.
class ThreadedCounter {
 public:
  ThreadedCounter() : cells_(new Cell[kOwnCells + 1]) {}

  [[gnu::always_inline]] void Add() {
    const std::uint32_t thread = this_thread_;
    if (thread >= kOwnCells) return AddForNewOrLate();
    std::atomic<std::int64_t>& count = cells_[thread].count;
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  std::int64_t Sum() const {
    std::int64_t sum = 0;
    for (std::uint32_t i = 0; i <= kOwnCells; ++i) sum += cells_[i].count.load(std::memory_order_relaxed);
    return sum;
  }

 private:
  static constexpr std::uint32_t kOwnCells = 63;
  struct alignas(64) Cell {
    std::atomic<std::int64_t> count{0};
  };

  /// Adds for a thread that has no number yet, or no cell of its own.
  [[gnu::noinline]] void AddForNewOrLate() {
    if (this_thread_ == kNone) {
      this_thread_ = next_thread_.fetch_add(1, std::memory_order_relaxed);
      if (this_thread_ < kOwnCells) return Add();
    }
    cells_[kOwnCells].count.fetch_add(1, std::memory_order_relaxed);
  }

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  /// The number of the calling thread, in the order in which threads first counted. Numbers are not reused, because
  /// that would need a destructor at the thread's end, and registering one allocates memory.
  inline static thread_local std::uint32_t this_thread_ = kNone;
  inline static std::atomic<std::uint32_t> next_thread_{0};

  std::unique_ptr<Cell[]> cells_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_THREADED_COUNTER_H_
