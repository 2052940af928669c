// Where a store lies: places that are refused, files that are not ours, and stores that an application ships.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "store/memory_store.h"
#include "store/shipped_selections.h"
#include "store/sqlite_store_fixture.h"
#include "store/store_place.h"
#include "testing/in_child.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
namespace {

using testing::ArtifactOf;
using testing::Record;
using testing::SqliteStoreTest;

using StorePlacesTest = SqliteStoreTest;

TEST_F(StorePlacesTest, PlacesThatCannotBeTrustedAreRefusedInWords) {
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
  EXPECT_ERROR(OpenError(path_ + std::string("\0b", 2)), StatusCode::kInvalidArgument, "contains a NUL byte");
  EXPECT_ERROR(OpenError("/proc/nowhere/store.db"), StatusCode::kUnavailable, "/proc/nowhere");
}

TEST_F(StorePlacesTest, OtherPeoplesDatabasesAndNewerFormatsAreLeftAlone) {
  { ASSERT_OK(Open()->Put(Record(1))); }
  auto patch = [&](long offset, unsigned char value) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offset);
    file.put(static_cast<char>(value));
  };
  for (const char* suffix : {"-wal", "-shm"}) std::remove((path_ + suffix).c_str());
  patch(63, 9);  // user_version, big-endian, at 60 to 63.
  EXPECT_ERROR(OpenError(path_), StatusCode::kFailedPrecondition, "a newer version of tuneonce (format 9");
  patch(63, 3);
  patch(71, 1);  // application_id, 68 to 71.
  EXPECT_ERROR(OpenError(path_), StatusCode::kFailedPrecondition, "is not a tuneonce store");
  EXPECT_EQ(NumSetAside(), 0);
}

TEST_F(StorePlacesTest, AShippedStoreIsReadFromAReadOnlyFolderUnderTheUsers) {
  {
    auto store = Open();
    ASSERT_OK(store->Put(Record(1, "shipped")));
    ASSERT_OK(store->PutArtifact(Fingerprint{1, 1}, ArtifactOf(10)));
  }
  for (const char* suffix : {"-wal", "-shm"}) std::remove((path_ + suffix).c_str());
  chmod((folder_->path() + "/cache").c_str(), 0500);
  SqliteStoreOptions options;
  options.path = path_;
  options.read_only = true;
  Result<std::shared_ptr<SqliteStore>> shipped = SqliteStore::Open(options);
  ASSERT_OK(shipped);
  EXPECT_ERROR((*shipped)->Put(Record(2)), StatusCode::kFailedPrecondition, "read-only");
  path_ = folder_->path() + "/user/store.db";
  auto user = Open();
  std::shared_ptr<RecordStore> layered = MakeLayeredStore(user, {*shipped});
  EXPECT_EQ(layered->Lookup(Record(1).key)->record->best.config, testing::NamedConfig("shipped"));
  EXPECT_TRUE((*layered->GetArtifact(Fingerprint{1, 1})).has_value());
  ASSERT_OK(layered->Put(Record(1, "user")));
  EXPECT_EQ(layered->Lookup(Record(1).key)->record->best.config, testing::NamedConfig("user"));
  EXPECT_EQ(layered->List()->size(), 2u);
  ASSERT_OK(layered->Remove(Record(1).key));
  EXPECT_EQ(layered->Lookup(Record(1).key)->record->best.config, testing::NamedConfig("shipped"));
  LayeredStore over_memory(std::make_shared<MemoryStore>(), {*shipped});
  EXPECT_TRUE((*over_memory.GetArtifact(Fingerprint{1, 1})).has_value());
  chmod((*shipped)->path().substr(0, (*shipped)->path().rfind('/')).c_str(), 0700);
}

TEST_F(StorePlacesTest, AStoreEmbeddedInAProgramIsRead) {
  {
    std::shared_ptr<SqliteStore> store = Open();
    ASSERT_OK(store->Put(Record(1)));
    ASSERT_OK(store->PutArtifact(Fingerprint{3, 1}, ArtifactOf(5000)));
  }
  std::ifstream file(path_, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Result<std::shared_ptr<SqliteStore>> embedded = SqliteStore::FromBytes(bytes.data(), bytes.size());
  ASSERT_OK(embedded);
  EXPECT_EQ((*embedded)->Lookup(Record(1).key)->match, RecordMatch::kExact);
  EXPECT_TRUE((*embedded)->GetArtifact(Fingerprint{3, 1})->has_value());
  EXPECT_ERROR((*embedded)->Put(Record(2)), StatusCode::kFailedPrecondition, "read-only");
  LayeredStore layered(std::make_shared<MemoryStore>(), {*embedded});
  EXPECT_EQ(layered.Lookup(Record(1).key)->match, RecordMatch::kExact);
  for (std::size_t size : {std::size_t{0}, std::size_t{50}, std::size_t{100}, bytes.size() / 2}) {
    Result<std::shared_ptr<SqliteStore>> cut = SqliteStore::FromBytes(bytes.data(), size);
    EXPECT_TRUE(!cut.ok() || !(*cut)->Lookup(Record(1).key).ok() || (*cut)->Lookup(Record(1).key)->record) << size;
  }
  std::string noise(4096, 'n');
  EXPECT_ERROR(SqliteStore::FromBytes(noise.data(), noise.size()), StatusCode::kInvalidArgument, "(embedded)");
}

TEST_F(StorePlacesTest, AUmaskThatTakesTheOwnersPermissionsIsNamed) {
  EXPECT_EQ(testing::InChild([&] {
              umask(0777);
              EXPECT_ERROR(OpenError(folder_->path() + "/new/store.db"), StatusCode::kFailedPrecondition,
                           "the process's umask: set a umask such as 077");
            }),
            0);
  EXPECT_NE(access((folder_->path() + "/new").c_str(), F_OK), 0) << "nothing is left";
}

TEST(StorePlaceTest, NetworkFileSystemsAreKnownByTheirNumbers) {
  EXPECT_TRUE(IsNetworkFileSystem(0x6969)) << "NFS";
  EXPECT_TRUE(IsNetworkFileSystem(static_cast<unsigned long>(static_cast<int>(0xFF534D42)))) << "CIFS, sign-extended";
  for (unsigned long type :
       {0x47504653ul /*GPFS*/, 0x19830326ul /*BeeGFS*/, 0x65735546ul /*FUSE*/, 0x01021997ul /*9p*/,
        0x20030528ul /*OrangeFS*/, 0xAAD7AAEAul /*PanFS*/, 0x7461636Ful /*OCFS2*/, 0x01161970ul /*GFS2*/}) {
    EXPECT_TRUE(IsNetworkFileSystem(type)) << std::hex << type;
  }
  EXPECT_FALSE(IsNetworkFileSystem(0x58465342)) << "XFS";
  EXPECT_FALSE(IsNetworkFileSystem(0x9123683E)) << "Btrfs";
  EXPECT_FALSE(IsNetworkFileSystem(0x794C7630)) << "overlayfs";
  EXPECT_FALSE(IsNetworkFileSystem(0xEF53)) << "ext4";
  EXPECT_FALSE(IsNetworkFileSystem(0x01021994)) << "tmpfs";
}

}  // namespace
}  // namespace tuneonce
