#include "tuneonce/redis_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "redis/redis_server.h"
#include "store/kernel_fingerprint.h"
#include "testing/expect_status.h"
#include "testing/in_child.h"
#include "testing/record_changes.h"
#include "testing/store_conformance.h"

namespace tuneonce {
namespace {

SigningKey Key(const std::string& id) { return {id, std::string(31, id[0]) + "!"}; }

TuningRecord FleetRecord(const std::string& config, const std::string& device = "H200", int driver = 13000,
                         std::uint64_t kernel = 1) {
  TuningRecord record;
  record.key.kernel = "norm";
  record.key.kernel_fingerprint = Fingerprint{1, kernel};
  record.key.key_words = {7, 8};
  record.key.key_text = "M<=64";
  record.key.device_name = device;
  record.key.driver_version = driver;
  record.best.config = testing::NamedConfig(config);
  return record;
}

Artifact Code(const std::string& image) {
  Artifact artifact;
  artifact.image = image;
  artifact.symbol = "norm";
  return artifact;
}

class RedisStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::IsInstalled()) GTEST_SKIP() << "there is no redis-server (scripts/install_dependencies --tests)";
    server_ = std::make_unique<RedisServer>(/*keeps=*/true);
  }
  RedisStoreOptions Options(const std::string& name = "fleet") {
    RedisStoreOptions options;
    options.redis = server_->Options(name);
    options.keys = {Key("a")};
    options.first_retry_ms = 0;
    options.on_refused = [this](const std::string& words) { refused_.push_back(words); };
    return options;
  }
  std::shared_ptr<RedisStore> Open(const RedisStoreOptions& options) {
    Result<std::shared_ptr<RedisStore>> store = RedisStore::Open(options);
    EXPECT_TRUE(store.ok()) << store.status().message();
    return *store;
  }
  std::string Name(const TuningKey& key) { return "tuneonce:{fleet}:records/" + KernelKey(key).ToString(); }
  static std::string Field(const TuningKey& key) { return FullKey(key).ToString(); }
  /// What there is instead of the record.
  static std::string WhyNot(const RedisStore& store, const TuningKey& key) {
    Result<RecordLookup> found = store.Lookup(key);
    EXPECT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found->match, RecordMatch::kNotFound);
    return std::string(RecordMissName(found->Miss())) + ": " + found->detail;
  }

  std::unique_ptr<RedisServer> server_;
  std::vector<std::string> refused_;
};

TEST_F(RedisStoreTest, ItConformsAlsoAsAFleetsStore) {
  testing::ExpectConforms(*Open(Options()));
  testing::ExpectConforms(*MakeFleetStore(MakeMemoryStore(), Open(Options("another"))));
}

TEST_F(RedisStoreTest, TheBestMatchIsFoundByEveryHost) {
  std::shared_ptr<RedisStore> here = Open(Options()), there = Open(Options());
  const TuningKey key = FleetRecord("").key;
  EXPECT_EQ(there->Lookup(key)->Miss(), RecordMiss::kNoRecord);
  ASSERT_OK(here->Put(FleetRecord("other source", "H200", 13000, /*kernel=*/2)));
  EXPECT_EQ(there->Lookup(key)->Miss(), RecordMiss::kOtherSource);
  ASSERT_OK(here->Put(FleetRecord("a", "B200")));
  EXPECT_EQ(there->Lookup(key)->match, RecordMatch::kOtherDevice);
  ASSERT_OK(here->Put(FleetRecord("b", "H200", 12080)));
  EXPECT_EQ(there->Lookup(key)->match, RecordMatch::kOtherDriver);
  ASSERT_OK(here->Put(FleetRecord("c")));
  ASSERT_OK(here->Put(FleetRecord("d")));
  EXPECT_EQ(there->Lookup(key)->match, RecordMatch::kExact);
  EXPECT_EQ(there->Lookup(key)->record->best.config, testing::NamedConfig("d"));
  std::vector<TuningRecord> all = *there->List();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all.front().best.config, testing::NamedConfig("other source"));
  EXPECT_EQ(all.back().best.config, testing::NamedConfig("d"));
  EXPECT_EQ(Open(Options("another"))->List()->size(), 0u);
  ASSERT_OK(there->Remove(key));
  EXPECT_EQ(here->Lookup(key)->match, RecordMatch::kOtherDriver);
  EXPECT_EQ(here->List()->size(), 3u);
  EXPECT_TRUE(refused_.empty());
}

TEST_F(RedisStoreTest, ArtifactsComeBackWholeAndLieByTheirContent) {
  std::shared_ptr<RedisStore> here = Open(Options()), there = Open(Options());
  const std::string image(300000, '\0');
  EXPECT_FALSE(there->GetArtifact(Fingerprint{1, 1})->has_value());
  ASSERT_OK(here->PutArtifact(Fingerprint{1, 1}, Code(image)));
  ASSERT_OK(here->PutArtifact(Fingerprint{1, 2}, Code(image)));
  Result<std::optional<Artifact>> got = there->GetArtifact(Fingerprint{1, 2});
  ASSERT_TRUE(got.ok() && *got) << got.status().message();
  EXPECT_TRUE((*got)->image == image);
  EXPECT_EQ(there->ArtifactKeys()->size(), 2u);
  EXPECT_EQ(server_->Ask({"DBSIZE"}), "3");  // Two names of one content.
  EXPECT_EQ(there->Verify()->num_artifacts, 2);
  EXPECT_TRUE(there->Verify()->problems.empty());
  RedisStoreOptions small = Options();
  small.max_artifact_bytes = 1000;
  EXPECT_ERROR(Open(small)->PutArtifact(Fingerprint{1, 3}, Code(image)), StatusCode::kResourceExhausted,
               "max_artifact_bytes");
}

TEST_F(RedisStoreTest, ARecordThatWasChangedCutMovedOrSignedByNobodyIsAMissWithAReason) {
  std::shared_ptr<RedisStore> store = Open(Options());
  const TuningKey key = FleetRecord("").key, other = FleetRecord("", "H200", 13000, /*kernel=*/2).key;
  ASSERT_OK(store->Put(FleetRecord("good")));
  const std::string good = server_->Ask({"HGET", Name(key), Field(key)});
  ASSERT_GT(good.size(), 100u);
  std::string changed = good;
  changed.back() ^= 1;
  std::string by_nobody = good.substr(5 + 1 + 32);
  struct Case {
    std::string bytes;
    const char* why;
  };
  std::vector<Case> cases = {{changed, "the signature is wrong"},
                             {by_nobody, "the entry is not signed"},
                             {"", "the entry is not signed"},
                             {"TOS1", "the entry is not signed"},
                             {"TOS1\x01", "the entry is truncated"},
                             {good.substr(0, 20), "the entry is truncated"},
                             {good.substr(0, good.size() - 1), "the signature is wrong"}};
  for (std::size_t at : {5u, 6u, 20u, 37u}) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] + 1);
    cases.push_back({bytes, at == 5 ? "not trusted here" : "the signature is wrong"});
  }
  for (const Case& each : cases) {
    server_->Ask({"HSET", Name(key), Field(key), each.bytes});
    EXPECT_NE(WhyNot(*store, key).find("refused: "), std::string::npos);
    EXPECT_NE(WhyNot(*store, key).find(each.why), std::string::npos) << WhyNot(*store, key);
    EXPECT_EQ(store->List()->size(), 0u);
    EXPECT_EQ(store->Verify()->problems.size(), 1u);
  }
  // A good one, where another belongs: of another key, device, fleet.
  server_->Ask({"HSET", Name(other), Field(other), good});
  EXPECT_NE(WhyNot(*store, other).find("the signature is wrong"), std::string::npos);
  const TuningKey older = FleetRecord("", "H200", 12000).key;
  server_->Ask({"DEL", Name(key)});
  server_->Ask({"HSET", Name(key), Field(older), good});
  EXPECT_NE(WhyNot(*store, key).find("the signature is wrong"), std::string::npos);
  std::shared_ptr<RedisStore> elsewhere = Open(Options("elsewhere"));
  server_->Ask({"HSET", "tuneonce:{elsewhere}:records/" + KernelKey(key).ToString(), Field(key), good});
  EXPECT_NE(WhyNot(*elsewhere, key).find("the signature is wrong"), std::string::npos);
  EXPECT_GT(refused_.size(), 3u);
  server_->Ask({"HSET", Name(key), Field(key), good});
  EXPECT_EQ(store->Lookup(key)->record->best.config, testing::NamedConfig("good"));
}

TEST_F(RedisStoreTest, AnArtifactThatWasChangedOrPutUnderAnotherNameIsAMissAndNeverCode) {
  std::shared_ptr<RedisStore> store = Open(Options());
  const Fingerprint one{1, 1}, two{1, 2};
  ASSERT_OK(store->PutArtifact(one, Code("one")));
  ASSERT_OK(store->PutArtifact(two, Code("two")));
  auto name = [](const Fingerprint& key) { return "tuneonce:{fleet}:artifact/" + key.ToString(); };
  const std::string named_one = server_->Ask({"GET", name(one)}), named_two = server_->Ask({"GET", name(two)});
  // The name of one says the bytes of two.
  server_->Ask({"SET", name(one), named_two});
  EXPECT_FALSE(store->GetArtifact(one)->has_value());
  ASSERT_EQ(refused_.size(), 1u);
  EXPECT_NE(refused_[0].find("the signature is wrong"), std::string::npos) << refused_[0];
  server_->Ask({"SET", name(one), named_one});
  EXPECT_TRUE(store->GetArtifact(one)->has_value());
  // Other bytes lie where the signed ones were: all of them exchanged for another's.
  std::string keys = server_->Ask({"KEYS", "tuneonce:{fleet}:code/*"});
  const std::string first = keys.substr(0, keys.find('\n')), second = keys.substr(first.size() + 1, first.size());
  const std::string bytes = server_->Ask({"GET", second});
  server_->Ask({"SET", first, bytes});
  server_->Ask({"SET", second, bytes + "x"});
  EXPECT_FALSE(store->GetArtifact(one)->has_value());
  EXPECT_FALSE(store->GetArtifact(two)->has_value());
  EXPECT_EQ(store->Verify()->problems.size(), 2u);
  EXPECT_NE(store->Verify()->problems[0].find("differ from those that were signed"), std::string::npos);
  server_->Ask({"DEL", first});
  server_->Ask({"DEL", second});
  EXPECT_FALSE(store->GetArtifact(one)->has_value());  // Evicted, say.
  ASSERT_OK(store->PutArtifact(one, Code("one")));
  EXPECT_TRUE(store->GetArtifact(one)->has_value());
}

TEST_F(RedisStoreTest, KeysAreRotatedWithoutAMomentInWhichAHostReadsNothing) {
  RedisStoreOptions old = Options(), both = Options(), turned = Options(), fresh = Options();
  both.keys = {Key("a"), Key("b")};
  turned.keys = {Key("b"), Key("a")};
  fresh.keys = {Key("b")};
  const TuningKey key = FleetRecord("").key;
  ASSERT_OK(Open(old)->Put(FleetRecord("by a")));
  EXPECT_TRUE(Open(both)->Lookup(key)->record);
  EXPECT_TRUE(Open(turned)->Lookup(key)->record);
  EXPECT_NE(WhyNot(*Open(fresh), key).find("signed by the key 'a', which is not trusted"), std::string::npos);
  ASSERT_OK(Open(turned)->Put(FleetRecord("by b")));
  EXPECT_TRUE(Open(both)->Lookup(key)->record);
  EXPECT_TRUE(Open(fresh)->Lookup(key)->record);
  EXPECT_NE(WhyNot(*Open(old), key).find("signed by the key 'b'"), std::string::npos);
  RedisStoreOptions same_id = Options();
  same_id.keys[0].secret[3] = '?';
  ASSERT_OK(Open(old)->Put(FleetRecord("by a")));
  EXPECT_NE(WhyNot(*Open(same_id), key).find("the signature is wrong"), std::string::npos);
}

TEST_F(RedisStoreTest, OneHostTunesAKeyAndItsTokensGrow) {
  RedisStoreOptions options = Options();
  options.lease_ms = 200;
  std::shared_ptr<RedisStore> here = Open(options), there = Open(options);
  const TuningKey key = FleetRecord("").key;
  WaitLimits at_once;
  at_once.timeout_ms = 0;
  Result<TuningLease> held = here->Lease(key, at_once);
  ASSERT_TRUE(held.ok() && *held != nullptr) << held.status().message();
  EXPECT_EQ(there->Lease(key, at_once).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(here->Lease(key, at_once).status().code(), StatusCode::kDeadlineExceeded);  // Another thread.
  EXPECT_TRUE(there->Lease(FleetRecord("", "B200").key, at_once).ok());
  // It is renewed for as long as it is held.
  std::this_thread::sleep_for(std::chrono::milliseconds(3 * options.lease_ms));
  EXPECT_EQ(there->Lease(key, at_once).status().code(), StatusCode::kDeadlineExceeded);
  ASSERT_OK(here->Put(FleetRecord("first")));
  const std::uint64_t first = there->Lookup(key)->record->fencing_token;
  EXPECT_GT(first, 0u);
  held = TuningLease();
  held = there->Lease(key, at_once);
  ASSERT_TRUE(held.ok()) << held.status().message();
  ASSERT_OK(there->Put(FleetRecord("second")));
  EXPECT_GT(here->Lookup(key)->record->fencing_token, first);
  // Without a lease: a person's selection, say.
  ASSERT_OK(here->Put(FleetRecord("pinned")));
  EXPECT_EQ(there->Lookup(key)->record->best.config, testing::NamedConfig("pinned"));
}

TEST_F(RedisStoreTest, WhoLostTheLeaseCannotPutOverTheOthersRecord) {
  RedisStoreOptions options = Options();
  std::shared_ptr<RedisStore> slow = Open(options), other = Open(options);
  const TuningKey key = FleetRecord("").key;
  WaitLimits at_once;
  at_once.timeout_ms = 0;
  TuningLease lost = *slow->Lease(key, at_once);
  server_->Ask({"DEL", "tuneonce:{fleet}:lease/" + FullKey(key).ToString()});  // As if its time were over.
  TuningLease held = *other->Lease(key, at_once);
  ASSERT_NE(held, nullptr);
  EXPECT_ERROR(slow->Put(FleetRecord("slow")), StatusCode::kFailedPrecondition, "passed to another host");
  ASSERT_OK(other->Put(FleetRecord("other")));
  held = nullptr;
  EXPECT_ERROR(slow->Put(FleetRecord("slow")), StatusCode::kFailedPrecondition, "passed to another host");
  EXPECT_EQ(slow->Lookup(key)->record->best.config, testing::NamedConfig("other"));
  lost = nullptr;  // And what is not its own any more it does not end.
  held = *other->Lease(key, at_once);
  EXPECT_NE(held, nullptr);
}

TEST_F(RedisStoreTest, WhatWasAcknowledgedIsThereAfterTheServerWasKilled) {
  std::shared_ptr<RedisStore> store = Open(Options());
  const TuningKey key = FleetRecord("").key;
  TuningLease held = *store->Lease(key, WaitLimits());
  ASSERT_OK(store->Put(FleetRecord("kept")));
  ASSERT_OK(store->PutArtifact(Fingerprint{1, 1}, Code("kept")));
  server_->Kill();
  EXPECT_EQ(store->Lookup(key).status().code(), StatusCode::kUnavailable);
  server_->Start();
  EXPECT_EQ(store->Lookup(key)->record->best.config, testing::NamedConfig("kept"));
  EXPECT_TRUE(store->GetArtifact(Fingerprint{1, 1})->has_value());
}

TEST_F(RedisStoreTest, TokensGrowOnAServerThatForgotEverything) {
  std::shared_ptr<RedisStore> store = Open(Options());
  const TuningKey key = FleetRecord("").key;
  TuningLease held = *store->Lease(key, WaitLimits());
  ASSERT_OK(store->Put(FleetRecord("before")));
  const std::uint64_t before = store->Lookup(key)->record->fencing_token;
  server_->Ask({"FLUSHALL"});
  ASSERT_OK(store->Put(FleetRecord("held since before")));  // Nobody else has it.
  held = nullptr;
  held = *store->Lease(key, WaitLimits());
  ASSERT_OK(store->Put(FleetRecord("after")));
  EXPECT_GT(store->Lookup(key)->record->fencing_token, before);
}

TEST_F(RedisStoreTest, AServerThatHangsCostsOneCallItsTimeAndTheOthersNothing) {
  RedisStoreOptions options = Options();
  options.redis.timeout_ms = 100;
  options.first_retry_ms = 60000;
  std::shared_ptr<RedisStore> store = Open(options);
  const TuningKey key = FleetRecord("").key;
  ASSERT_OK(store->Put(FleetRecord("a")));
  auto connections = [&] {
    const std::string info = server_->Ask({"INFO", "stats"});
    return std::stoi(info.substr(info.find("total_connections_received:") + 27));
  };
  const int before = connections();
  server_->Stop();
  EXPECT_EQ(store->Lookup(key).status().code(), StatusCode::kUnavailable);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_ERROR(store->Lookup(key), StatusCode::kUnavailable, "does not answer");
    EXPECT_FALSE(store->Put(FleetRecord("b")).ok());
    EXPECT_FALSE(store->GetArtifact(Fingerprint{1, 1}).ok());
    EXPECT_FALSE(store->Lease(key, WaitLimits()).ok());
  }
  server_->Continue();
  EXPECT_LE(connections() - before, 2) << "of 4001 calls one asked, and it was the test that asked now";
}

TEST_F(RedisStoreTest, AStoreForReadingWritesNothing) {
  ASSERT_OK(Open(Options())->Put(FleetRecord("a")));
  RedisStoreOptions options = Options();
  options.read_only = true;
  std::shared_ptr<RedisStore> store = Open(options);
  const TuningKey key = FleetRecord("").key;
  EXPECT_TRUE(store->Lookup(key)->record);
  EXPECT_ERROR(store->Put(FleetRecord("b")), StatusCode::kFailedPrecondition, "was opened read-only");
  EXPECT_ERROR(store->Remove(key), StatusCode::kFailedPrecondition, "was opened read-only");
  EXPECT_ERROR(store->PutArtifact(Fingerprint{1, 1}, Code("x")), StatusCode::kFailedPrecondition,
               "was opened read-only");
  EXPECT_EQ(*store->Lease(key, WaitLimits()), nullptr);
}

TEST_F(RedisStoreTest, AServerWithoutRoomSaysSoAndIsReadFromAllTheSame) {
  std::shared_ptr<RedisStore> store = Open(Options());
  ASSERT_OK(store->Put(FleetRecord("a")));
  server_->Ask({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_ERROR(store->Put(FleetRecord("b")), StatusCode::kResourceExhausted, "OOM");
  EXPECT_EQ(store->Lookup(FleetRecord("").key)->record->best.config, testing::NamedConfig("a"));
}

TEST_F(RedisStoreTest, ItDoesNotCrossAFork) {
  std::shared_ptr<RedisStore> store = Open(Options());
  TuningLease held = *store->Lease(FleetRecord("").key, WaitLimits());
  EXPECT_EQ(testing::InChild([&] {
              EXPECT_ERROR(store->Lookup(FleetRecord("").key), StatusCode::kFailedPrecondition, "before a fork");
              EXPECT_ERROR(store->Put(FleetRecord("a")), StatusCode::kFailedPrecondition, "before a fork");
              held = nullptr;
              store = nullptr;
            }),
            0);
  WaitLimits at_once;
  at_once.timeout_ms = 0;
  EXPECT_EQ(store->Lease(FleetRecord("").key, at_once).status().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(RedisStoreTest, WrongOptionsAreOneClearLine) {
  RedisStoreOptions options = Options();
  options.keys.clear();
  EXPECT_ERROR(RedisStore::Open(options), StatusCode::kInvalidArgument, "needs a signing key");
  options.keys = {Key("a"), Key("a")};
  EXPECT_ERROR(RedisStore::Open(options), StatusCode::kInvalidArgument, "two signing keys have the id 'a'");
  options.keys = {{"short", "hidden"}};
  EXPECT_ERROR(RedisStore::Open(options), StatusCode::kInvalidArgument, "'short' has 6 bytes");
  EXPECT_EQ(RedisStore::Open(options).status().message().find("hidden"), std::string::npos);
  options.keys = {{"no id", std::string(32, 'x')}};
  EXPECT_ERROR(RedisStore::Open(options), StatusCode::kInvalidArgument, "the id of a signing key");
  options = Options();
  options.redis.name = "a b";
  EXPECT_ERROR(RedisStore::Open(options), StatusCode::kInvalidArgument, "has the name 'a b'");
  options = Options();
  options.lease_ms = 1;
  EXPECT_ERROR(RedisStore::Open(options), StatusCode::kInvalidArgument, "lease_ms");
  options = Options();
  options.keep_days = 0;
  EXPECT_ERROR(RedisStore::Open(options), StatusCode::kInvalidArgument, "keep_days");
}

TEST(SigningKeysTest, AFileOfKeysIsReadIfItIsPrivate) {
  const std::string path = ::testing::TempDir() + "tuneonce_keys_" + std::to_string(getpid());
  auto write = [&](const std::string& text) {
    std::ofstream(path) << text;
    chmod(path.c_str(), 0600);
  };
  const std::string hex(64, 'a');
  write("# the fleet's\n\n new " + hex + "\nold " + hex + "\n");
  Result<std::vector<SigningKey>> keys = ReadSigningKeys(path);
  ASSERT_TRUE(keys.ok()) << keys.status().message();
  ASSERT_EQ(keys->size(), 2u);
  EXPECT_EQ((*keys)[0].id, "new");
  EXPECT_EQ((*keys)[1].secret, std::string(32, '\xaa'));
  for (const char* text : {"a", "a 0g", "a 123", "a 12 34"}) {
    write("# one\n" + std::string(text) + "\n");
    EXPECT_ERROR(ReadSigningKeys(path), StatusCode::kFailedPrecondition, "line 2: expected a key as 'ID HEX'");
  }
  write("# none\n");
  EXPECT_ERROR(ReadSigningKeys(path), StatusCode::kFailedPrecondition, "no signing key");
  write("a " + hex);
  chmod(path.c_str(), 0640);
  EXPECT_ERROR(ReadSigningKeys(path), StatusCode::kFailedPrecondition, "0600");
  std::remove(path.c_str());
  EXPECT_ERROR(ReadSigningKeys(path), StatusCode::kNotFound, "cannot read");
}

}  // namespace
}  // namespace tuneonce
