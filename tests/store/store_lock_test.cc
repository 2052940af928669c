// Locks that others hold: what waits for them, for how long, and what it says. What must not wait for ever is waited
// for by a test for at most a while, after which the lock is released, so that the test ends.
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <future>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "store/store_place.h"
#include "testing/device_test.h"
#include "testing/tools.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/sqlite_store.h"

namespace tuneonce {
namespace {

constexpr std::chrono::seconds kAWhile(30);

TuningRecord LockedRecord(std::uint64_t word) {
  TuningRecord record;
  record.key.kernel = "k";
  record.key.key_words = {word};
  return record;
}

/// A write lock on the database, as another process's transaction holds it.
class WriteLock {
 public:
  explicit WriteLock(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &database_), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  }
  ~WriteLock() { sqlite3_close(database_); }

 private:
  sqlite3* database_ = nullptr;
};

/// An OFD lock on FILE.lock, as another process holds it: `length` 0 is the whole file.
class FileLock {
 public:
  FileLock(const std::string& path, std::int64_t start, std::int64_t length)
      : file_(open((path + ".lock").c_str(), O_RDWR | O_CREAT, 0600)) {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = start;
    lock.l_len = length;
    EXPECT_EQ(fcntl(file_, F_OFD_SETLK, &lock), 0);
  }
  ~FileLock() { close(file_); }

 private:
  int file_;
};

class StoreLockTest : public ::testing::Test {
 protected:
  Result<std::shared_ptr<SqliteStore>> Open(int first_retry_ms) {
    SqliteStoreOptions options;
    options.path = path_;
    options.first_retry = std::chrono::milliseconds(first_retry_ms);
    return SqliteStore::Open(options);
  }
  static constexpr int kNever = 1 << 30;

  TemporaryFolder folder_ = *testing::MakeFolder();
  std::string path_ = folder_.path() + "/cache/store.db";
  const std::string locked_ =
      path_ + " is locked by another process: records are kept in memory, and the store is tried again later";
};

// A process that closes a file loses all locks that it holds on it (POSIX): also those of its other store, whose log
// another process could then take for one that nobody uses.
TEST_F(StoreLockTest, OpeningAndClosingASecondStoreLeavesTheFirstItsLocks) {
  auto first = Open(kNever);
  ASSERT_OK(first);
  const int file = open(path_.c_str(), O_RDWR | O_CLOEXEC);  // Closed at the end: that would lose them, too.
  ASSERT_GE(file, 0);
  auto is_locked = [&] {
    // The bytes of SQLite's shared lock (its os.h). An OFD lock also meets its own process's POSIX locks.
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = 0x40000002;
    lock.l_len = 510;
    return fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  };
  EXPECT_TRUE(is_locked());
  EXPECT_OK(Open(kNever));
  EXPECT_TRUE(is_locked());
  EXPECT_TRUE(ReadMark(path_).ok());
  EXPECT_TRUE(is_locked());
  close(file);
}

TEST_F(StoreLockTest, OpeningDoesNotWaitForeverForWhoHoldsTheLockFile) {
  SqliteStoreOptions options;
  options.path = path_;
  ASSERT_OK(SqliteStore::Open(options));
  std::optional<FileLock> lock(std::in_place, path_, 0, 1);
  auto opened = std::async(std::launch::async, [&] { return SqliteStore::Open(options); });
  EXPECT_EQ(opened.wait_for(kAWhile), std::future_status::ready);
  lock.reset();
  ASSERT_OK(opened.get());
}

TEST_F(StoreLockTest, ALeaseDoesNotWaitForAProgramThatLocksTheWholeLockFile) {
  SqliteStoreOptions options;
  options.path = path_;
  Result<std::shared_ptr<SqliteStore>> store = SqliteStore::Open(options);
  ASSERT_OK(store);
  FileLock lock(path_, 0, 0);
  std::atomic<bool> cancelled{false};
  WaitLimits limits;
  limits.timeout = std::chrono::milliseconds(600000);
  limits.stop = &cancelled;
  auto leased = std::async(std::launch::async, [&] { return (*store)->Lease(LockedRecord(1).key, limits).status(); });
  EXPECT_EQ(leased.wait_for(kAWhile), std::future_status::ready);
  cancelled = true;
  EXPECT_ERROR(leased.get(), StatusCode::kUnavailable, "store.db.lock is locked by another program");
}

TEST_F(StoreLockTest, ALeaseSaysWhetherAnotherTunesTheKeyOrNobodyCanBeKeptOut) {
  Result<std::shared_ptr<SqliteStore>> one = Open(0);
  Result<std::shared_ptr<SqliteStore>> two = Open(0);
  ASSERT_OK(one);
  ASSERT_OK(two);
  WaitLimits at_once;
  at_once.timeout = std::chrono::milliseconds(0);
  Result<TuningLease> lease = (*one)->Lease(LockedRecord(1).key, at_once);
  ASSERT_OK(lease);
  EXPECT_ERROR((*one)->Lease(LockedRecord(1).key, at_once), StatusCode::kDeadlineExceeded, "another thread");
  EXPECT_ERROR((*two)->Lease(LockedRecord(1).key, at_once), StatusCode::kDeadlineExceeded, "another process");
  EXPECT_OK((*two)->Lease(LockedRecord(2).key, at_once));
  *lease = nullptr;
  EXPECT_OK((*two)->Lease(LockedRecord(1).key, at_once));
  ASSERT_EQ(unlink((path_ + ".lock").c_str()), 0);
  ASSERT_EQ(mkdir((path_ + ".lock").c_str(), 0700), 0);
  EXPECT_ERROR((*two)->Lease(LockedRecord(1).key, at_once), StatusCode::kUnavailable, ".lock cannot be opened");
}

TEST_F(StoreLockTest, ALockedStoreServesFromMemoryAndIsCaughtUp) {
  Result<std::shared_ptr<SqliteStore>> store = Open(/*first_retry_ms=*/0);
  ASSERT_OK(store);
  {
    WriteLock lock(path_);
    EXPECT_ERROR((*store)->Put(LockedRecord(1)), StatusCode::kUnavailable, locked_);
    EXPECT_EQ((*store)->Lookup(LockedRecord(1).key)->match, RecordMatch::kExact) << "from memory";
    EXPECT_ERROR((*store)->Put(LockedRecord(2)), StatusCode::kUnavailable, locked_);
    EXPECT_EQ((*store)->List()->size(), 0u) << "nothing else was acknowledged";
  }
  EXPECT_OK((*store)->Put(LockedRecord(3)));
  Result<std::shared_ptr<SqliteStore>> other = Open(0);
  ASSERT_OK(other);
  EXPECT_EQ((*other)->List()->size(), 3u) << "what was refused is written as soon as it can be";
}

TEST_F(StoreLockTest, WhatWasRefusedIsWrittenAtTheEndAtTheLatest) {
  Result<std::shared_ptr<SqliteStore>> store = Open(/*first_retry_ms=*/0);
  ASSERT_OK(store);
  {
    WriteLock lock(path_);
    EXPECT_ERROR((*store)->Put(LockedRecord(1)), StatusCode::kUnavailable, locked_);
  }
  *store = nullptr;
  EXPECT_EQ((*Open(0))->List()->size(), 1u);
}

TEST_F(StoreLockTest, AfterOneWaitThereIsNoOtherUntilItIsTimeToTryAgain) {
  Result<std::shared_ptr<SqliteStore>> store = Open(kNever);
  ASSERT_OK(store);
  {
    WriteLock lock(path_);
    EXPECT_ERROR((*store)->Put(LockedRecord(1)), StatusCode::kUnavailable, locked_);
  }
  // It would work now: that it fails shows that nothing was tried.
  EXPECT_ERROR((*store)->Put(LockedRecord(2)), StatusCode::kUnavailable, locked_);
  EXPECT_ERROR((*store)->Lookup(LockedRecord(3).key), StatusCode::kUnavailable, locked_);
  EXPECT_ERROR((*store)->GetArtifact(Fingerprint{1, 1}), StatusCode::kUnavailable, locked_);
  EXPECT_EQ((*store)->Lookup(LockedRecord(2).key)->match, RecordMatch::kExact) << "from memory";
}

TEST_F(StoreLockTest, AStoreThatIsLockedWhenItIsOpenedComesLater) {
  ASSERT_OK(Open(0));
  std::optional<FileLock> lock(std::in_place, path_, 0, 1);
  Result<std::shared_ptr<SqliteStore>> store = Open(/*first_retry_ms=*/0);
  ASSERT_OK(store);
  EXPECT_ERROR((*store)->Lookup(LockedRecord(1).key), StatusCode::kUnavailable, locked_);
  lock.reset();
  EXPECT_OK((*store)->Put(LockedRecord(1)));
  EXPECT_EQ((*store)->Lookup(LockedRecord(1).key)->match, RecordMatch::kExact);
}

// A search that ended while another process wrote to the file, and meanwhile a person pinned a config.
TEST_F(StoreLockTest, ARecordThatIsWrittenLateReplacesOnlyWhatItIsPreferredTo) {
  Result<std::shared_ptr<SqliteStore>> late = Open(0);
  Result<std::shared_ptr<SqliteStore>> other = Open(0);
  ASSERT_OK(late);
  ASSERT_OK(other);
  auto record = [](std::uint64_t word, std::int64_t seconds, bool is_pinned) {
    TuningRecord made = LockedRecord(word);
    made.unix_seconds = seconds;
    made.is_pinned = is_pinned;
    return made;
  };
  {
    const WriteLock lock(path_);
    for (std::uint64_t word : {1, 2, 3}) {
      EXPECT_ERROR((*late)->Put(record(word, 200, false)), StatusCode::kUnavailable, "locked");
    }
  }
  ASSERT_OK((*other)->Put(record(1, 100, true)));
  ASSERT_OK((*other)->Put(record(2, 300, false)));
  ASSERT_OK((*other)->Put(record(3, 100, false)));
  ASSERT_OK((*late)->Put(record(4, 400, false)));  // Writes the others, too.
  for (const auto& store : {*late, *other}) {
    auto found = [&](std::uint64_t word) { return store->Lookup(LockedRecord(word).key)->record; };
    EXPECT_TRUE(found(1)->is_pinned);
    EXPECT_EQ(found(2)->unix_seconds, 300) << "newer";
    EXPECT_EQ(found(3)->unix_seconds, 200);
    EXPECT_TRUE(found(4));
  }
}

}  // namespace
}  // namespace tuneonce
