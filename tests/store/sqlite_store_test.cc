#include "tuneonce/plugin/sqlite_store.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "store/memory_store.h"
#include "store/shipped_selections.h"
#include "store/sqlite_store_fixture.h"
#include "store/store_place.h"
#include "testing/device_test.h"
#include "testing/in_child.h"
#include "testing/record_changes.h"
#include "testing/sampling.h"
#include "testing/tools.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
namespace {

using testing::ArtifactOf;
using testing::Record;
using testing::SqliteStoreTest;

TEST_F(SqliteStoreTest, RecordsComeBackWholeInAnotherProcessesStore) {
  ASSERT_OK(Open()->Put(Record(1)));
  Result<RecordLookup> lookup = Open()->Lookup(Record(1).key);
  ASSERT_OK(lookup);
  EXPECT_EQ(lookup->match, RecordMatch::kExact);
  EXPECT_EQ(EncodeRecord(*lookup->record), EncodeRecord(Record(1)));
  EXPECT_EQ(Open()->Lookup(Record(2).key)->match, RecordMatch::kNotFound);
}

TEST_F(SqliteStoreTest, MatchesAsTheMemoryStoreDoes) {
  auto store = Open();
  ASSERT_OK(store->Put(Record(1, "a", 13000, "B200")));
  EXPECT_EQ(store->Lookup(Record(1).key)->match, RecordMatch::kOtherDevice);
  ASSERT_OK(store->Put(Record(1, "b", 12080)));
  EXPECT_EQ(store->Lookup(Record(1).key)->match, RecordMatch::kOtherDriver);
  ASSERT_OK(store->Put(Record(1, "c")));
  EXPECT_EQ(store->Lookup(Record(1).key)->record->best.config, testing::NamedConfig("c"));
  ASSERT_OK(store->Put(Record(1, "d")));
  EXPECT_EQ(store->Lookup(Record(1).key)->record->best.config, testing::NamedConfig("d"))
      << "the newer one replaces the older one";
  EXPECT_EQ(store->List()->size(), 3u);
  ASSERT_OK(store->Remove(Record(1).key));
  EXPECT_EQ(store->Lookup(Record(1).key)->match, RecordMatch::kOtherDriver);
}

TEST_F(SqliteStoreTest, ArtifactsAreKeptBoundedAndLeastRecentlyUsedGoFirst) {
  auto store = Open(/*max_bytes=*/5000);
  for (std::uint64_t i = 0; i < 6; ++i) ASSERT_OK(store->PutArtifact(Fingerprint{i, 0}, ArtifactOf(1000)));
  int kept = 0;
  for (std::uint64_t i = 0; i < 6; ++i) kept += (*store->GetArtifact(Fingerprint{i, 0})).has_value() ? 1 : 0;
  EXPECT_EQ(kept, 4) << "each has about 1100 bytes";
  EXPECT_TRUE((*store->GetArtifact(Fingerprint{5, 0})).has_value()) << "the one just put";
  EXPECT_ERROR(store->PutArtifact(Fingerprint{9, 9}, ArtifactOf(6000)), StatusCode::kResourceExhausted, "larger than");
  EXPECT_EQ((*store->GetArtifact(Fingerprint{5, 0}))->image, std::string(1000, 'x'));
}

TEST_F(SqliteStoreTest, ALeaseKeepsOtherProcessesOutAndDiesWithItsOwner) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    SqliteStoreOptions options;
    options.path = path_;
    Result<std::shared_ptr<SqliteStore>> store = SqliteStore::Open(options);
    Result<TuningLease> lease = (*store)->Lease(Record(1).key, WaitLimits());
    char said = lease.ok() ? 'y' : 'n';
    if (write(ready[1], &said, 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char said = 0;
  ASSERT_EQ(read(ready[0], &said, 1), 1);
  ASSERT_EQ(said, 'y');
  auto store = Open();
  WaitLimits soon;
  soon.timeout = std::chrono::milliseconds(50);
  EXPECT_ERROR(store->Lease(Record(1).key, soon), StatusCode::kDeadlineExceeded, "another process");
  EXPECT_OK(store->Lease(Record(2).key, soon));  // Another key does not wait.
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  soon.timeout = std::chrono::milliseconds(1000);
  EXPECT_OK(store->Lease(Record(1).key, soon));  // A killed owner is replaced within a second.
  close(ready[0]);
  close(ready[1]);
}

TEST_F(SqliteStoreTest, ThreadsWaitForEachOthersLease) {
  auto store = Open();
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      Result<TuningLease> lease = store->Lease(Record(1).key, WaitLimits());
      EXPECT_OK(lease);
      most = std::max(most.load(), ++inside);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      --inside;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

TEST_F(SqliteStoreTest, AStoreDoesNotCrossAFork) {
  auto store = Open();
  ASSERT_OK(store->Put(Record(1)));
  pid_t child = fork();
  if (child == 0) {
    Status status = store->Put(Record(2));
    bool said = status.code() == StatusCode::kFailedPrecondition &&
                status.message().find("opened before a fork") != std::string::npos;
    store = nullptr;  // Must not close the parent's connection.
    _exit(said ? 0 : 1);
  }
  int result = 0;
  waitpid(child, &result, 0);
  EXPECT_EQ(result, 0);
  EXPECT_OK(store->Put(Record(3)));
  EXPECT_EQ(store->List()->size(), 2u);
}

TEST_F(SqliteStoreTest, EveryAcknowledgedRecordSurvivesKill9) {
  Open();
  std::mt19937 random(1);
  std::uint64_t acknowledged = 0;
  for (int round = 0; round < 25; ++round) {
    int told[2];
    ASSERT_EQ(pipe(told), 0);
    pid_t child = fork();
    if (child == 0) {
      close(told[0]);
      SqliteStoreOptions options;
      options.path = path_;
      Result<std::shared_ptr<SqliteStore>> store = SqliteStore::Open(options);
      if (!store.ok()) _exit(1);
      for (std::uint64_t word = acknowledged;; ++word) {
        if (!(*store)->Put(Record(word)).ok() || write(told[1], &word, sizeof(word)) != sizeof(word)) _exit(1);
      }
    }
    close(told[1]);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 30));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (std::uint64_t word = 0; read(told[0], &word, sizeof(word)) == sizeof(word);) acknowledged = word + 1;
    close(told[0]);
  }
  auto store = Open();
  ASSERT_GT(acknowledged, 0u);
  for (std::uint64_t word = 0; word < acknowledged; ++word) {
    ASSERT_EQ(store->Lookup(Record(word).key)->match, RecordMatch::kExact) << word << " of " << acknowledged;
  }
  EXPECT_TRUE(store->Verify()->problems.empty());
  EXPECT_EQ(NumSetAside(), 0);
}

TEST_F(SqliteStoreTest, ManyProcessesLoseNothing) {
  constexpr int kProcesses = 8;
  constexpr int kEach = 100;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    pid_t child = fork();
    if (child == 0) {
      SqliteStoreOptions options;
      options.path = path_;
      options.busy_timeout = std::chrono::milliseconds(60000);
      Result<std::shared_ptr<SqliteStore>> store = SqliteStore::Open(options);
      bool ok = store.ok();
      for (int i = 0; ok && i < kEach; ++i) {
        ok = (*store)->Put(Record(static_cast<std::uint64_t>(process * kEach + i))).ok() &&
             (*store)->Lookup(Record(static_cast<std::uint64_t>(process * kEach)).key)->match == RecordMatch::kExact;
      }
      _exit(ok ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int result = 0;
    waitpid(child, &result, 0);
    EXPECT_EQ(result, 0);
  }
  EXPECT_EQ(Open()->List()->size(), static_cast<std::size_t>(kProcesses * kEach));
}

/// Every flipped bit and truncation of a small database: what is read is right or missing, and tuning goes on.
TEST_F(SqliteStoreTest, DamageIsAMissOrAClearReportAndNothingIsDeleted) {
  {
    auto store = Open();
    for (std::uint64_t word = 0; word < 3; ++word) ASSERT_OK(store->Put(Record(word)));
    ASSERT_OK(store->PutArtifact(Fingerprint{1, 1}, ArtifactOf(300)));
  }
  std::string whole = *ReadFile(path_);
  std::remove((path_ + "-wal").c_str());
  std::remove((path_ + "-shm").c_str());
  std::string expected = EncodeRecord(Record(1));
  int misses = 0, refused = 0, hits = 0;
  auto check = [&](const std::string& content, const std::string& what) {
    std::ofstream(path_, std::ios::binary) << content;
    chmod(path_.c_str(), 0600);
    SqliteStoreOptions options;
    options.path = path_;
    Result<std::shared_ptr<SqliteStore>> store = SqliteStore::Open(options);
    if (!store.ok()) {
      ++refused;
      EXPECT_NE(store.status().message().find(path_), std::string::npos) << what << store.status().ToString();
      EXPECT_EQ(*ReadFile(path_), content) << what << ": a refused file is left alone";
    } else {
      Result<RecordLookup> lookup = (*store)->Lookup(Record(1).key);
      if (lookup.ok() && lookup->match == RecordMatch::kExact) {
        ++hits;
        ASSERT_EQ(EncodeRecord(*lookup->record), expected) << what << ": a wrong hit";
      } else {
        ++misses;
      }
      Result<std::optional<Artifact>> artifact = (*store)->GetArtifact(Fingerprint{1, 1});
      if (artifact.ok() && artifact->has_value()) {
        EXPECT_EQ((*artifact)->image, std::string(300, 'x')) << what;
      }
      // Tuning goes on: with this store, or it says why not.
      Status put = (*store)->Put(Record(9));
      if (put.ok()) {
        Result<RecordLookup> found = (*store)->Lookup(Record(9).key);
        EXPECT_OK(found);
        EXPECT_TRUE(found.ok() && found->match == RecordMatch::kExact) << what << ": acknowledged, but lost";
      } else {
        EXPECT_NE(put.message().find(path_), std::string::npos) << what << put.ToString();
      }
    }
    for (const char* suffix : {"", "-wal", "-shm"}) std::remove((path_ + suffix).c_str());
  };
  std::mt19937 random(1);
  const std::size_t step = testing::StepUnlessWhole(8);
  for (std::size_t byte = 0; byte < whole.size(); byte += step) {
    // Mostly zeros: every byte that says something, and a sample of the rest.
    if (whole[byte] == 0 && random() % 40 != 0) continue;
    std::string damaged = whole;
    damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << (random() % 8)));
    check(damaged, "byte " + std::to_string(byte));
    if (HasFatalFailure()) return;
  }
  for (std::size_t size = 0; size < whole.size(); size += step * (1 + random() % 700)) {
    check(whole.substr(0, size), "cut at " + std::to_string(size));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(hits, 0);
  EXPECT_GT(misses, 0);
  EXPECT_GT(refused, 0);
  EXPECT_GT(NumSetAside(), 0);
}

TEST_F(SqliteStoreTest, ACorruptFileIsSetAsideWithAllInIt) {
  { ASSERT_OK(Open()->Put(Record(1))); }
  std::ofstream(path_, std::ios::binary) << std::string(8192, '#');
  chmod(path_.c_str(), 0600);
  auto store = Open();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->Lookup(Record(1).key)->match, RecordMatch::kNotFound);
  EXPECT_EQ(NumSetAside(), 1);
  EXPECT_OK(store->Put(Record(2)));
}

TEST_F(SqliteStoreTest, AFullDiskIsAnErrorAndLosesNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to mount a small file system";
  std::string mount = folder_->path() + "/small";
  ASSERT_EQ(mkdir(mount.c_str(), 0700), 0);
  if (::mount("tmpfs", mount.c_str(), "tmpfs", 0, "size=400k,mode=700") != 0) GTEST_SKIP() << "cannot mount";
  path_ = mount + "/store.db";
  {
    auto store = Open();
    ASSERT_NE(store, nullptr);
    std::uint64_t word = 0;
    Status put;
    while (put.ok() && word < 5000) put = store->Put(Record(word++));
    EXPECT_ERROR(put, StatusCode::kUnavailable, "is full");
    EXPECT_EQ(put.message().find("rollback"), std::string::npos) << put.ToString();
    EXPECT_ERROR(store->PutArtifact(Fingerprint{1, 1}, ArtifactOf(300000)), StatusCode::kUnavailable, path_);
    for (std::uint64_t i = 0; i + 1 < word; ++i) EXPECT_EQ(store->Lookup(Record(i).key)->match, RecordMatch::kExact);
  }
  EXPECT_EQ(umount(mount.c_str()), 0);
}

TEST_F(SqliteStoreTest, WhatCouldNotBeMadeWholeIsNotTakenForAForeignFileLater) {
  SqliteStoreOptions options;
  options.path = path_;
  int cut = testing::InChild([&] {
    const rlimit limit{1, 1};  // One byte of SQLite's header, and no mark in FILE.lock.
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_IGN);
    EXPECT_ERROR(SqliteStore::Open(options).status(), StatusCode::kUnavailable, path_);
  });
  EXPECT_EQ(cut, 0);
  auto store = Open();
  ASSERT_NE(store, nullptr);
  EXPECT_OK(store->Put(Record(1)));
}

TEST_F(SqliteStoreTest, VerifyFindsWhatLookupsPassOver) {
  auto store = Open();
  ASSERT_OK(store->Put(Record(1)));
  ASSERT_OK(store->PutArtifact(Fingerprint{1, 1}, ArtifactOf(10)));
  Result<StoreReport> report = store->Verify();
  ASSERT_OK(report);
  EXPECT_EQ(report->num_records, 1);
  EXPECT_EQ(report->num_artifacts, 1);
  EXPECT_GT(report->artifact_bytes, 10);
  EXPECT_TRUE(report->problems.empty());
  store = nullptr;
  std::string content = *ReadFile(path_);
  std::size_t at = content.find("TILE=1");
  ASSERT_NE(at, std::string::npos);
  content[at] = 'X';
  std::ofstream(path_, std::ios::binary) << content;
  store = Open();
  EXPECT_EQ(store->Lookup(Record(1).key)->match, RecordMatch::kNotFound);
  ASSERT_EQ(store->Verify()->problems.size(), 1u);
  EXPECT_EQ(store->Verify()->problems[0], "record 1: a stored record has a wrong checksum");
}

TEST_F(SqliteStoreTest, AClockThatGoesBackHidesNothing) {
  // As if all of this had been written and used ten years from now.
  {
    std::shared_ptr<SqliteStore> store = Open();
    TuningRecord record = Record(1, "TILE=1");
    record.unix_seconds = std::int64_t{1} << 33;
    ASSERT_OK(store->Put(record));
    ASSERT_OK(store->PutArtifact(Fingerprint{1, 1}, ArtifactOf(1000)));
  }
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "UPDATE artifacts SET used = 8589934592", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
  std::shared_ptr<SqliteStore> store = Open(/*max_bytes=*/2500);
  ASSERT_OK(store->Put(Record(1, "TILE=2")));
  EXPECT_EQ(store->Lookup(Record(1).key)->record->best.config, testing::NamedConfig("TILE=2"))
      << "the last one put, whatever its time";
  EXPECT_TRUE(store->GetArtifact(Fingerprint{1, 1})->has_value()) << "used now: no longer of the future";
  ASSERT_OK(store->PutArtifact(Fingerprint{2, 2}, ArtifactOf(1000)));
  EXPECT_TRUE(store->GetArtifact(Fingerprint{2, 2})->has_value()) << "what was just put is not what goes";
}

TEST(RecordEncodingTest, WhatIsCutOrChangedIsRefused) {
  std::string bytes = EncodeRecord(Record(1));
  EXPECT_OK(DecodeRecord(bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(DecodeRecord(bytes.substr(0, size)).ok()) << size;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(DecodeRecord(changed).ok()) << i;
  }
}

}  // namespace
}  // namespace tuneonce
