#include "runtime/hit_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tuneonce {
namespace {

LaunchKey Key(const std::vector<std::uint64_t>& words) {
  LaunchKey key;
  KeyWriter writer(&key);
  for (std::uint64_t word : words) writer.Add(word);
  writer.Finish();
  return key;
}
/// A key's first word is never 0.
LaunchKey Key(std::uint64_t a, std::uint64_t b) { return Key({a + 1, b}); }

HitTable::Entry Runs(const ReadyKernel& kernel) { return HitTable::Entry{&kernel, {}, false, false}; }
HitTable::Entry Waits(const ReadyKernel& kernel) { return HitTable::Entry{&kernel, {}, false, true}; }

/// What the key runs, or null.
const ReadyKernel* FindIn(const HitTable& table, const LaunchKey& key) {
  const HitTable::Entry* entry = table.Find(key);
  return entry == nullptr ? nullptr : entry->kernel;
}

TEST(HitTableTest, FindsWhatWasInsertedThroughManyGrowths) {
  HitTable table(2);
  constexpr std::uint64_t kCount = 5000;
  std::vector<ReadyKernel> kernels(kCount);
  for (std::uint64_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(FindIn(table, Key(i, 0)), nullptr);
    EXPECT_EQ(table.Insert(Key(i, 0), Runs(kernels[i]))->kernel, &kernels[i]);
    EXPECT_EQ(FindIn(table, Key(i, 0)), &kernels[i]);
  }
  for (std::uint64_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(FindIn(table, Key(i, 0)), &kernels[i]);
    EXPECT_EQ(FindIn(table, Key(i, 1)), nullptr);
  }
}

TEST(HitTableTest, TheFirstOfTwoEntriesWithOneKeyStays) {
  HitTable table(2);
  ReadyKernel first, second;
  EXPECT_EQ(table.Insert(Key(1, 2), Runs(first))->kernel, &first);
  EXPECT_EQ(table.Insert(Key(1, 2), Runs(second))->kernel, &first);
  EXPECT_EQ(FindIn(table, Key(1, 2)), &first);
}

TEST(HitTableTest, WhatReplacesAnEntryGivesWayToAPinnedOneOnly) {
  HitTable table(2);
  std::vector<ReadyKernel> kernels(5);
  auto pinned = [&](std::size_t i) { return HitTable::Entry{&kernels[i], {}, false, false, true}; };
  table.Insert(Key(1, 2), Runs(kernels[0]));
  EXPECT_EQ(table.Replace(Key(1, 2), Runs(kernels[1]))->kernel, &kernels[1]);
  EXPECT_EQ(FindIn(table, Key(1, 2)), &kernels[1]);
  EXPECT_EQ(table.Replace(Key(1, 2), pinned(2))->kernel, &kernels[2]);
  EXPECT_EQ(table.Replace(Key(1, 2), Runs(kernels[3]))->kernel, &kernels[2]) << "a search that ends later";
  EXPECT_EQ(table.Insert(Key(1, 2), Runs(kernels[3]))->kernel, &kernels[2]);
  EXPECT_EQ(table.Replace(Key(1, 2), pinned(4))->kernel, &kernels[4]);
  EXPECT_EQ(table.size(), 1u);
  // Through a growth, and when what it replaced is released.
  for (std::uint64_t i = 0; i < 300; ++i) table.Insert(Key(i, 9), Runs(kernels[0]));
  table.ReleaseRetired();
  EXPECT_EQ(FindIn(table, Key(1, 2)), &kernels[4]);
  table.Drop(Key(1, 2));
  EXPECT_EQ(FindIn(table, Key(1, 2)), nullptr);
  EXPECT_EQ(table.Insert(Key(1, 2), Runs(kernels[3]))->kernel, &kernels[3]);
}

TEST(HitTableTest, PinnedEntriesAndThoseThatAreKeptAreNeverTheOldest) {
  HitTable table(2);
  ReadyKernel kernel;
  table.Replace(Key(1, 0), HitTable::Entry{&kernel, {}, false, false, true});
  EXPECT_FALSE(table.Oldest());
  for (std::uint64_t i = 2; i <= 4; ++i) table.Insert(Key(i, 0), Runs(kernel));
  ASSERT_TRUE(table.Oldest());
  EXPECT_EQ(table.Oldest()->words[0], Key(2, 0).words[0]);
  table.KeepOldest();
  EXPECT_EQ(table.Oldest()->words[0], Key(3, 0).words[0]);
  table.Replace(Key(3, 0), HitTable::Entry{&kernel, {}, false, false, true});
  EXPECT_EQ(table.Oldest()->words[0], Key(4, 0).words[0]);
  table.KeepOldest();
  EXPECT_FALSE(table.Oldest());
  table.KeepOldest();
  EXPECT_EQ(table.size(), 4u);
}

TEST(HitTableTest, KeysWithTheSameHashAreToldApart) {
  HitTable table(2);
  std::vector<ReadyKernel> kernels(9);
  std::vector<LaunchKey> keys;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    keys.push_back(Key(i, 2));
    keys.back().hash = keys.front().hash;
    EXPECT_EQ(FindIn(table, keys[i]), nullptr);
    table.Insert(keys[i], Runs(kernels[i]));
    for (std::size_t j = 0; j <= i; ++j) EXPECT_EQ(FindIn(table, keys[j]), &kernels[j]);
  }
}

TEST(HitTableTest, AFullTableOfOneHashGrows) {
  HitTable table(2);
  ReadyKernel kernel;
  LaunchKey key = Key(0, 2);
  for (std::uint64_t i = 0; i < 300; ++i) {
    key.words[0] = 1 + i;
    table.Insert(key, Runs(kernel));
  }
  for (std::uint64_t i = 0; i < 301; ++i) {
    key.words[0] = 1 + i;
    EXPECT_EQ(FindIn(table, key), i < 300 ? &kernel : nullptr) << i;
  }
}

TEST(HitTableTest, LongKeysAreToldApartByTheirLastWord) {
  ReadyKernel first, second;
  for (std::size_t count : {5u, 6u, 13u, 14u, 30u}) {
    HitTable table(count);
    LaunchKey a = Key(std::vector<std::uint64_t>(count, 7));
    LaunchKey b = a;
    b.words[count - 1] += 1;  // With the hash of `a`.
    EXPECT_EQ(table.Insert(a, Runs(first))->kernel, &first);
    EXPECT_EQ(FindIn(table, b), nullptr) << count;
    EXPECT_EQ(table.Insert(b, Runs(second))->kernel, &second);
    EXPECT_EQ(FindIn(table, a), &first);
    EXPECT_EQ(FindIn(table, b), &second);
  }
}

TEST(HitTableTest, AProvisionalEntryIsReplacedByOnePointerAndWhoHasItKeepsIt) {
  HitTable table(2);
  ReadyKernel fallback, chosen, other;
  const HitTable::Entry* waits = table.Insert(Key(1, 2), Waits(fallback));
  EXPECT_EQ(table.Insert(Key(1, 2), Runs(chosen))->kernel, &chosen);
  EXPECT_EQ(waits->kernel, &fallback);
  EXPECT_EQ(table.Insert(Key(1, 2), Runs(other))->kernel, &chosen) << "it waits no more";
  EXPECT_EQ(table.Insert(Key(1, 2), Waits(other))->kernel, &chosen);
  EXPECT_EQ(table.size(), 1u);
}

TEST(HitTableTest, ADroppedKeyRunsNothingUntilItIsInsertedAgain) {
  HitTable table(2);
  ReadyKernel kernel, other;
  table.Drop(Key(1, 2));
  table.Insert(Key(1, 2), Runs(kernel));
  table.Insert(Key(3, 4), Runs(other));
  table.Drop(Key(1, 2));
  EXPECT_EQ(FindIn(table, Key(1, 2)), nullptr);
  EXPECT_EQ(FindIn(table, Key(3, 4)), &other);
  EXPECT_EQ(table.size(), 1u);
  table.Insert(Key(1, 2), Runs(other));
  EXPECT_EQ(FindIn(table, Key(1, 2)), &other);
  EXPECT_EQ(table.size(), 2u);
}

TEST(HitTableTest, TheOldestIsTheFirstThatWasInsertedOfThoseThatAreThere) {
  HitTable table(2);
  ReadyKernel kernel;
  EXPECT_FALSE(table.Oldest());
  for (std::uint64_t i = 0; i < 300; ++i) table.Insert(Key(i, 7), Runs(kernel));  // Through growths.
  table.Drop(Key(0, 7));
  table.Drop(Key(2, 7));
  table.Insert(Key(0, 7), Runs(kernel));
  for (std::uint64_t expected : {1u, 3u, 4u}) {
    ASSERT_TRUE(table.Oldest());
    EXPECT_EQ(table.Oldest()->words[0], expected + 1);
    EXPECT_EQ(table.Oldest()->words[1], 7u);
    EXPECT_NE(table.Find(*table.Oldest()), nullptr) << "its hash is there too";
    table.Drop(*table.Oldest());
  }
}

TEST(HitTableTest, ReleasedOfWhatRetiredItHoldsWhatIsCurrent) {
  HitTable table(2);
  constexpr std::uint64_t kCount = 1000;
  std::vector<ReadyKernel> kernels(kCount);
  ReadyKernel fallback;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    table.Insert(Key(i, 0), Waits(fallback));
    table.Insert(Key(i, 0), Runs(kernels[i]));
    if (i % 3 == 0) table.Drop(Key(i, 0));
  }
  table.ReleaseRetired();
  std::vector<const ReadyKernel*> expected;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(FindIn(table, Key(i, 0)), i % 3 == 0 ? nullptr : &kernels[i]);
    if (i % 3 != 0) expected.push_back(&kernels[i]);
  }
  EXPECT_EQ(table.Kernels(), expected);
  EXPECT_EQ(table.size(), expected.size());
}

TEST(HitTableTest, KeysThatComeAndGoDoNotFillTheTable) {
  HitTable table(2);
  ReadyKernel kernel;
  for (std::uint64_t i = 0; i < 20000; ++i) {  // A full table of dropped keys would never end a search.
    table.Insert(Key(i, 0), Runs(kernel));
    if (i >= 10) table.Drop(Key(i - 10, 0));
  }
  EXPECT_EQ(table.size(), 10u);
  EXPECT_EQ(FindIn(table, Key(19999, 0)), &kernel);
  EXPECT_EQ(FindIn(table, Key(19989, 0)), nullptr);
}

TEST(HitTableTest, WhatWasOutgrownIsThereUntilTheSecondReleaseAndWhatIsCurrentAfterIt) {
  HitTable table(2);
  std::vector<ReadyKernel> kernels(1000);
  const HitTable::Entry* first = table.Insert(Key(0, 0), Runs(kernels[0]));
  for (std::uint64_t i = 1; i < kernels.size(); ++i) table.Insert(Key(i, 0), Runs(kernels[i]));  // Outgrows its slot.
  table.Replace(Key(1, 0), HitTable::Entry{&kernels[0], {}, false, false, true});
  table.BeginReading();
  table.ReleaseOutgrown();
  EXPECT_EQ(first->kernel, &kernels[0]);
  table.BeginReading();  // By another thread.
  for (int i = 0; i < 3; ++i) table.ReleaseOutgrown();
  EXPECT_EQ(first->kernel, &kernels[0]) << "it may look at it";
  table.EndReading();
  for (int i = 0; i < 3; ++i) table.ReleaseOutgrown();
  for (std::uint64_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(FindIn(table, Key(i, 0)), &kernels[i == 1 ? 0 : i]) << i;
  }
  while (table.size() > 10) table.Drop(*table.Oldest());
  for (int i = 0; i < 3; ++i) table.ReleaseOutgrown();  // Makes a smaller table.
  for (std::uint64_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(FindIn(table, Key(i, 0)) != nullptr, i == 1 || i >= kernels.size() - 9) << i;
  }
}

TEST(HitTableTest, ReadersMeetOnlyWhatAKeyRanOrRunsWhileItIsReplacedAndDropped) {
  HitTable table(2);
  ReadyKernel fallback, chosen;
  std::atomic<bool> done{false}, strange{false};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      while (!done) {
        for (std::uint64_t i = 0; i < 8; ++i) {
          const HitTable::Entry* entry = table.Find(Key(i, 5));
          if (entry == nullptr) continue;
          bool is_whole = entry->is_provisional ? entry->kernel == &fallback : entry->kernel == &chosen;
          if (!is_whole) strange = true;
        }
      }
    });
  }
  for (int round = 0; round < 2000; ++round) {
    for (std::uint64_t i = 0; i < 8; ++i) table.Insert(Key(i, 5), Waits(fallback));
    for (std::uint64_t i = 0; i < 8; ++i) table.Insert(Key(i, 5), Runs(chosen));
    for (std::uint64_t i = 0; i < 8; ++i) table.Drop(Key(i, 5));
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(strange.load());
}

TEST(HitTableTest, ReadersNeverMissWhatIsThereWhileWritersInsert) {
  HitTable table(2);
  ReadyKernel kernel;
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
    table.Insert(Key(i, 5), Runs(kernel));
    inserted = i + 1;
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(missed.load());
}

}  // namespace
}  // namespace tuneonce
