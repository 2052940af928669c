#include "runtime/hit_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

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

TEST(HitTableTest, FindsWhatWasInsertedThroughManyGrowths) {
  HitTable table;
  constexpr std::uint64_t kCount = 5000;
  std::vector<ResidentKernel> kernels(kCount);
  for (std::uint64_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(table.Find(Key(i, 0)), nullptr);
    EXPECT_EQ(table.Insert(Key(i, 0), &kernels[i]), &kernels[i]);
    EXPECT_EQ(table.Find(Key(i, 0)), &kernels[i]);
  }
  for (std::uint64_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(table.Find(Key(i, 0)), &kernels[i]);
    EXPECT_EQ(table.Find(Key(i, 1)), nullptr);
  }
}

TEST(HitTableTest, TheFirstOfTwoEntriesWithOneKeyStays) {
  HitTable table;
  ResidentKernel first, second;
  EXPECT_EQ(table.Insert(Key(1, 2), &first), &first);
  EXPECT_EQ(table.Insert(Key(1, 2), &second), &first);
  EXPECT_EQ(table.Find(Key(1, 2)), &first);
}

TEST(HitTableTest, KeysWithTheSameHashAreToldApart) {
  HitTable table;
  ResidentKernel first, second;
  ResidentKey a = Key(1, 2);
  ResidentKey b = Key(3, 4);
  b.hash = a.hash;
  table.Insert(a, &first);
  EXPECT_EQ(table.Find(b), nullptr);
  table.Insert(b, &second);
  EXPECT_EQ(table.Find(a), &first);
  EXPECT_EQ(table.Find(b), &second);
}

TEST(HitTableTest, LongKeysAreToldApartByTheirLastWord) {
  HitTable table;
  ResidentKernel first, second;
  for (std::size_t count : {5u, 6u, 7u, 30u}) {
    ResidentKey a = Key(count, 2);
    for (std::size_t i = 2; i < count; ++i) a.words[i] = i;
    a.count = count;
    a.Seal();
    ResidentKey b = a;
    b.words[count - 1] += 1;  // With the hash of `a`.
    EXPECT_EQ(table.Insert(a, &first), &first);
    EXPECT_EQ(table.Find(b), nullptr) << count;
    EXPECT_EQ(table.Insert(b, &second), &second);
    EXPECT_EQ(table.Find(a), &first);
    EXPECT_EQ(table.Find(b), &second);
  }
}

TEST(HitTableTest, ReadersNeverMissWhatIsThereWhileWritersInsert) {
  HitTable table;
  ResidentKernel kernel;
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
    table.Insert(Key(i, 5), &kernel);
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
