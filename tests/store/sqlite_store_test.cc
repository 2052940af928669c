#include "tuneonce/sqlite_store.h"

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
#include "store/layered_store.h"
#include "store/memory_store.h"
#include "store/store_place.h"
#include "testing/device_test.h"
#include "testing/in_child.h"
#include "testing/record_changes.h"
#include "testing/tools.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/record_store.h"

namespace tuneonce {
namespace {

TuningRecord Record(std::uint64_t word, const std::string& config = "TILE=1", int driver = 13000,
                    const std::string& device = "H200") {
  TuningRecord record;
  record.key.kernel = "k";
  record.key.kernel_fingerprint = Fingerprint{1, 2};
  record.key.key_words = {word, 7};
  record.key.key_text = "N=" + std::to_string(word);
  record.key.device_name = device;
  record.key.capability = 90;
  record.key.num_sms = 132;
  record.key.driver_version = driver;
  record.config = testing::NamedConfig(config);
  record.variant = "tile";
  record.measurement.mean_us = 1.5;
  record.measurement.error_margin_us = 0.25;
  record.measurement.num_samples = 3;
  record.speedup_over_baseline = 1.25;
  record.artifact = Fingerprint{3, word};
  record.baseline = RecordedBaseline{testing::NamedConfig("TILE=0"), "tile", Fingerprint{4, word}};
  record.timer = "cupti";
  record.host = "here";
  record.unix_seconds = 1700000000;
  return record;
}

Artifact ArtifactOf(std::size_t bytes, char fill = 'x') {
  Artifact artifact;
  artifact.image = std::string(bytes, fill);
  artifact.symbol = "k";
  artifact.code_fingerprint = Fingerprint{5, 6};
  return artifact;
}

class SqliteStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<TemporaryFolder> folder = testing::MakeFolder();
    ASSERT_OK(folder);
    folder_.emplace(*std::move(folder));
    path_ = folder_->path() + "/cache/store.db";
  }
  std::shared_ptr<SqliteStore> Open(std::int64_t max_bytes = 1 << 30) {
    SqliteStoreOptions options;
    options.path = path_;
    options.max_artifact_bytes = max_bytes;
    Result<std::shared_ptr<SqliteStore>> store = SqliteStore::Open(options);
    EXPECT_OK(store);
    return store.ok() ? *store : nullptr;
  }
  Status OpenError(const std::string& path) {
    SqliteStoreOptions options;
    options.path = path;
    return SqliteStore::Open(options).status();
  }
  int NumSetAside() {
    int count = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_->path() + "/cache")) {
      std::string name = file.path().filename();
      bool is_database =
          name.size() > 4 && name.find("-wal") == std::string::npos && name.find("-shm") == std::string::npos;
      count += is_database && name.find(".corrupt-") != std::string::npos ? 1 : 0;
    }
    return count;
  }

  std::optional<TemporaryFolder> folder_;
  std::string path_;
};

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
  EXPECT_EQ(store->Lookup(Record(1).key)->record->config, testing::NamedConfig("c"));
  ASSERT_OK(store->Put(Record(1, "d")));
  EXPECT_EQ(store->Lookup(Record(1).key)->record->config, testing::NamedConfig("d"))
      << "the newer one replaces the older one";
  EXPECT_EQ(store->List()->size(), 3u);
  ASSERT_OK(store->Remove(Record(1).key));
  EXPECT_EQ(store->Lookup(Record(1).key)->match, RecordMatch::kOtherDriver);
}

TEST_F(SqliteStoreTest, ArtifactsAreKeptBoundedAndLeastRecentlyUsedGoFirst) {
  auto store = Open(/*max_bytes=*/5000);
  for (std::uint64_t i = 0; i < 6; ++i) ASSERT_OK(store->Put(Fingerprint{i, 0}, ArtifactOf(1000)));
  int kept = 0;
  for (std::uint64_t i = 0; i < 6; ++i) kept += (*store->Get(Fingerprint{i, 0})).has_value() ? 1 : 0;
  EXPECT_EQ(kept, 4) << "each has about 1100 bytes";
  EXPECT_TRUE((*store->Get(Fingerprint{5, 0})).has_value()) << "the one just put";
  EXPECT_ERROR(store->Put(Fingerprint{9, 9}, ArtifactOf(6000)), StatusCode::kResourceExhausted, "larger than");
  EXPECT_EQ((*store->Get(Fingerprint{5, 0}))->image, std::string(1000, 'x'));
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
  soon.timeout_ms = 50;
  EXPECT_ERROR(store->Lease(Record(1).key, soon), StatusCode::kDeadlineExceeded, "another process");
  EXPECT_OK(store->Lease(Record(2).key, soon));  // Another key does not wait.
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  soon.timeout_ms = 1000;
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
      options.busy_timeout_ms = 60000;
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
    ASSERT_OK(store->Put(Fingerprint{1, 1}, ArtifactOf(300)));
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
      Result<std::optional<Artifact>> artifact = (*store)->Get(Fingerprint{1, 1});
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
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    // Mostly zeros: every byte that says something, and a sample of the rest.
    if (whole[byte] == 0 && random() % 40 != 0) continue;
    std::string damaged = whole;
    damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << (random() % 8)));
    check(damaged, "byte " + std::to_string(byte));
    if (HasFatalFailure()) return;
  }
  for (std::size_t size = 0; size < whole.size(); size += 1 + random() % 700) {
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

TEST_F(SqliteStoreTest, PlacesThatCannotBeTrustedAreRefusedInWords) {
  { ASSERT_OK(Open()->Put(Record(1))); }
  std::string folder = folder_->path() + "/cache";
  chmod(folder.c_str(), 0777);
  EXPECT_ERROR(OpenError(path_), StatusCode::kFailedPrecondition, "can be written by others");
  chmod(folder.c_str(), 0700);
  chmod(path_.c_str(), 0666);
  EXPECT_ERROR(OpenError(path_), StatusCode::kFailedPrecondition, "chmod go-w");
  chmod(path_.c_str(), 0600);
  std::string link = folder_->path() + "/link";
  ASSERT_EQ(symlink(folder.c_str(), link.c_str()), 0);
  EXPECT_ERROR(OpenError(link + "/store.db"), StatusCode::kFailedPrecondition, "symbolic link");
  std::string file_link = folder + "/link.db";
  ASSERT_EQ(symlink(path_.c_str(), file_link.c_str()), 0);
  EXPECT_ERROR(OpenError(file_link), StatusCode::kFailedPrecondition, "symbolic link");
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path_.c_str(), 12345, 12345), 0);
    EXPECT_ERROR(OpenError(path_), StatusCode::kFailedPrecondition, "belongs to user 12345");
    ASSERT_EQ(chown(path_.c_str(), 0, 0), 0);
  }
  EXPECT_ERROR(OpenError(folder_->path() + "/" + std::string(600, 'a') + "/store.db"), StatusCode::kInvalidArgument,
               "characters");
  EXPECT_ERROR(OpenError("/proc/nowhere/store.db"), StatusCode::kUnavailable, "/proc/nowhere");
}

TEST_F(SqliteStoreTest, OtherPeoplesDatabasesAndNewerFormatsAreLeftAlone) {
  { ASSERT_OK(Open()->Put(Record(1))); }
  auto patch = [&](long offset, unsigned char value) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offset);
    file.put(static_cast<char>(value));
  };
  for (const char* suffix : {"-wal", "-shm"}) std::remove((path_ + suffix).c_str());
  patch(63, 9);  // user_version, big-endian, at 60 to 63.
  EXPECT_ERROR(OpenError(path_), StatusCode::kFailedPrecondition, "a newer version of tuneonce (format 9");
  patch(63, 2);
  patch(71, 1);  // application_id, 68 to 71.
  EXPECT_ERROR(OpenError(path_), StatusCode::kFailedPrecondition, "is no store of tuneonce");
  EXPECT_EQ(NumSetAside(), 0);
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
    EXPECT_ERROR(store->Put(Fingerprint{1, 1}, ArtifactOf(300000)), StatusCode::kUnavailable, path_);
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

TEST_F(SqliteStoreTest, AShippedStoreIsReadFromAReadOnlyFolderUnderTheUsers) {
  {
    auto store = Open();
    ASSERT_OK(store->Put(Record(1, "shipped")));
    ASSERT_OK(store->Put(Fingerprint{1, 1}, ArtifactOf(10)));
  }
  for (const char* suffix : {"-wal", "-shm"}) std::remove((path_ + suffix).c_str());
  chmod((folder_->path() + "/cache").c_str(), 0500);
  SqliteStoreOptions options;
  options.path = path_;
  options.read_only = true;
  Result<std::shared_ptr<SqliteStore>> shipped = SqliteStore::Open(options);
  ASSERT_OK(shipped);
  EXPECT_ERROR((*shipped)->Put(Record(2)), StatusCode::kFailedPrecondition, "reading only");
  path_ = folder_->path() + "/user/store.db";
  auto user = Open();
  std::shared_ptr<RecordStore> layered = MakeLayeredStore(user, {*shipped});
  EXPECT_EQ(layered->Lookup(Record(1).key)->record->config, testing::NamedConfig("shipped"));
  EXPECT_TRUE((*layered->artifacts()->Get(Fingerprint{1, 1})).has_value());
  ASSERT_OK(layered->Put(Record(1, "user")));
  EXPECT_EQ(layered->Lookup(Record(1).key)->record->config, testing::NamedConfig("user"));
  EXPECT_EQ(layered->List()->size(), 2u);
  ASSERT_OK(layered->Remove(Record(1).key));
  EXPECT_EQ(layered->Lookup(Record(1).key)->record->config, testing::NamedConfig("shipped"));
  LayeredStore over_memory(std::make_shared<MemoryStore>(), {*shipped});
  EXPECT_EQ(over_memory.artifacts(), nullptr);
  chmod((*shipped)->path().substr(0, (*shipped)->path().rfind('/')).c_str(), 0700);
}

TEST_F(SqliteStoreTest, VerifyFindsWhatLookupsPassOver) {
  auto store = Open();
  ASSERT_OK(store->Put(Record(1)));
  ASSERT_OK(store->Put(Fingerprint{1, 1}, ArtifactOf(10)));
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
  EXPECT_EQ(store->Verify()->problems[0], "record 1: a stored record's checksum is wrong");
}

TEST_F(SqliteStoreTest, AClockThatGoesBackHidesNothing) {
  // As if all of this had been written and used ten years from now.
  {
    std::shared_ptr<SqliteStore> store = Open();
    TuningRecord record = Record(1, "TILE=1");
    record.unix_seconds = std::int64_t{1} << 33;
    ASSERT_OK(store->Put(record));
    ASSERT_OK(store->Put(Fingerprint{1, 1}, ArtifactOf(1000)));
  }
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "UPDATE artifacts SET used = 8589934592", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
  std::shared_ptr<SqliteStore> store = Open(/*max_bytes=*/2500);
  ASSERT_OK(store->Put(Record(1, "TILE=2")));
  EXPECT_EQ(store->Lookup(Record(1).key)->record->config, testing::NamedConfig("TILE=2"))
      << "the last one put, whatever its time";
  EXPECT_TRUE(store->Get(Fingerprint{1, 1})->has_value()) << "used now: no longer of the future";
  ASSERT_OK(store->Put(Fingerprint{2, 2}, ArtifactOf(1000)));
  EXPECT_TRUE(store->Get(Fingerprint{2, 2})->has_value()) << "what was just put is not what goes";
}

TEST_F(SqliteStoreTest, AStoreEmbeddedInAProgramIsRead) {
  {
    std::shared_ptr<SqliteStore> store = Open();
    ASSERT_OK(store->Put(Record(1)));
    ASSERT_OK(store->Put(Fingerprint{3, 1}, ArtifactOf(5000)));
  }
  std::ifstream file(path_, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Result<std::shared_ptr<SqliteStore>> embedded = SqliteStore::FromBytes(bytes.data(), bytes.size());
  ASSERT_OK(embedded);
  EXPECT_EQ((*embedded)->Lookup(Record(1).key)->match, RecordMatch::kExact);
  EXPECT_TRUE((*embedded)->Get(Fingerprint{3, 1})->has_value());
  EXPECT_ERROR((*embedded)->Put(Record(2)), StatusCode::kFailedPrecondition, "for reading only");
  LayeredStore layered(std::make_shared<MemoryStore>(), {*embedded});
  EXPECT_EQ(layered.Lookup(Record(1).key)->match, RecordMatch::kExact);
  for (std::size_t size : {std::size_t{0}, std::size_t{50}, std::size_t{100}, bytes.size() / 2}) {
    Result<std::shared_ptr<SqliteStore>> cut = SqliteStore::FromBytes(bytes.data(), size);
    EXPECT_TRUE(!cut.ok() || !(*cut)->Lookup(Record(1).key).ok() || (*cut)->Lookup(Record(1).key)->record) << size;
  }
  std::string noise(4096, 'n');
  EXPECT_ERROR(SqliteStore::FromBytes(noise.data(), noise.size()), StatusCode::kInvalidArgument, "(embedded)");
}

TEST(StorePlaceTest, NetworkFileSystemsAreKnownByTheirNumbers) {
  EXPECT_TRUE(IsNetworkFileSystem(0x6969)) << "NFS";
  EXPECT_TRUE(IsNetworkFileSystem(static_cast<unsigned long>(static_cast<int>(0xFF534D42)))) << "CIFS, sign-extended";
  EXPECT_FALSE(IsNetworkFileSystem(0xEF53)) << "ext4";
  EXPECT_FALSE(IsNetworkFileSystem(0x01021994)) << "tmpfs";
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
