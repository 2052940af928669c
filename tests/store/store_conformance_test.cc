// One suite for every store: records and code are kept and leased alike, and no layer serves a record without its code.
#include "testing/store_conformance.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/guarded_store.h"
#include "store/shipped_selections.h"
#include "store/sqlite_store_fixture.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
namespace {

using Stores = std::shared_ptr<RecordStore>;

class StoreConformanceTest : public testing::SqliteStoreTest {
 protected:
  /// An empty store in a file of its own.
  Stores File() {
    path_ = folder_->path() + "/" + std::to_string(++num_files_) + "/store.db";
    return Open();
  }

 private:
  int num_files_ = 0;
};

TEST_F(StoreConformanceTest, EveryStoreKeepsAndLeasesRecordsAndCode) {
  const std::vector<std::pair<const char*, Stores>> stores = {
      {"memory", MakeMemoryStore()},
      {"a file", File()},
      {"a database in memory", *SqliteStore::InMemory()},
      {"a forwarding store", std::make_shared<ForwardingStore>(File())},
      {"a guarded store", std::make_shared<GuardedStore>(File(), nullptr)},
      {"memory over memory", MakeLayeredStore(MakeMemoryStore(), {MakeMemoryStore()})},
      {"a file over memory and a file", MakeLayeredStore(File(), {MakeMemoryStore(), File()})},
      {"a file over a kernel's selections", StoreOverShipped(File(), MakeMemoryStore(), RecordMatch::kExact)},
      {"a fleet", MakeFleetStore(MakeMemoryStore(), MakeMemoryStore())},
      {"a fleet of files", MakeFleetStore(File(), File())},
      {"a fleet over layers", MakeFleetStore(MakeLayeredStore(File(), {MakeMemoryStore()}), File())},
  };
  for (const auto& [what, store] : stores) {
    SCOPED_TRACE(what);
    testing::ExpectConforms(*store);
  }
}

TEST_F(StoreConformanceTest, EveryLayerServesARecordTogetherWithItsCode) {
  const TuningRecord record = testing::ConformingRecord("below");
  using Over = std::function<Stores(Stores)>;
  const std::vector<std::pair<const char*, Over>> layers = {
      {"forwarding", [](Stores below) { return std::make_shared<ForwardingStore>(std::move(below)); }},
      {"guard", [](Stores below) { return std::make_shared<GuardedStore>(std::move(below), nullptr); }},
      {"the user's", [](Stores below) { return MakeLayeredStore(std::move(below), {MakeMemoryStore()}); }},
      {"shipped", [](Stores below) { return MakeLayeredStore(MakeMemoryStore(), {std::move(below)}); }},
      {"shipped twice",
       [](Stores below) {
         return MakeLayeredStore(MakeMemoryStore(), {MakeMemoryStore(), std::move(below)});
       }},
      {"under a kernel's selections",
       [](Stores below) { return StoreOverShipped(std::move(below), MakeMemoryStore(), RecordMatch::kExact); }},
      {"a kernel's selections",
       [](Stores below) { return StoreOverShipped(MakeMemoryStore(), std::move(below), RecordMatch::kExact); }},
      {"the machine's", [](Stores below) { return MakeFleetStore(std::move(below), MakeMemoryStore()); }},
      {"the fleet's", [](Stores below) { return MakeFleetStore(MakeMemoryStore(), std::move(below)); }},
  };
  for (const auto& [upper, over] : layers) {
    for (const auto& [lower, under] : layers) {
      SCOPED_TRACE(std::string(upper) + " over " + lower);
      const Stores below = MakeMemoryStore();
      ASSERT_OK(below->Put(record));
      ASSERT_OK(below->PutArtifact(record.best.artifact, testing::ConformingArtifact("code")));
      const Stores store = over(under(below));
      Result<RecordLookup> found = store->Lookup(record.key);
      ASSERT_TRUE(found.ok() && found->record);
      Result<std::optional<Artifact>> code = store->GetArtifact(found->record->best.artifact);
      ASSERT_TRUE(code.ok() && *code);
      EXPECT_EQ((*code)->image, "code");
    }
  }
}

}  // namespace
}  // namespace tuneonce
