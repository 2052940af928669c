#include "runtime/hit_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "runtime/tune_once.h"

namespace tuneonce {
namespace {

ResidentKey Key(std::uint64_t a, std::uint64_t b) {
  ResidentKey key;
  key.words[0] = a;
  key.words[1] = b;
  key.count = 2;
  key.Seal();
  return key;
}

std::unique_ptr<ResidentKernel> Entry(const ResidentKey& key) {
  auto entry = std::make_unique<ResidentKernel>();
  entry->key = key;
  return entry;
}

TEST(HitTableTest, FindsWhatWasInsertedThroughManyGrowths) {
  HitTable table;
  constexpr std::uint64_t kCount = 5000;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(table.Find(Key(i, 0)), nullptr);
    const ResidentKernel* entry = table.Insert(Entry(Key(i, 0)));
    EXPECT_EQ(table.Find(Key(i, 0)), entry);
  }
  for (std::uint64_t i = 0; i < kCount; ++i) {
    ASSERT_NE(table.Find(Key(i, 0)), nullptr);
    EXPECT_EQ(table.Find(Key(i, 0))->key.words[0], i);
    EXPECT_EQ(table.Find(Key(i, 1)), nullptr);
  }
}

TEST(HitTableTest, TheFirstOfTwoEntriesWithOneKeyStays) {
  HitTable table;
  const ResidentKernel* first = table.Insert(Entry(Key(1, 2)));
  EXPECT_EQ(table.Insert(Entry(Key(1, 2))), first);
  EXPECT_EQ(table.Find(Key(1, 2)), first);
}

TEST(HitTableTest, KeysWithTheSameHashAreToldApart) {
  HitTable table;
  ResidentKey a = Key(1, 2);
  ResidentKey b = Key(3, 4);
  b.hash = a.hash;
  table.Insert(Entry(a));
  EXPECT_EQ(table.Find(b), nullptr);
  table.Insert(Entry(b));
  EXPECT_EQ(table.Find(a)->key.words[0], 1u);
  EXPECT_EQ(table.Find(b)->key.words[0], 3u);
}

TEST(HitTableTest, ReadersNeverMissWhatIsThereWhileWritersInsert) {
  HitTable table;
  std::atomic<std::uint64_t> inserted{0};
  std::atomic<bool> missed{false};
  std::vector<std::thread> readers;
  constexpr std::uint64_t kCount = 3000;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      while (inserted.load() < kCount) {
        std::uint64_t known = inserted.load();
        for (std::uint64_t i = 0; i < known; i += 7) {
          if (table.Find(Key(i, 5)) == nullptr) missed = true;
        }
      }
    });
  }
  for (std::uint64_t i = 0; i < kCount; ++i) {
    table.Insert(Entry(Key(i, 5)));
    inserted = i + 1;
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(missed.load());
}

TEST(TuneOnceTest, OneWorksAndTheOthersGetItsOutcome) {
  TuneOnce once;
  std::atomic<int> runs{0};
  std::atomic<int> waits{0};
  std::atomic<int> started{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      bool waited = false;
      ++started;
      Status status = once.Run({1, 2}, &waited, [&] {
        ++runs;
        while (started.load() < 6) std::this_thread::yield();
        return NotFoundError("the outcome");
      });
      EXPECT_EQ(status.message(), "the outcome");
      if (waited) ++waits;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runs.load() + waits.load(), 6);
  bool waited = true;
  EXPECT_TRUE(once.Run({1, 2}, &waited, [] { return Status(); }).ok()) << "nothing is remembered";
  EXPECT_FALSE(waited);
}

}  // namespace
}  // namespace tuneonce
