#include "ranks/rank_group_conformance.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "testing/expect_status.h"
#include "testing/rank_threads.h"

namespace tuneonce {
namespace {

/// Nobody waits this long unless something is wrong.
constexpr int kLongMs = 20000;
/// So short that it is over before the test is: for what is not to come.
constexpr int kShortMs = 30;

std::string Get(RankGroup& group, const std::string& name, int wait_ms = kLongMs) {
  Result<std::optional<std::string>> got = group.Get(name, wait_ms);
  EXPECT_TRUE(got.ok()) << got.status().message();
  EXPECT_TRUE(got.ok() && got->has_value()) << "rank " << group.rank() << " found nothing under " << name;
  return got.ok() && got->has_value() ? **got : "(nothing)";
}
void ExpectNothing(RankGroup& group, const std::string& name, int wait_ms) {
  Result<std::optional<std::string>> got = group.Get(name, wait_ms);
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_FALSE(got->has_value()) << "under " << name << ": " << got->value_or("");
}
std::string PutOnce(RankGroup& group, const std::string& name, const std::string& bytes) {
  Result<std::string> held = group.PutOnce(name, bytes, kLongMs);
  EXPECT_TRUE(held.ok()) << held.status().message();
  return held.ok() ? *held : "(nothing)";
}
void Put(RankGroup& group, const std::string& name, const std::string& bytes) {
  const Status put = group.Put(name, bytes);
  EXPECT_TRUE(put.ok()) << put.message();
}
/// All ranks are here: what they did before is done, and an engine that is served by a rank's calls is served.
void Meet(RankGroup& group) {
  Result<std::vector<std::string>> all = group.AllGather("here", kLongMs);
  EXPECT_TRUE(all.ok()) << all.status().message();
}
std::string Of(int rank) { return std::to_string(rank); }

void TheyKnowTheirPlaces(const NextAttempt& next) {
  std::shared_ptr<RankGroup> group = next();
  Result<std::vector<std::string>> all = group->AllGather(Of(group->rank()), kLongMs);
  ASSERT_TRUE(all.ok()) << all.status().message();
  ASSERT_EQ(all->size(), static_cast<std::size_t>(group->size()));
  for (int rank = 0; rank < group->size(); ++rank) EXPECT_EQ((*all)[static_cast<std::size_t>(rank)], Of(rank));
}

void WhatIsPutIsFoundByAll(const NextAttempt& next) {
  std::shared_ptr<RankGroup> group = next();
  Put(*group, "of/" + Of(group->rank()), "first");
  Put(*group, "of/" + Of(group->rank()), "second of " + Of(group->rank()));  // In its place.
  Meet(*group);
  for (int rank = 0; rank < group->size(); ++rank) EXPECT_EQ(Get(*group, "of/" + Of(rank)), "second of " + Of(rank));
  Meet(*group);
}

void WhatNobodyPutIsNotThere(const NextAttempt& next) {
  std::shared_ptr<RankGroup> group = next();
  ExpectNothing(*group, "nobody", 0);
  ExpectNothing(*group, "nobody", kShortMs);
  Put(*group, "somebody", "");
  ExpectNothing(*group, "somebod", 0);
  ExpectNothing(*group, "somebody/else", 0);
  EXPECT_EQ(Get(*group, "somebody"), "");  // Empty is not nothing.
  Meet(*group);
}

void BytesAndNamesOfAnyKindComeThroughWhole(const NextAttempt& next) {
  std::shared_ptr<RankGroup> group = next();
  const std::string mine = Of(group->rank());
  std::string every;
  for (int i = 0; i < 256; ++i) every.push_back(static_cast<char>(i));
  std::string large;
  for (int i = 0; i < 400; ++i) large += every;  // 100 KB: more than an engine sends in one piece.
  const std::string long_name = mine + "/" + std::string(98 - mine.size(), 'x');
  Put(*group, mine + "/every", every);
  Put(*group, mine + "/large", large + mine);
  Put(*group, long_name + "y", "y");
  EXPECT_EQ(PutOnce(*group, mine + "/once/empty", ""), "");
  EXPECT_EQ(PutOnce(*group, mine + "/once/large", large), large);
  for (int rank = 0; rank < group->size(); ++rank) {
    const std::string of = Of(rank);
    EXPECT_EQ(Get(*group, of + "/every"), every);
    EXPECT_TRUE(Get(*group, of + "/large") == large + of);
    EXPECT_EQ(Get(*group, of + "/" + std::string(98 - of.size(), 'x') + "y"), "y");
    EXPECT_EQ(Get(*group, of + "/once/empty"), "");
    EXPECT_TRUE(Get(*group, of + "/once/large") == large);
  }
  Meet(*group);
}

void OneWinsACellAndAllHaveItForEver(const NextAttempt& next) {
  std::shared_ptr<RankGroup> group = next();
  constexpr int kCells = 30;
  std::string won;
  for (int cell = 0; cell < kCells; ++cell) {
    const std::string name = absl::StrCat("cell/", cell);
    // Every other cell is asked for without a wait first, as by a rank that does other work meanwhile.
    const Result<std::string> early =
        cell % 2 == 1 ? group->PutOnce(name, "of " + Of(group->rank()), 0) : DeadlineExceededError("not asked");
    const std::string held = PutOnce(*group, name, "of " + Of(group->rank()));
    EXPECT_TRUE(early.ok() ? *early == held : early.status().code() == StatusCode::kDeadlineExceeded)
        << early.status().message();
    EXPECT_EQ(PutOnce(*group, name, "of somebody late"), held);
    EXPECT_EQ(Get(*group, name), held);
    absl::StrAppend(&won, held, ";");
  }
  Result<std::vector<std::string>> all = group->AllGather(won, kLongMs);
  ASSERT_TRUE(all.ok()) << all.status().message();
  for (const std::string& of_rank : *all) EXPECT_EQ(of_rank, won);
  for (int cell = 0; cell < kCells; ++cell) {
    const std::string held = Get(*group, absl::StrCat("cell/", cell));
    EXPECT_EQ(held.compare(0, 3, "of "), 0) << held;
    EXPECT_EQ(PutOnce(*group, absl::StrCat("cell/", cell), "of somebody later"), held);
  }
  Meet(*group);
}

void WhoWaitsHearsTheSlowOne(const NextAttempt& next) {
  std::shared_ptr<RankGroup> group = next();
  const int slow = group->size() - 1;
  if (group->rank() == slow) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3 * kShortMs));
    Put(*group, "slow", "done");
  }
  EXPECT_EQ(Get(*group, "slow"), "done");
  Meet(*group);
}

void ASilentRankIsNamedAndMayComeLate(const NextAttempt& next) {
  std::shared_ptr<RankGroup> group = next();
  const int silent = group->size() - 1;
  Meet(*group);
  if (group->rank() != silent) {
    Result<std::vector<std::string>> all = group->AllGather("said", kShortMs);
    EXPECT_EQ(all.status().code(), StatusCode::kDeadlineExceeded);
    // Others may be late, too: the last of those that are named.
    EXPECT_NE(all.status().message().find(Of(silent) + " sent nothing"), std::string::npos) << all.status().message();
    Put(*group, "over/" + Of(group->rank()), "");
  } else {
    for (int rank = 0; rank < silent; ++rank) Get(*group, "over/" + Of(rank));
    Result<std::vector<std::string>> all = group->AllGather("late", kLongMs);  // The others' words are still there.
    EXPECT_TRUE(all.ok()) << all.status().message();
  }
  // What came late is of its own turn.
  Result<std::vector<std::string>> after = group->AllGather("after", kLongMs);
  ASSERT_TRUE(after.ok()) << after.status().message();
  for (const std::string& word : *after) EXPECT_EQ(word, "after");
}

void WhatIsSentTwiceIsThereOnce(const NextAttempt& next) {
  std::shared_ptr<RankGroup> group = next();
  const std::string name = "twice/" + Of(group->rank());
  for (int i = 0; i < 20; ++i) Put(*group, name, "same");
  EXPECT_EQ(PutOnce(*group, name + "/once", "same"), "same");
  EXPECT_EQ(PutOnce(*group, name + "/once", "same"), "same");
  Meet(*group);
  for (int rank = 0; rank < group->size(); ++rank) EXPECT_EQ(Get(*group, "twice/" + Of(rank)), "same");
  Meet(*group);
}

void AMessageOfADeadAttemptIsNotTakenForOneOfThis(const NextAttempt& next) {
  {
    std::shared_ptr<RankGroup> dead = next();
    // Nobody waits for any of it: some is on its way yet when the group ends.
    Put(*dead, "message/" + Of(dead->rank()), "old");
    Put(*dead, "message", "old");
    (void)dead->PutOnce("cell", "old", 0);
  }
  std::shared_ptr<RankGroup> group = next();
  ExpectNothing(*group, "message", kShortMs);
  for (int rank = 0; rank < group->size(); ++rank) ExpectNothing(*group, "message/" + Of(rank), 0);
  EXPECT_EQ(PutOnce(*group, "cell", "new"), "new");
  Result<std::vector<std::string>> all = group->AllGather("new", kLongMs);
  ASSERT_TRUE(all.ok()) << all.status().message();
  for (const std::string& word : *all) EXPECT_EQ(word, "new");
}

void WhatADeadRankSaidIsStillThere(const NextAttempt& next) {
  std::shared_ptr<RankGroup> group = next();
  const int dead = group->size() - 1;
  if (group->rank() == dead) {
    Put(*group, "will", "of the dead");
    EXPECT_EQ(PutOnce(*group, "decision", "of the dead"), "of the dead");
    return;
  }
  EXPECT_EQ(Get(*group, "will"), "of the dead");
  EXPECT_EQ(Get(*group, "decision"), "of the dead");
  EXPECT_EQ(PutOnce(*group, "decision", "of the living"), "of the dead");
  PutOnce(*group, "goes on", "with " + Of(group->rank()));
  ExpectNothing(*group, "more", kShortMs);
}

void ACallThatCannotBeAnsweredEnds(const NextAttempt& next) {
  std::shared_ptr<RankGroup> group = next();
  for (int wait_ms : {0, 1, kShortMs}) {
    Result<std::string> held = group->PutOnce(absl::StrCat("soon/", wait_ms), "mine", wait_ms);
    EXPECT_TRUE(held.ok() || held.status().code() == StatusCode::kDeadlineExceeded) << held.status().message();
  }
  Meet(*group);
  // What could not be known then is known now.
  Result<std::vector<std::string>> all = group->AllGather(PutOnce(*group, "soon/0", "mine"), kLongMs);
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ(std::set<std::string>(all->begin(), all->end()).size(), 1u);
  Meet(*group);
}

/// Votes, decisions, code and checks over the group: a list of keys that all ranks warm up.
void TheyDistributeKeysAndExchangeCode(const NextAttempt& next) {
  std::shared_ptr<RankGroup> group = next();
  std::vector<std::int64_t> extents;  // Two keys for each rank.
  for (int i = 1; i <= 2 * group->size(); ++i) extents.push_back(10 * i);
  AutotunePolicy policy;
  policy.store = MakeMemoryStore();
  policy.search.max_rounds = 1;
  policy.ranks.group = group;
  policy.ranks.silence = std::chrono::milliseconds(kLongMs);
  policy.ranks.exchange_code = true;
  testing::RankThread rank(group->rank(), testing::ScaleKernel().Definition(), policy);
  rank.Start();
  ASSERT_TRUE(rank.kernel.has_value());
  std::vector<TunedKernel::Shape> shapes;
  for (std::int64_t n : extents) shapes.push_back({{"N", n}});
  Result<std::vector<WarmedKey>> warmed = WarmupAll(rank.cu_stream(), {{&*rank.kernel, shapes}});
  ASSERT_OK(warmed);
  std::string runs;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    EXPECT_OK((*warmed)[i].status);
    runs += rank.Runs(extents[i]) + "; ";
  }
  const std::int64_t tunes = rank.kernel->counters().tunes;
  Result<std::vector<std::string>> all = group->AllGather(absl::StrCat(tunes, "|", runs), kLongMs);
  ASSERT_OK(all);
  std::int64_t tunes_of_all = 0;
  for (const std::string& each : *all) {
    std::int64_t tuned = 0;
    ASSERT_TRUE(absl::SimpleAtoi(each.substr(0, each.find('|')), &tuned));
    tunes_of_all += tuned;
    EXPECT_EQ(each.substr(each.find('|') + 1), runs);
  }
  EXPECT_EQ(tunes_of_all, static_cast<std::int64_t>(extents.size())) << "each key is searched for once";
  EXPECT_GE(tunes, 1) << "each rank searches";
  Meet(*group);
}

}  // namespace

std::vector<RankGroupCase> RankGroupCases() {
  return {
      {"TheyKnowTheirPlaces", TheyKnowTheirPlaces},
      {"WhatIsPutIsFoundByAll", WhatIsPutIsFoundByAll},
      {"WhatNobodyPutIsNotThere", WhatNobodyPutIsNotThere},
      {"BytesAndNamesOfAnyKindComeThroughWhole", BytesAndNamesOfAnyKindComeThroughWhole},
      {"OneWinsACellAndAllHaveItForEver", OneWinsACellAndAllHaveItForEver},
      {"WhoWaitsHearsTheSlowOne", WhoWaitsHearsTheSlowOne},
      {"ASilentRankIsNamedAndMayComeLate", ASilentRankIsNamedAndMayComeLate},
      {"WhatIsSentTwiceIsThereOnce", WhatIsSentTwiceIsThereOnce},
      {"AMessageOfADeadAttemptIsNotTakenForOneOfThis", AMessageOfADeadAttemptIsNotTakenForOneOfThis},
      {"WhatADeadRankSaidIsStillThere", WhatADeadRankSaidIsStillThere, /*needs_dead_ranks=*/true},
      {"ACallThatCannotBeAnsweredEnds", ACallThatCannotBeAnsweredEnds},
      {"TheyDistributeKeysAndExchangeCode", TheyDistributeKeysAndExchangeCode},
  };
}

void RunByThreads(const RankGroupCase& each, int size,
                  const std::function<std::vector<std::shared_ptr<RankGroup>>(int attempt)>& make_attempt) {
  std::mutex mutex;
  std::vector<std::vector<std::shared_ptr<RankGroup>>> attempts;
  auto group_of = [&](int rank, std::size_t attempt) {
    std::lock_guard<std::mutex> lock(mutex);
    if (attempt >= attempts.size()) attempts.push_back(make_attempt(static_cast<int>(attempt)));
    return std::exchange(attempts[attempt][static_cast<std::size_t>(rank)], nullptr);  // It ends with its rank.
  };
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.emplace_back([&, rank] {
      std::size_t attempt = 0;
      each.body([&] { return group_of(rank, attempt++); });
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

}  // namespace tuneonce
