#include <gtest/gtest.h>

#include <stdexcept>

#include "compile/keyed_lock.h"
#include "store/default_store.h"
#include "store/sqlite_store_fixture.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
namespace {

using testing::ArtifactOf;
using testing::Record;

/// A store in memory whose records can be away.
class Tier final : public ForwardingStore {
 public:
  Tier() : ForwardingStore(MakeMemoryStore()) {}

  Result<RecordLookup> Lookup(const TuningKey& key) const override {
    ++num_lookups;
    if (!away.ok()) return away;
    return store_->Lookup(key);
  }
  Status Put(const TuningRecord& record) override { return away.ok() ? store_->Put(record) : away; }
  Result<std::vector<TuningRecord>> List() const override {
    if (!away.ok()) return away;
    return store_->List();
  }
  Status Remove(const TuningKey& key) override { return away.ok() ? store_->Remove(key) : away; }
  Result<TuningLease> Lease(const TuningKey&, const WaitLimits& limits) override {
    if (!away.ok()) return away;
    return leases_.Acquire(Fingerprint{1, 1}, limits);
  }
  bool Has(const Fingerprint& artifact) const { return store_->GetArtifact(artifact)->has_value(); }

  Status away;
  mutable int num_lookups = 0;

 private:
  KeyedLock leases_;
};

class FleetStoreTest : public ::testing::Test {
 protected:
  std::shared_ptr<RecordStore> Store(bool writes = true) {
    FleetUse use;
    use.writes = writes;
    use.on_error = [this](const std::string& words) { said_.push_back(words); };
    return MakeFleetStore(machine_, fleet_, use);
  }
  static WaitLimits AtOnce() {
    WaitLimits limits;
    limits.timeout = std::chrono::milliseconds(0);
    return limits;
  }

  const std::shared_ptr<Tier> machine_ = std::make_shared<Tier>(), fleet_ = std::make_shared<Tier>();
  std::vector<std::string> said_;
};

TEST_F(FleetStoreTest, WhatTheMachineHasIsServedWithoutAskingTheFleet) {
  std::shared_ptr<RecordStore> store = Store();
  ASSERT_OK(machine_->Put(Record(1, "machine's")));
  ASSERT_OK(fleet_->Put(Record(1, "fleet's")));
  fleet_->away = UnavailableError("away");
  EXPECT_EQ(store->Lookup(Record(1).key)->record->best.config, testing::NamedConfig("machine's"));
  EXPECT_EQ(fleet_->num_lookups, 0);
  EXPECT_TRUE(said_.empty());
}

TEST_F(FleetStoreTest, WhatTheFleetHasComesToTheMachineWithItsCode) {
  std::shared_ptr<RecordStore> store = Store();
  TuningRecord record = Record(1, "fleet's");
  ASSERT_OK(fleet_->Put(record));
  ASSERT_OK(fleet_->PutArtifact(record.best.artifact, ArtifactOf(10)));
  EXPECT_EQ(store->Lookup(record.key)->record->best.config, record.best.config);
  EXPECT_TRUE(store->GetArtifact(record.best.artifact)->has_value());
  fleet_->away = UnavailableError("away");
  EXPECT_EQ(store->Lookup(record.key)->record->best.config, record.best.config);
  EXPECT_TRUE(store->GetArtifact(record.best.artifact)->has_value());
  EXPECT_TRUE(machine_->Lookup(record.key)->record);
}

TEST_F(FleetStoreTest, TheBetterOfBothServes) {
  struct Case {
    const char* what;
    TuningRecord machines, fleets;
    const char* serves;
  };
  TuningRecord incomplete = Record(1, "incomplete");
  incomplete.is_complete = false;
  TuningRecord pinned = Record(1, "pinned");
  pinned.is_pinned = true;
  auto of_driver = [](int driver, bool is_complete) {
    TuningRecord record = Record(1, is_complete ? "complete" : "incomplete", driver);
    record.is_complete = is_complete;
    return record;
  };
  const std::vector<Case> cases = {
      {"exact before another driver's", Record(1, "machine's", 12000), Record(1, "fleet's"), "fleet's"},
      {"the machine's of two of other drivers", Record(1, "machine's", 12000), Record(1, "fleet's", 12080),
       "machine's"},
      {"a complete one before one that was cut short", incomplete, Record(1, "fleet's"), "fleet's"},
      {"a complete one before one that was cut short, both of other drivers", of_driver(12000, false),
       of_driver(12080, true), "complete"},
      {"the machine's of these", of_driver(12000, true), of_driver(12080, false), "complete"},
      {"of two that were cut short the machine's", incomplete, incomplete, "incomplete"},
      {"a person's selection before a search that was cut short", incomplete, pinned, "pinned"},
  };
  for (const Case& each : cases) {
    auto machine = std::make_shared<Tier>(), fleet = std::make_shared<Tier>();
    ASSERT_OK(machine->Put(each.machines));
    ASSERT_OK(fleet->Put(each.fleets));
    Result<RecordLookup> found = MakeFleetStore(machine, fleet)->Lookup(Record(1).key);
    EXPECT_EQ(found->record->best.config, testing::NamedConfig(each.serves)) << each.what;
  }
}

TEST_F(FleetStoreTest, TheFleetGetsOnlyWhatARecordNames) {
  for (bool writes : {true, false}) {
    SCOPED_TRACE(writes);
    auto fleet = std::make_shared<Tier>();
    FleetUse use;
    use.writes = writes;
    std::shared_ptr<RecordStore> store = MakeFleetStore(MakeMemoryStore(), fleet, use);
    TuningRecord record = Record(1);
    ASSERT_OK(store->PutArtifact(record.best.artifact, ArtifactOf(10)));
    ASSERT_OK(store->PutArtifact(record.baseline->artifact, ArtifactOf(11)));
    ASSERT_OK(store->PutArtifact(Fingerprint{9, 9}, ArtifactOf(12)));  // A loser's.
    EXPECT_FALSE(fleet->Has(record.best.artifact));
    EXPECT_TRUE(store->GetArtifact(Fingerprint{9, 9})->has_value()) << "this process has it";
    ASSERT_OK(store->LeaseArtifact(Fingerprint{9, 9}, AtOnce()));
    ASSERT_OK(store->Put(record));
    EXPECT_EQ(fleet->Has(record.best.artifact), writes);
    EXPECT_EQ(fleet->Has(record.baseline->artifact), writes);
    EXPECT_FALSE(fleet->Has(Fingerprint{9, 9}));
  }
}

TEST_F(FleetStoreTest, WhatTheMachineRefusesReachesTheFleetWithItsCode) {
  /// Over a shipped store, whose code is for reading only.
  std::shared_ptr<RecordStore> store = MakeFleetStore(MakeLayeredStore(MakeMemoryStore(), {machine_}), fleet_);
  TuningRecord record = Record(1);
  ASSERT_OK(store->PutArtifact(record.best.artifact, ArtifactOf(10)));
  EXPECT_FALSE(machine_->Has(record.best.artifact)) << "what is shipped stays as it is";
  ASSERT_OK(store->Put(record));
  EXPECT_TRUE(fleet_->Has(record.best.artifact));
}

TEST_F(FleetStoreTest, WhatIsPutGoesToBothWithTheCodeThatServes) {
  std::shared_ptr<RecordStore> store = Store();
  TuningRecord record = Record(1);
  ASSERT_OK(store->PutArtifact(record.best.artifact, ArtifactOf(10)));
  ASSERT_OK(store->PutArtifact(record.baseline->artifact, ArtifactOf(11)));
  ASSERT_OK(store->PutArtifact(Fingerprint{9, 9}, ArtifactOf(12)));  // A loser's.
  EXPECT_FALSE(fleet_->Has(record.best.artifact));
  ASSERT_OK(store->Put(record));
  EXPECT_TRUE(fleet_->Lookup(record.key)->record);
  EXPECT_TRUE(fleet_->Has(record.best.artifact));
  EXPECT_TRUE(fleet_->Has(record.baseline->artifact));
  EXPECT_FALSE(fleet_->Has(Fingerprint{9, 9}));
  ASSERT_OK(store->Remove(record.key));
  EXPECT_FALSE(store->Lookup(record.key)->record);
}

TEST_F(FleetStoreTest, AMachineThatOnlyTakesGivesNothingAndKeepsNobodyOut) {
  std::shared_ptr<RecordStore> store = Store(/*writes=*/false);
  ASSERT_OK(fleet_->Put(Record(2)));
  ASSERT_OK(store->Put(Record(1)));
  EXPECT_FALSE(fleet_->Lookup(Record(1).key)->record);
  EXPECT_ERROR(store->Remove(Record(2).key), StatusCode::kFailedPrecondition, "FleetUse::writes is false");
  EXPECT_TRUE(fleet_->Lookup(Record(2).key)->record);
  EXPECT_OK(store->Remove(Record(1).key));
  Result<TuningLease> held = store->Lease(Record(1).key, AtOnce());
  EXPECT_OK(fleet_->Lease(Record(1).key, AtOnce()));
}

TEST_F(FleetStoreTest, WhatAFleetThatWasAwayDidNotTakeItGetsLater) {
  std::shared_ptr<RecordStore> store = Store();
  fleet_->away = UnavailableError("the fleet is away");
  ASSERT_OK(machine_->PutArtifact(Record(1).best.artifact, ArtifactOf(10)));
  ASSERT_OK(store->Put(Record(1)));
  ASSERT_OK(store->Put(Record(2)));
  EXPECT_EQ(said_, std::vector<std::string>{"the fleet is away"});
  EXPECT_ERROR(store->Lookup(Record(3).key), StatusCode::kUnavailable, "the fleet is away");
  fleet_->away = Status();
  EXPECT_EQ(store->Lookup(Record(3).key)->Miss(), RecordMiss::kNoRecord);
  EXPECT_TRUE(fleet_->Lookup(Record(1).key)->record);
  EXPECT_TRUE(fleet_->Lookup(Record(2).key)->record);
  EXPECT_TRUE(fleet_->Has(Record(1).best.artifact));
  // What it refused for good is not offered for ever.
  fleet_->away = FailedPreconditionError("another host has it");
  ASSERT_OK(store->Put(Record(4)));
  fleet_->away = Status();
  ASSERT_OK(store->Lookup(Record(5).key));
  EXPECT_FALSE(fleet_->Lookup(Record(4).key)->record);
}

TEST_F(FleetStoreTest, WhatComesLateReplacesNoPinAndNothingBetter) {
  std::shared_ptr<RecordStore> store = Store();
  fleet_->away = UnavailableError("away");
  for (std::uint64_t n : {1, 2, 3}) ASSERT_OK(store->Put(Record(n, "late")));
  fleet_->away = Status();
  TuningRecord pin = Record(1, "pin"), better = Record(2, "better");
  pin.is_pinned = true;
  better.fencing_token = 7;
  ASSERT_OK(fleet_->Put(pin));
  ASSERT_OK(fleet_->Put(better));
  ASSERT_OK(store->Put(Record(4)));  // A call that reaches the fleet.
  EXPECT_EQ(fleet_->Lookup(pin.key)->record->best.config, pin.best.config);
  EXPECT_EQ(fleet_->Lookup(better.key)->record->best.config, better.best.config);
  EXPECT_EQ(fleet_->Lookup(Record(3).key)->match, RecordMatch::kExact);
}

TEST_F(FleetStoreTest, AMachineWhoseOwnStoreIsAwayLivesOffTheFleets) {
  std::shared_ptr<RecordStore> store = Store();
  ASSERT_OK(fleet_->Put(Record(1)));
  machine_->away = UnavailableError("the disk is away");
  EXPECT_TRUE(store->Lookup(Record(1).key)->record);
  ASSERT_OK(store->Put(Record(2)));
  EXPECT_TRUE(fleet_->Lookup(Record(2).key)->record);
  Result<TuningLease> held = store->Lease(Record(3).key, AtOnce());
  ASSERT_TRUE(held.ok() && *held != nullptr);
  EXPECT_EQ(fleet_->Lease(Record(3).key, AtOnce()).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(said_, std::vector<std::string>{"the disk is away"});
  fleet_->away = UnavailableError("the fleet is away");
  EXPECT_ERROR(store->Put(Record(4)), StatusCode::kUnavailable, "the disk is away");
}

/// A host's store that throws.
class ThrowingStore final : public ForwardingStore {
 public:
  ThrowingStore() : ForwardingStore(MakeMemoryStore()) {}
  Result<RecordLookup> Lookup(const TuningKey&) const override { throw std::runtime_error("boom"); }
  Status Remove(const TuningKey&) override { throw std::runtime_error("boom"); }
};

TEST_F(FleetStoreTest, AStoreThatThrowsKeepsNobodyFromTheOthers) {
  const TuningKey key = Record(1).key;
  ASSERT_OK(fleet_->Put(Record(1)));
  ASSERT_OK(machine_->Put(Record(1)));
  auto throwing = std::make_shared<ThrowingStore>();
  EXPECT_TRUE(MakeFleetStore(throwing, fleet_)->Lookup(key)->record);
  EXPECT_TRUE(MakeFleetStore(machine_, throwing)->Lookup(key)->record);
  EXPECT_TRUE(MakeLayeredStore(throwing, {fleet_})->Lookup(key)->record);
  const std::shared_ptr<RecordStore> of_nulls = MakeLayeredStore(nullptr, {nullptr, fleet_, nullptr});
  EXPECT_TRUE(of_nulls->Lookup(key)->is_shipped);
  EXPECT_OK(of_nulls->Put(Record(1)));
  EXPECT_FALSE(of_nulls->Lookup(key)->is_shipped);
  EXPECT_ERROR(MakeFleetStore(throwing, fleet_)->Remove(key), StatusCode::kInternal, "the record store's Remove threw");
  EXPECT_EQ(fleet_->Lookup(key)->match, RecordMatch::kNotFound) << "the fleet's is removed all the same";
}

TEST_F(FleetStoreTest, AKeyIsLeasedFromBoth) {
  std::shared_ptr<RecordStore> store = Store();
  {
    Result<TuningLease> held = store->Lease(Record(1).key, AtOnce());
    ASSERT_OK(held);
    EXPECT_EQ(machine_->Lease(Record(1).key, AtOnce()).status().code(), StatusCode::kDeadlineExceeded);
    EXPECT_EQ(fleet_->Lease(Record(1).key, AtOnce()).status().code(), StatusCode::kDeadlineExceeded);
  }
  for (Tier* tier : {machine_.get(), fleet_.get()}) {
    Result<TuningLease> another = tier->Lease(Record(1).key, AtOnce());
    ASSERT_OK(another);
    EXPECT_EQ(store->Lease(Record(1).key, AtOnce()).status().code(), StatusCode::kDeadlineExceeded);
  }
  // And after a failure nothing is held.
  ASSERT_OK(store->Lease(Record(1).key, AtOnce()));
  fleet_->away = UnavailableError("away");
  Result<TuningLease> held = store->Lease(Record(1).key, AtOnce());
  ASSERT_TRUE(held.ok() && *held != nullptr);
}

TEST_F(FleetStoreTest, ALookupSaysWhatTheFleetRefused) {
  class Refusing final : public ForwardingStore {
   public:
    Refusing() : ForwardingStore(MakeMemoryStore()) {}
    Result<RecordLookup> Lookup(const TuningKey&) const override {
      RecordLookup lookup;
      lookup.NoteInstead(RecordMiss::kRefused, "the signature is wrong");
      return lookup;
    }
  };
  RecordLookup found = *MakeFleetStore(machine_, std::make_shared<Refusing>())->Lookup(Record(1).key);
  EXPECT_EQ(found.Miss(), RecordMiss::kRefused);
  EXPECT_EQ(found.detail, "the signature is wrong");
}

TEST(DefaultStoreTest, AFleetsAddressIsNoDefaultStoreAndMakesNoFile) {
  Environment environment;
  for (const char* address : {"redis://host/fleet", "redis+unix:///run/redis?name=fleet", "rediss://host/fleet"}) {
    environment.store = address;
    EXPECT_ERROR(DefaultStorePath(environment), StatusCode::kInvalidArgument, "names a fleet's store");
  }
  for (const char* path : {"redis", "redis.db", "/redis://x", "./redis:/x"}) {
    environment.store = path;
    EXPECT_EQ(*DefaultStorePath(environment), path);
  }
}

TEST(DefaultStoreTest, ARelativeCacheFolderIsIgnored) {
  Environment environment;
  environment.home = "/home/someone";
  environment.cache_folder = "cache";
  EXPECT_EQ(*DefaultStorePath(environment), "/home/someone/.cache/tuneonce/store.db");
  environment.cache_folder = "/cache";
  EXPECT_EQ(*DefaultStorePath(environment), "/cache/tuneonce/store.db");
  environment.home = "";
  environment.cache_folder = "cache";
  EXPECT_ERROR(DefaultStorePath(environment), StatusCode::kFailedPrecondition, "no folder for the store is known");
  environment.store = "memory";
  EXPECT_ERROR(DefaultStorePath(environment), StatusCode::kInvalidArgument, "name a store's file");
}

}  // namespace
}  // namespace tuneonce
