// A store that is made in memory and becomes the bytes of a file: what `records pack` and `merge` write.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/file.h"
#include "store/shipped_selections.h"
#include "store/sqlite_store_fixture.h"
#include "testing/in_child.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
namespace {

using testing::ArtifactOf;
using testing::Record;

using StoreBytesTest = testing::SqliteStoreTest;

TEST_F(StoreBytesTest, WhatWasPutIntoMemoryIsInTheBytesAndNothingElse) {
  std::shared_ptr<SqliteStore> made = *SqliteStore::InMemory();
  ASSERT_OK(made->Put(Record(1)));
  ASSERT_OK(made->Put(Record(2)));
  ASSERT_OK(made->PutArtifact(Fingerprint{3, 1}, ArtifactOf(5000)));
  ASSERT_OK(made->PutArtifact(Fingerprint{3, 9}, ArtifactOf(100000, 'r')));
  std::size_t with_all = made->Bytes()->size();
  ASSERT_OK(made->Remove(Record(2).key));
  Result<TuningLease> lease = made->Lease(Record(1).key, WaitLimits());
  EXPECT_OK(lease);
  EXPECT_NE(access("(in memory).lock", F_OK), 0) << "no lock file is made";
  EXPECT_LE(made->Bytes()->size(), with_all);
  std::string bytes = *made->Bytes();
  std::shared_ptr<SqliteStore> read = *SqliteStore::FromBytes(bytes.data(), bytes.size());
  EXPECT_EQ(EncodeRecord(*read->Lookup(Record(1).key)->record), EncodeRecord(Record(1)));
  EXPECT_EQ(read->List()->size(), 1u);
  EXPECT_EQ((*read->GetArtifact(Fingerprint{3, 1}))->image, std::string(5000, 'x'));
  EXPECT_EQ(read->ArtifactKeys()->size(), 2u);
  EXPECT_TRUE(read->Verify()->problems.empty());
  EXPECT_ERROR(read->Put(Record(3)), StatusCode::kFailedPrecondition, "read-only");
  EXPECT_ERROR(Open()->Bytes(), StatusCode::kFailedPrecondition, "is a file, not in memory");
}

TEST_F(StoreBytesTest, AsAFileItIsReadByWhoMayNotWriteBesideItAndNothingIsMadeThere) {
  std::shared_ptr<SqliteStore> made = *SqliteStore::InMemory();
  ASSERT_OK(made->Put(Record(1, "shipped")));
  ASSERT_OK(made->Put(Record(2, "shipped")));
  ASSERT_OK(made->PutArtifact(Fingerprint{3, 1}, ArtifactOf(300)));
  const std::string folder = folder_->path() + "/share", file = folder + "/tuned.db";
  ASSERT_EQ(mkdir(folder.c_str(), 0755), 0);
  ASSERT_OK(WriteFile(file, *made->Bytes()));
  chmod(file.c_str(), 0444);
  chmod(folder.c_str(), 0555);
  chmod(folder_->path().c_str(), 0755);
  int read = testing::InChild([&] {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(testing::kCannotBeTested);
    SqliteStoreOptions options;
    options.path = file;
    options.read_only = true;
    Result<std::shared_ptr<SqliteStore>> shipped = SqliteStore::Open(options);
    EXPECT_OK(shipped);
    std::shared_ptr<SqliteStore> user = *SqliteStore::InMemory();
    EXPECT_OK(user->Put(Record(2, "user")));
    LayeredStore layered(user, {*shipped});
    RecordLookup found = *layered.Lookup(Record(1).key);
    EXPECT_EQ(found.record->best.config, testing::NamedConfig("shipped"));
    EXPECT_TRUE(found.is_shipped);
    EXPECT_EQ(layered.Lookup(Record(2).key)->record->best.config, testing::NamedConfig("user"));
    EXPECT_TRUE((*layered.GetArtifact(Fingerprint{3, 1})).has_value());
    EXPECT_TRUE((*shipped)->Verify()->problems.empty());
    EXPECT_ERROR((*shipped)->Put(Record(3)), StatusCode::kFailedPrecondition, "read-only");
    options.read_only = false;
    EXPECT_FALSE(SqliteStore::Open(options).ok());
  });
  EXPECT_EQ(read, 0);
  EXPECT_EQ(NamesIn(folder), std::vector<std::string>{"tuned.db"}) << "no log, no index, no lock";
  chmod(folder.c_str(), 0755);
}

TEST_F(StoreBytesTest, AsAFileOfItsOwnersItIsAStoreLikeAnyOther) {
  std::shared_ptr<SqliteStore> made = *SqliteStore::InMemory();
  ASSERT_OK(made->Put(Record(1)));
  ASSERT_EQ(mkdir((folder_->path() + "/cache").c_str(), 0700), 0);
  ASSERT_OK(WriteFile(path_, *made->Bytes()));
  chmod(path_.c_str(), 0600);
  ASSERT_OK(Open()->Put(Record(2)));
  EXPECT_EQ(Open()->List()->size(), 2u);
  EXPECT_EQ(NumSetAside(), 0);
}

/// Stores of formats that no release wrote; they are not read.
class OlderFormatTest : public testing::SqliteStoreTest, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    testing::SqliteStoreTest::SetUp();
    const std::string file = "/stores/format_" + std::to_string(GetParam()) + ".db";
    ASSERT_EQ(mkdir((folder_->path() + "/cache").c_str(), 0700), 0);
    ASSERT_OK(WriteFile(path_, *ReadFile(TUNEONCE_TEST_DATA + file)));
    chmod(path_.c_str(), 0600);
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, OlderFormatTest, ::testing::Values(2, 3));

TEST_P(OlderFormatTest, OpenedForReadingItIsRefusedAndStaysAsItIs) {
  const std::string before = *ReadFile(path_);
  SqliteStoreOptions options;
  options.path = path_;
  options.read_only = true;
  EXPECT_ERROR(SqliteStore::Open(options), StatusCode::kFailedPrecondition,
               "was written by an older version of tuneonce (format " + std::to_string(GetParam()));
  EXPECT_EQ(*ReadFile(path_), before);
}

TEST_P(OlderFormatTest, OpenedForWritingItIsSetAsideWithOneLineAndANewStoreTakesItsPlace) {
  const std::string before = *ReadFile(path_);
  ::testing::internal::CaptureStderr();
  std::shared_ptr<SqliteStore> store = Open();
  ASSERT_OK(store->Put(Record(1)));
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_NE(said.find("was written in format " + std::to_string(GetParam())), std::string::npos) << said;
  EXPECT_EQ(store->List()->size(), 1u);
  EXPECT_EQ(Open()->List()->size(), 1u) << "the new one is opened as it is";
  const std::vector<std::string> names = NamesIn(folder_->path() + "/cache");
  const auto aside = std::find_if(names.begin(), names.end(), [](const std::string& name) {
    return name.find(".format-") != std::string::npos && name.find("-wal") == std::string::npos &&
           name.find("-shm") == std::string::npos;
  });
  ASSERT_NE(aside, names.end());
  EXPECT_EQ(ReadFile(folder_->path() + "/cache/" + *aside)->size(), before.size());
}

/// The same of every store that is ours.
TEST_F(StoreBytesTest, EveryStoreSaysWhyNothingServes) {
  for (const std::shared_ptr<RecordStore>& store :
       {std::shared_ptr<RecordStore>(Open()), MakeMemoryStore(), std::shared_ptr<RecordStore>(*SqliteStore::InMemory()),
        MakeLayeredStore(MakeMemoryStore(), {MakeMemoryStore()})}) {
    const TuningKey key = Record(1).key;
    EXPECT_EQ(store->Lookup(key)->Miss(), RecordMiss::kNoRecord);
    ASSERT_OK(store->Put(Record(2)));
    EXPECT_EQ(store->Lookup(key)->Miss(), RecordMiss::kNoRecord);
    TuningRecord other = Record(1);
    other.key.kernel_fingerprint = {8, 8};
    ASSERT_OK(store->Put(other));
    EXPECT_EQ(store->Lookup(key)->Miss(), RecordMiss::kOtherSource);
    ASSERT_OK(store->Put(Record(1, "a", 13000, "B300")));
    EXPECT_EQ(store->Lookup(key)->Miss(), RecordMiss::kOtherDevice);
    ASSERT_OK(store->Put(Record(1, "a", 12000)));
    EXPECT_EQ(store->Lookup(key)->Miss(), RecordMiss::kOtherDriver);
    EXPECT_FALSE(store->Lookup(key)->IsPinned());
    TuningRecord cut = Record(1);
    cut.is_complete = false;
    cut.is_pinned = true;
    ASSERT_OK(store->Put(cut));
    EXPECT_EQ(store->Lookup(key)->Miss(), RecordMiss::kNone);
    EXPECT_TRUE(store->Lookup(key)->IsPinned());
    ASSERT_OK(store->Put(Record(1)));
    EXPECT_EQ(store->Lookup(key)->Miss(), RecordMiss::kNone);
    EXPECT_FALSE(store->Lookup(key)->IsPinned());
  }
}

TEST_F(StoreBytesTest, ADamagedRowIsRefusedInWordsAlsoInLayers) {
  {
    std::shared_ptr<SqliteStore> store = Open();
    ASSERT_OK(store->Put(Record(1)));
  }
  std::string content = *ReadFile(path_);
  for (std::size_t at; (at = content.find("TILE=1")) != std::string::npos;) content[at] = 'X';
  ASSERT_OK(WriteFile(path_, content));
  for (const char* suffix : {"-wal", "-shm"}) std::remove((path_ + suffix).c_str());
  RecordLookup lookup = *Open()->Lookup(Record(1).key);
  EXPECT_EQ(lookup.Miss(), RecordMiss::kRefused);
  EXPECT_EQ(lookup.detail, "a stored record has a wrong checksum");
  lookup = *MakeLayeredStore(MakeMemoryStore(), {Open()})->Lookup(Record(1).key);
  EXPECT_EQ(lookup.Miss(), RecordMiss::kRefused);
  EXPECT_EQ(lookup.detail, "a stored record has a wrong checksum");
}

}  // namespace
}  // namespace tuneonce
