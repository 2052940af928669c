// What a store does with the file at its path: whose it is, links above it, and when it is moved, removed or replaced.
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "testing/device_test.h"
#include "testing/tools.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/sqlite_store.h"

namespace tuneonce {
namespace {

TuningRecord KeyedRecord(std::uint64_t word) {
  TuningRecord record;
  record.key.kernel = "k";
  record.key.key_words = {word};
  return record;
}

Artifact SmallArtifact() {
  Artifact artifact;
  artifact.image = "image";
  artifact.symbol = "k";
  return artifact;
}

/// What is in a folder: names and contents.
std::map<std::string, std::string> Contents(const std::string& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    contents[entry.path().filename()] = entry.is_regular_file() ? *ReadFile(entry.path()) : "";
  }
  return contents;
}

class StoreFileTest : public ::testing::Test {
 protected:
  StoreFileTest() { EXPECT_EQ(mkdir(cache_.c_str(), 0700), 0); }

  Result<std::shared_ptr<SqliteStore>> TryOpen(const std::string& path, bool read_only = false) {
    SqliteStoreOptions options;
    options.path = path;
    options.read_only = read_only;
    return SqliteStore::Open(options);
  }
  std::shared_ptr<SqliteStore> Open(const std::string& path) {
    Result<std::shared_ptr<SqliteStore>> store = TryOpen(path);
    EXPECT_OK(store);
    return store.ok() ? *store : nullptr;
  }
  void MakeDatabase(const std::string& path, const char* sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }

  TemporaryFolder folder_ = *testing::MakeFolder();
  std::string cache_ = folder_.path() + "/cache";
  std::string path_ = cache_ + "/store.db";
};

TEST_F(StoreFileTest, ForeignFilesAreRefusedInWordsAndNothingIsDoneToThem) {
  const std::map<std::string, std::function<void()>> cases = {
      {"a text",
       [&] { std::ofstream(path_) << "precious notes, longer than a header of SQLite: " << std::string(99, '.'); }},
      {"a short text", [&] { std::ofstream(path_) << "x"; }},
      {"zeros", [&] { std::ofstream(path_) << std::string(8192, '\0'); }},
      {"a database", [&] { MakeDatabase(path_, "CREATE TABLE mine(a); INSERT INTO mine VALUES(1)"); }},
      {"a database with a mark", [&] { MakeDatabase(path_, "PRAGMA application_id=7; CREATE TABLE mine(a)"); }},
      {"a database with our tables", [&] { MakeDatabase(path_, "CREATE TABLE records(a); PRAGMA user_version=1"); }},
      {"a folder", [&] { mkdir(path_.c_str(), 0700); }},
      {"a cut header", [&] { std::ofstream(path_) << std::string("SQLite format 3\0", 16); }},
  };
  for (const auto& [what, make] : cases) {
    make();
    chmod(path_.c_str(), 0700);
    std::map<std::string, std::string> before = Contents(cache_);
    for (bool read_only : {true, false}) {
      EXPECT_ERROR(TryOpen(path_, read_only), StatusCode::kFailedPrecondition, path_ + " is not a tuneonce store");
      EXPECT_EQ(Contents(cache_), before) << what;
    }
    for (const auto& [name, content] : Contents(cache_)) std::filesystem::remove_all(cache_ + "/" + name);
  }
}

TEST_F(StoreFileTest, AFifoIsRefusedWithoutWaiting) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_ERROR(TryOpen(path_), StatusCode::kFailedPrecondition, "is not a tuneonce store");
}

TEST_F(StoreFileTest, ADamagedHeaderIsSetAsideOnlyInTheFileThatWasTheStore) {
  ASSERT_OK(Open(path_)->Put(KeyedRecord(1)));
  { std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary) << "damage"; }
  ::testing::internal::CaptureStderr();
  EXPECT_NE(Open(path_), nullptr);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find(path_ + " is damaged; it was renamed to"), std::string::npos);
  auto set_aside = [&] {
    std::map<std::string, std::string> contents = Contents(cache_);
    return std::count_if(contents.begin(), contents.end(), [](const auto& file) {
      return file.first.find(".corrupt-") != std::string::npos && file.second.rfind("damage", 0) == 0;
    });
  };
  EXPECT_EQ(set_aside(), 1);
  std::filesystem::copy_file(path_, path_ + ".copy");
  { std::fstream(path_ + ".copy", std::ios::in | std::ios::out | std::ios::binary) << "damage"; }
  ASSERT_EQ(rename((path_ + ".copy").c_str(), path_.c_str()), 0);
  EXPECT_ERROR(TryOpen(path_), StatusCode::kFailedPrecondition, "is not a tuneonce store");
  EXPECT_EQ(set_aside(), 1) << "who knows where that one came from";
}

TEST_F(StoreFileTest, AStoreInUseIsReadWithItsLogAndWithoutBeingWritten) {
  auto writer = Open(path_);
  ASSERT_OK(writer->Put(KeyedRecord(1)));  // In the log only: nothing has played it into the file yet.
  std::map<std::string, std::string> before = Contents(cache_);
  {
    Result<std::shared_ptr<SqliteStore>> reader = TryOpen(path_, /*read_only=*/true);
    ASSERT_OK(reader);
    EXPECT_EQ((*reader)->Lookup(KeyedRecord(1).key)->match, RecordMatch::kExact);
    ASSERT_OK(writer->Put(KeyedRecord(2)));
    EXPECT_EQ((*reader)->Lookup(KeyedRecord(2).key)->match, RecordMatch::kExact);
    EXPECT_ERROR((*reader)->Put(KeyedRecord(3)), StatusCode::kFailedPrecondition, "read-only");
  }
  EXPECT_EQ(Contents(cache_)["store.db"], before["store.db"]);
  EXPECT_EQ(Contents(cache_).size(), before.size());
}

TEST_F(StoreFileTest, AReaderThatCannotReadTheLogGetsAnErrorAndNotLessRecords) {
  ASSERT_OK(Open(path_)->Put(KeyedRecord(1)));
  (void)std::remove((path_ + "-wal").c_str());
  ASSERT_EQ(mkdir((path_ + "-wal").c_str(), 0700), 0);  // Not readable as a log, even for root.
  EXPECT_ERROR(TryOpen(path_, /*read_only=*/true), StatusCode::kUnavailable, path_ + "-wal, that cannot be read");
}

TEST_F(StoreFileTest, AMissingShippedStoreIsNamed) {
  EXPECT_ERROR(TryOpen(path_, /*read_only=*/true), StatusCode::kNotFound, "no store at " + path_);
  EXPECT_TRUE(Contents(cache_).empty());
}

TEST_F(StoreFileTest, ASharedFolderIsRefusedWithWhatToDo) {
  std::string shared = folder_.path() + "/shared";
  ASSERT_EQ(mkdir(shared.c_str(), 0700), 0);
  ASSERT_EQ(chmod(shared.c_str(), 01777), 0);
  EXPECT_ERROR(TryOpen(shared + "/store.db"), StatusCode::kFailedPrecondition, "use a folder of your own inside it");
  EXPECT_NE(Open(shared + "/mine/store.db"), nullptr);
}

TEST_F(StoreFileTest, LinksAboveTheFolderAreFineAndTheFolderAndTheFileMayBeNone) {
  std::string home = folder_.path() + "/home";
  ASSERT_EQ(symlink(folder_.path().c_str(), home.c_str()), 0);
  for (const std::string& linked : {home + "/cache/store.db", home + "//cache//store.db", home + "/./cache/store.db",
                                    home + "/new/folder/store.db"}) {
    std::shared_ptr<SqliteStore> store = Open(linked);
    ASSERT_NE(store, nullptr) << linked;
    ASSERT_OK(store->Put(KeyedRecord(1)));
    ASSERT_OK(store->Lease(KeyedRecord(1).key, WaitLimits()));
    EXPECT_EQ(Open(RealPath(linked))->Lookup(KeyedRecord(1).key)->match, RecordMatch::kExact);
    Result<std::shared_ptr<SqliteStore>> reader = TryOpen(linked, /*read_only=*/true);
    ASSERT_OK(reader);
    EXPECT_EQ((*reader)->Lookup(KeyedRecord(1).key)->match, RecordMatch::kExact);
  }
  std::string last = folder_.path() + "/last";
  ASSERT_EQ(symlink(cache_.c_str(), last.c_str()), 0);
  for (const std::string& refused : {last + "/store.db", last + "//store.db"}) {
    EXPECT_ERROR(TryOpen(refused), StatusCode::kFailedPrecondition, "symbolic link");
  }
}

/// What a person or a script does to a store that is open.
struct Mischief {
  const char* name;
  std::function<void(const std::string& folder, const std::string& path)> act;
};

const Mischief kMischief[] = {
    {"the file was moved", [](auto&, auto& path) { std::filesystem::rename(path, path + ".moved"); }},
    {"the file is removed", [](auto&, auto& path) { std::filesystem::remove(path); }},
    {"all files are removed",
     [](auto& folder, auto&) {
       for (const auto& [name, content] : Contents(folder)) std::filesystem::remove(folder + "/" + name);
     }},
    {"the folder is moved", [](auto& folder, auto&) { std::filesystem::rename(folder, folder + ".moved"); }},
    {"the folder is removed", [](auto& folder, auto&) { std::filesystem::remove_all(folder); }},
};

TEST_F(StoreFileTest, WhatIsPutAfterTheFileIsGoneIsFoundByWhoOpensItsPath) {
  for (const Mischief& mischief : kMischief) {
    SCOPED_TRACE(mischief.name);
    std::shared_ptr<SqliteStore> store = Open(path_);
    ASSERT_OK(store->Put(KeyedRecord(1)));
    ASSERT_OK(store->PutArtifact(Fingerprint{1, 1}, SmallArtifact()));
    mischief.act(cache_, path_);
    ASSERT_OK(store->Put(KeyedRecord(2)));
    ASSERT_OK(store->PutArtifact(Fingerprint{2, 2}, SmallArtifact()));
    ASSERT_OK(store->Lease(KeyedRecord(2).key, WaitLimits()));
    std::shared_ptr<SqliteStore> other = Open(path_);
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(other->Lookup(KeyedRecord(2).key)->match, RecordMatch::kExact);
    EXPECT_TRUE((*other->GetArtifact(Fingerprint{2, 2})).has_value());
    EXPECT_EQ(other->Lookup(KeyedRecord(1).key)->match, RecordMatch::kNotFound);
    ASSERT_OK(other->Put(KeyedRecord(3)));
    EXPECT_EQ(store->Lookup(KeyedRecord(3).key)->match, RecordMatch::kExact);
    EXPECT_TRUE(other->Verify()->problems.empty());
  }
  EXPECT_EQ(Open(cache_ + ".moved/store.db")->Lookup(KeyedRecord(1).key)->match, RecordMatch::kExact)
      << "a folder that is moved takes its log along";
}

TEST_F(StoreFileTest, AFileThatIsReplacedByAnotherStoreIsNotMixedWithIt) {
  std::string backup = folder_.path() + "/backup/store.db";
  ASSERT_OK(Open(backup)->Put(KeyedRecord(7)));
  for (const char* suffix : {"-wal", "-shm", ".lock"}) std::remove((backup + suffix).c_str());
  std::shared_ptr<SqliteStore> store = Open(path_);
  for (std::uint64_t word = 100; word < 200; ++word) ASSERT_OK(store->Put(KeyedRecord(word)));
  std::filesystem::rename(backup, path_);  // FILE-wal stays: it is the other file's.
  EXPECT_EQ(store->Lookup(KeyedRecord(7).key)->match, RecordMatch::kExact);
  ASSERT_OK(store->Put(KeyedRecord(8)));
  std::shared_ptr<SqliteStore> other = Open(path_);
  EXPECT_EQ(other->List()->size(), 2u);
  EXPECT_TRUE(other->Verify()->problems.empty());
}

TEST_F(StoreFileTest, AStoreThatIsCopiedWithItsLogKeepsWhatIsInTheLog) {
  std::shared_ptr<SqliteStore> store = Open(path_);
  ASSERT_OK(store->Put(KeyedRecord(1)));
  std::string copy = folder_.path() + "/copy";
  std::filesystem::copy(cache_, copy, std::filesystem::copy_options::recursive);
  std::filesystem::permissions(copy, std::filesystem::perms::owner_all);
  EXPECT_EQ(Open(copy + "/store.db")->Lookup(KeyedRecord(1).key)->match, RecordMatch::kExact);
}

TEST_F(StoreFileTest, AnotherProcessesPutsFollowTheFileToo) {
  int go[2];
  int done[2];
  ASSERT_EQ(pipe(go), 0);
  ASSERT_EQ(pipe(done), 0);
  pid_t child = fork();
  if (child == 0) {
    close(go[1]);
    close(done[0]);
    SqliteStoreOptions options;
    options.path = path_;
    Result<std::shared_ptr<SqliteStore>> store = SqliteStore::Open(options);
    bool ok = store.ok();
    for (std::uint64_t word = 0; ok; ++word) {
      char said = (*store)->Put(KeyedRecord(word)).ok() ? 'y' : 'n';
      if (write(done[1], &said, 1) != 1 || read(go[0], &said, 1) != 1) break;
    }
    _exit(0);
  }
  close(go[0]);
  close(done[1]);
  for (std::uint64_t word = 0; word <= std::size(kMischief); ++word) {
    char said = 0;
    ASSERT_EQ(read(done[0], &said, 1), 1);
    EXPECT_EQ(said, 'y');
    std::shared_ptr<SqliteStore> store = Open(path_);
    EXPECT_EQ(store->Lookup(KeyedRecord(word).key)->match, RecordMatch::kExact) << word;
    ASSERT_OK(store->Put(KeyedRecord(1000 + word)));  // Both have it open.
    if (word < std::size(kMischief)) {
      SCOPED_TRACE(kMischief[word].name);
      kMischief[word].act(cache_, path_);
      EXPECT_OK(store->Put(KeyedRecord(2000)));
      EXPECT_EQ(Open(path_)->Lookup(KeyedRecord(2000).key)->match, RecordMatch::kExact);
    }
    ASSERT_EQ(write(go[1], &said, 1), 1);
  }
  for (int end : {go[1], done[0]}) close(end);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(Open(path_)->Verify()->problems.empty());
}

}  // namespace
}  // namespace tuneonce
