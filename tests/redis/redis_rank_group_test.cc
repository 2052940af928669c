#include "tuneonce/redis_rank_group.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "ranks/rank_group_conformance.h"
#include "redis/redis_server.h"

namespace tuneonce {
namespace {

std::shared_ptr<RankGroup> Rank(const RedisServer& server, const std::string& group, int rank, int size) {
  RedisRankOptions options;
  options.redis = server.Options(group);
  options.rank = rank;
  options.size = size;
  Result<std::shared_ptr<RankGroup>> made = MakeRedisRank(options);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? *made : nullptr;
}

class RedisRanksTest : public ::testing::TestWithParam<RankGroupCase> {
 protected:
  void SetUp() override {
    if (!RedisServer::IsInstalled()) GTEST_SKIP() << "there is no redis-server (scripts/install_dependencies --tests)";
  }
};

TEST_P(RedisRanksTest, Conforms) {
  RedisServer server(/*keeps=*/false);
  for (int size : {2, 5}) {
    RunByThreads(GetParam(), size, [&](int attempt) {
      std::vector<std::shared_ptr<RankGroup>> ranks;
      for (int rank = 0; rank < size; ++rank) {
        ranks.push_back(Rank(server, absl::StrCat("job", size, ".", attempt), rank, size));
      }
      return ranks;
    });
  }
}
INSTANTIATE_TEST_SUITE_P(, RedisRanksTest, ::testing::ValuesIn(RankGroupCases()),
                         [](const auto& about) { return about.param.name; });

class RedisRankGroupTest : public RedisRanksTest {};

TEST_F(RedisRankGroupTest, ARankThatWasHereBeforeIsRefusedAndSoIsOneOfAnotherSize) {
  RedisServer server(/*keeps=*/false);
  std::shared_ptr<RankGroup> first = Rank(server, "job", 0, 2);
  RedisRankOptions again;
  again.redis = server.Options("job");
  again.size = 2;
  Result<std::shared_ptr<RankGroup>> made = MakeRedisRank(again);
  EXPECT_EQ(made.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(made.status().message().find("joined before"), std::string::npos) << made.status().message();
  again.rank = 1;
  again.size = 3;
  made = MakeRedisRank(again);
  EXPECT_NE(made.status().message().find("has 2 ranks, not 3"), std::string::npos) << made.status().message();
  again.rank = 3;
  EXPECT_EQ(MakeRedisRank(again).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(RedisRankGroupTest, AServerThatIsAwayForAMomentIsWaitedForAndOneThatStaysAwayIsAnError) {
  RedisServer server(/*keeps=*/false);
  RedisRankOptions options;
  options.redis = server.Options("job");
  options.redis.timeout_ms = 50;
  options.patience_ms = 20000;
  std::shared_ptr<RankGroup> patient = *MakeRedisRank(options);
  ASSERT_TRUE(patient->Put("x", "there").ok());
  server.Stop();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    server.Continue();
  });
  Result<std::optional<std::string>> got = patient->Get("x", 0);
  later.join();
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(got->value_or("nothing"), "there");
  options.redis.name = "hasty";
  options.patience_ms = 100;
  std::shared_ptr<RankGroup> hasty = *MakeRedisRank(options);
  server.Stop();
  EXPECT_EQ(hasty->Put("x", "").code(), StatusCode::kUnavailable);
  EXPECT_EQ(hasty->Get("x", 0).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(hasty->PutOnce("x", "", 0).status().code(), StatusCode::kDeadlineExceeded);  // It may have been put.
  server.Continue();
}

TEST_F(RedisRankGroupTest, AfterARestartNothingIsAgreedOnUnlessTheServerKeepsAll) {
  for (bool keeps : {false, true}) {
    RedisServer server(keeps);
    RedisRankOptions options;
    options.redis = server.Options("job");
    options.survives_restart = keeps;
    std::shared_ptr<RankGroup> rank = *MakeRedisRank(options);
    ASSERT_EQ(rank->PutOnce("selection", "first", 1000).status().message(), "");
    server.Kill();
    server.Start();
    Result<std::string> held = rank->PutOnce("selection", "second", 1000);
    if (keeps) {
      EXPECT_EQ(*held, "first");
      continue;
    }
    EXPECT_EQ(held.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_NE(held.status().message().find("start the job again"), std::string::npos) << held.status().message();
    EXPECT_FALSE(rank->Put("x", "").ok());
    EXPECT_FALSE(rank->Get("selection", 0).ok());
  }
}

TEST_F(RedisRankGroupTest, AServerThatWasEmptiedIsNoticed) {
  RedisServer server(/*keeps=*/false);
  std::shared_ptr<RankGroup> rank = Rank(server, "job", 0, 1);
  EXPECT_EQ(*rank->PutOnce("selection", "first", 1000), "first");
  server.Ask({"FLUSHALL"});
  EXPECT_EQ(rank->PutOnce("selection", "second", 1000).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(rank->Put("x", "").code(), StatusCode::kFailedPrecondition);
}

TEST_F(RedisRankGroupTest, WhatIsLeftOfAGroupExpires) {
  RedisServer server(/*keeps=*/false);
  RedisRankOptions options;
  options.redis = server.Options("job");
  options.expiry_seconds = 100;
  std::shared_ptr<RankGroup> rank = *MakeRedisRank(options);
  ASSERT_TRUE(rank->Put("x", "").ok());
  EXPECT_EQ(server.Ask({"DBSIZE"}), "1");
  const int left = std::stoi(server.Ask({"TTL", "tuneonce:{job}:ranks"}));
  EXPECT_TRUE(left > 0 && left <= 100) << left;
}

TEST_F(RedisRankGroupTest, APasswordIsUsedAndAWrongOneIsAClearErrorThatDoesNotRepeatIt) {
  RedisServer server(/*keeps=*/false, {"--requirepass", "open sesame"});
  RedisRankOptions options;
  options.redis = server.Options("job");
  EXPECT_EQ(MakeRedisRank(options).status().code(), StatusCode::kFailedPrecondition);
  options.redis.password = "swordfish";
  Result<std::shared_ptr<RankGroup>> refused = MakeRedisRank(options);
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.status().message().find("swordfish"), std::string::npos) << refused.status().message();
  options.redis.password = "open sesame";
  Result<std::shared_ptr<RankGroup>> rank = MakeRedisRank(options);
  ASSERT_TRUE(rank.ok()) << rank.status().message();
  EXPECT_TRUE((*rank)->Put("x", "").ok());
}

}  // namespace
}  // namespace tuneonce
