// The command on a fleet's store.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "cli/records_fixture.h"
#include "redis/redis_server.h"
#include "store/sqlite_store_fixture.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/redis_store.h"

namespace tuneonce {
namespace {

using testing::ArtifactOf;
using testing::Record;

class FleetCommandTest : public RecordsTest {
 protected:
  void SetUp() override {
    if (!RedisServer::IsInstalled()) GTEST_SKIP() << "there is no redis-server (scripts/install_dependencies --tests)";
    server_ = std::make_unique<RedisServer>(/*keeps=*/true);
    WriteKeys("one " + std::string(64, 'a'));
  }
  void WriteKeys(const std::string& text) {
    std::ofstream(keys_) << text << "\n";
    chmod(keys_.c_str(), 0600);
  }
  std::string Address(const std::string& name) const {
    return "redis+unix://" + server_->Options(name).unix_socket + "?name=" + name;
  }
  std::string KeysVariable() const { return "TUNEONCE_FLEET_KEYS=" + keys_; }
  nlohmann::json Ask(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    ProcessResult result = RunCli(arguments, KeysVariable());
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return nlohmann::json::parse(result.output, nullptr, false);
  }
  std::shared_ptr<SqliteStore> File(const std::string& path, bool read_only = false) {
    SqliteStoreOptions options;
    options.path = path;
    options.read_only = read_only;
    return *SqliteStore::Open(options);
  }
  void Put(const std::string& path, const TuningRecord& record) {
    std::shared_ptr<SqliteStore> store = File(path);
    ASSERT_OK(store->PutArtifact(record.best.artifact, ArtifactOf(100 + record.best.artifact.low)));
    ASSERT_OK(store->PutArtifact(record.baseline->artifact, ArtifactOf(50)));
    ASSERT_OK(store->PutArtifact(Fingerprint{99, record.best.artifact.low}, ArtifactOf(70)));  // A loser's.
    ASSERT_OK(store->Put(record));
  }

  std::unique_ptr<RedisServer> server_;
  const std::string keys_ = folder_.path() + "/keys";
};

TEST_F(FleetCommandTest, StoresAreMergedIntoItComparedWithItAndPackedOfIt) {
  Put(store_, Record(1, "slow"));
  Put(store_, Record(2, "two"));
  TuningRecord fast = Record(1, "fast");
  fast.best.measurement.mean_us = 1;
  Put(other_, fast);
  nlohmann::json json = Ask({"records", "merge", store_, other_, "-o", Address("canary")});
  EXPECT_EQ(json["records"], 2) << json;
  EXPECT_EQ(json["without_code"], 0);
  json = Ask({"records", "verify", "--store", Address("canary")});
  EXPECT_EQ(json["records"], 2);
  EXPECT_EQ(json["artifacts"], 4) << "the code that serves alone";
  // The canary's into the fleet's, which keeps what it has beside.
  Put(folder_.path() + "/c/store.db", Record(3, "three"));
  Ask({"records", "merge", folder_.path() + "/c/store.db", "-o", Address("prod")});
  Ask({"records", "merge", Address("canary"), Address("prod"), "-o", Address("prod")});
  json = Ask({"records", "list", "--store", Address("prod")});
  EXPECT_EQ(json["records"].size(), 3u);
  json = Ask({"records", "diff", store_, Address("prod")});
  EXPECT_EQ(json["same"], 1);
  EXPECT_EQ(json["differences"].size(), 2u) << json;
  const std::string packed = folder_.path() + "/packed.db";
  json = Ask({"records", "pack", "--store", Address("prod"), "-o", packed});
  EXPECT_EQ(json["records"], 3);
  EXPECT_EQ(json["code"], 6);
  EXPECT_EQ(json["store"], Address("prod"));
  std::shared_ptr<SqliteStore> shipped = File(packed, /*read_only=*/true);
  EXPECT_EQ(shipped->Lookup(fast.key)->record->best.config, fast.best.config);
  EXPECT_TRUE(shipped->GetArtifact(fast.best.artifact)->has_value());
  json = Ask({"records", "prune", "--store", Address("prod"), "--kernel", "k"});
  EXPECT_EQ(json["removed"], 3);
}

TEST_F(FleetCommandTest, AMergeIntoItselfSignsByTheNewKey) {
  Put(store_, Record(1));
  Ask({"records", "merge", store_, "-o", Address("fleet")});
  WriteKeys("two " + std::string(64, 'b') + "\none " + std::string(64, 'a'));
  Ask({"records", "merge", Address("fleet"), "-o", Address("fleet")});
  WriteKeys("two " + std::string(64, 'b'));
  nlohmann::json json = Ask({"records", "verify", "--store", Address("fleet")});
  EXPECT_EQ(json["problems"].size(), 0u) << json;
  EXPECT_EQ(json["artifacts"], 2);
  WriteKeys("one " + std::string(64, 'a'));
  ProcessResult old = RunCli({"records", "verify", "--store", Address("fleet")}, KeysVariable());
  EXPECT_NE(old.exit_code, 0);
  EXPECT_NE(old.output.find("signed by the key 'two', which is not trusted here"), std::string::npos) << old.output;
}

TEST_F(FleetCommandTest, WhatIsWrongIsOneClearLine) {
  Put(store_, Record(1));
  ExpectOneLineError({"records", "list", "--store", Address("fleet")}, "TUNEONCE_FLEET_KEYS");
  ExpectOneLineError({"records", "list", "--store", "redis://"}, "has no host", KeysVariable());
  ExpectOneLineError({"records", "list", "--store", "redis://127.0.0.1:1/fleet"}, "redis://127.0.0.1:1/fleet",
                     KeysVariable());
  ExpectOneLineError({"records", "merge", store_, "-o", "redis://127.0.0.1:1/fleet"}, "redis://127.0.0.1:1/fleet",
                     KeysVariable());
  chmod(keys_.c_str(), 0644);
  ExpectOneLineError({"records", "list", "--store", Address("fleet")}, "0600", KeysVariable());
  EXPECT_FALSE(IsRedisAddress(store_));
}

}  // namespace
}  // namespace tuneonce
