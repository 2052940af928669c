// The protocol by which ranks divide the searches of a list among each other, without kernels: who searches for what,
// and what is sent.
#include "ranks/agreement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ranks/agree.h"
#include "testing/expect_status.h"

namespace tuneonce::testing {
namespace {

/// The distribution itself, without kernels: the votes of ranks, and who searches for which key.
class DistributionTest : public ::testing::Test {
 protected:
  static KeyVote VoteFor(const std::string& key, std::uint64_t cost) {
    KeyVote vote;
    vote.key = vote.search = Fingerprinter().Add(key).Finish();
    vote.cost = cost;
    return vote;
  }
  static Vote VoteForCosts(const std::vector<std::uint64_t>& costs) {
    Vote vote;
    vote.kind = "a";
    for (std::uint64_t cost : costs) vote.keys.push_back(VoteFor("key" + std::to_string(cost), cost));
    return vote;
  }
  /// The agreement of a rank that has all votes.
  static Agreement Voted(int rank, const std::vector<Vote>& votes) {
    Agreement::Options options;
    options.rank = rank;
    options.size = static_cast<int>(votes.size());
    options.mixed_kinds = true;
    Agreement agreement(options, votes[static_cast<std::size_t>(rank)]);
    agreement.Posted(agreement.bytes());
    for (int other = 0; other < options.size; ++other) {
      if (other != rank) EXPECT_OK(agreement.Heard(other, EncodeVote(votes[static_cast<std::size_t>(other)])));
    }
    return agreement;
  }
  /// The costs of the searches that each rank is dealt, from its own view; all ranks must come to the same.
  static std::vector<std::multiset<std::uint64_t>> Distribute(const std::vector<Vote>& votes) {
    std::vector<std::multiset<std::uint64_t>> costs(votes.size());
    const int size = static_cast<int>(votes.size());
    for (int rank = 0; rank < size; ++rank) {
      const Agreement agreement = Voted(rank, votes);
      for (std::size_t key : agreement.OwnSearches()) {
        costs[static_cast<std::size_t>(rank)].insert(votes[static_cast<std::size_t>(rank)].keys[key].cost);
      }
    }
    return costs;
  }
};

TEST_F(DistributionTest, SearchesAreDealtTheMostExpensiveFirst) {
  const Vote vote = VoteForCosts({1, 6, 5, 4, 3, 2, 7});
  EXPECT_EQ(Distribute({vote, vote}), (std::vector<std::multiset<std::uint64_t>>{{7, 4, 3}, {6, 5, 2, 1}}));
}

TEST_F(DistributionTest, SearchesOfAKernelAreDealtToFewRanks) {
  Vote vote;
  vote.kind = "a";
  const std::vector<std::string> kernels = {"attention", "matmul", "norm", "rope"};
  for (std::uint64_t i = 0; i < 40; ++i) {
    vote.keys.push_back(VoteFor("key" + std::to_string(i), 10 + i));
    // Half of the cost is the first kernel's.
    vote.keys.back().definition = Fingerprinter().Add(kernels[i % 2 == 0 ? 0 : 1 + i / 2 % 3]).Finish();
  }
  const std::vector<Vote> votes(4, vote);
  std::map<Fingerprint, std::set<int>> ranks_of;
  std::vector<std::uint64_t> load(4);
  for (int rank = 0; rank < 4; ++rank) {
    const Agreement agreement = Voted(rank, votes);
    for (std::size_t key : agreement.OwnSearches()) {
      ranks_of[vote.keys[key].definition].insert(rank);
      load[static_cast<std::size_t>(rank)] += vote.keys[key].cost;
    }
  }
  std::size_t pairs = 0;
  for (const auto& [kernel, ranks] : ranks_of) pairs += ranks.size();
  EXPECT_LE(pairs, 4u + 3) << "kernels and the limits between four ranks; 16 if each rank had each kernel";
  EXPECT_LE(*std::max_element(load.begin(), load.end()), 1.25 * *std::min_element(load.begin(), load.end()));
}

TEST_F(DistributionTest, CostsMayBeNothingOrAnything) {
  const Vote vote = VoteForCosts({0, 1, ~std::uint64_t{0}, ~std::uint64_t{0} - 1});
  const auto costs = Distribute({vote, vote});
  EXPECT_EQ(costs[0].size() + costs[1].size(), 4u);
  EXPECT_EQ(costs[0].count(~std::uint64_t{0}) + costs[1].count(~std::uint64_t{0}), 1u);
}

TEST_F(DistributionTest, TheOrderOfAListChangesNothing) {
  Vote forward;
  forward.kind = "a";
  for (std::uint64_t cost : {1, 9, 5, 5})
    forward.keys.push_back(VoteFor("key" + std::to_string(forward.keys.size()), cost));
  forward.keys[1].search = forward.keys[0].search;  // One search serves both, whose costs differ.
  Vote backward = forward;
  std::reverse(backward.keys.begin(), backward.keys.end());
  const auto costs = Distribute({forward, backward});
  std::multiset<std::uint64_t> all = costs[0];
  all.insert(costs[1].begin(), costs[1].end());
  EXPECT_EQ(all, (std::multiset<std::uint64_t>{1, 5, 5, 9})) << "each key is searched for by one rank";
  EXPECT_EQ(costs, Distribute({forward, forward}));
}

TEST_F(DistributionTest, RanksOfAKindShareAmongEachOther) {
  Vote a, b;
  a.kind = "a";
  b.kind = "b";
  for (int i = 0; i < 4; ++i) a.keys.push_back(VoteFor("key" + std::to_string(i), 1));
  b.keys = a.keys;
  const auto costs = Distribute({a, b, a, b});
  for (const auto& rank : costs) EXPECT_EQ(rank.size(), 2u);
}

TEST_F(DistributionTest, ARankThatMayNotSearchHasNoShare) {
  Vote searches, may_not;
  searches.kind = may_not.kind = "a";
  for (int i = 0; i < 4; ++i) searches.keys.push_back(VoteFor("key" + std::to_string(i), 1));
  may_not.keys = searches.keys;
  for (KeyVote& key : may_not.keys) key.state = KeyVote::kMayNotSearch;
  const auto costs = Distribute({may_not, searches, searches});
  EXPECT_EQ(costs[0].size(), 0u);
  EXPECT_EQ(costs[1].size(), 2u);
  EXPECT_EQ(costs[2].size(), 2u);
}

/// Who takes which search, over a table of cells that are written once. Four searches of the costs 4 to 1 are dealt to
/// two ranks: 4 and 1, and 3 and 2.
class ClaimTest : public DistributionTest {
 protected:
  using Want = Agreement::Want;

  ClaimTest() {
    const Vote vote = VoteForCosts({4, 3, 2, 1});
    for (int rank = 0; rank < 2; ++rank) ranks_.push_back(Voted(rank, {vote, vote}));
  }
  /// Writes what a rank wants to write.
  void Post(Agreement& rank) {
    ASSERT_EQ(rank.want(), Want::kPost);
    rank.Posted(cells_.try_emplace(rank.cell(), rank.bytes()).first->second);
  }
  /// Finds the config of the only key that a rank searches for, and returns its cost.
  std::uint64_t Find(Agreement& rank, const Result<std::string>& record = std::string("record")) {
    EXPECT_EQ(rank.want(), Want::kFind);
    const std::vector<std::size_t> wanted = rank.wanted();
    EXPECT_EQ(wanted.size(), 1u);
    rank.Found(wanted.front(), record);
    return kMostExpensive - wanted.front();
  }
  void Search(Agreement& rank, std::uint64_t cost) {
    EXPECT_EQ(Find(rank), cost);
    Post(rank);
  }
  /// Makes ready what a rank wants to have ready, until it waits for others, and returns the costs of these keys.
  std::multiset<std::uint64_t> MakeReadyAndWait(Agreement& rank) {
    std::multiset<std::uint64_t> costs;
    while (rank.want() == Want::kMakeReady) {
      const std::size_t key = rank.wanted().front();
      costs.insert(kMostExpensive - key);
      rank.Ready(key, Fingerprinter().Add(rank.DecisionOf(key)).Finish());
    }
    EXPECT_EQ(rank.want(), Want::kHear);
    return costs;
  }

  static constexpr std::uint64_t kMostExpensive = 4;
  std::vector<Agreement> ranks_;
  std::map<std::string, std::string> cells_;
};

TEST_F(ClaimTest, ARankThatIsDoneTakesWhatAnotherHasNotStarted) {
  Search(ranks_[1], 3);
  Post(ranks_[1]);  // Its claim.
  Search(ranks_[1], 2);
  EXPECT_EQ(ranks_[1].ToTake(), std::size_t{3});
  Post(ranks_[1]);
  Search(ranks_[1], 1);
  MakeReadyAndWait(ranks_[1]);
  EXPECT_EQ(ranks_[1].awaited(), std::vector<int>{0}) << "its owner has started on the first one";
  Search(ranks_[0], 4);
  for (int i = 0; i < 2; ++i) Post(ranks_[0]);  // It finds that its second one was taken, and those of the other one.
  MakeReadyAndWait(ranks_[0]);
  EXPECT_EQ(ranks_[0].awaited(), std::vector<int>{1});
}

TEST_F(ClaimTest, ARankThatWaitsForASearchMakesReadyWhatIsDecided) {
  Search(ranks_[1], 3);
  Post(ranks_[1]);
  EXPECT_EQ(ranks_[1].want(), Want::kFind) << "its searches come first";
  Search(ranks_[1], 2);
  Post(ranks_[1]);
  Search(ranks_[1], 1);
  EXPECT_EQ(MakeReadyAndWait(ranks_[1]), (std::multiset<std::uint64_t>{1, 2, 3}));
  Search(ranks_[0], 4);
  ASSERT_OK(ranks_[1].Heard(0, cells_.at(ranks_[1].CellOf(0))));
  EXPECT_EQ(ranks_[1].want(), Want::kMakeReady);
  EXPECT_EQ(ranks_[1].wanted(), std::vector<std::size_t>{0}) << "what was made ready stays so";
}

TEST_F(ClaimTest, ARankWhoseCellsAreKnownLateGoesOnAndClaimsAhead) {
  const Vote vote = VoteForCosts({7, 6, 5, 4, 3, 2, 1});
  Agreement rank = Voted(1, {vote, vote});
  const auto find = [&](std::uint64_t cost) {
    ASSERT_EQ(rank.want(), Want::kFind);
    ASSERT_EQ(rank.wanted(), std::vector<std::size_t>{7 - cost});
    rank.Found(rank.wanted().front(), std::string("record"));
  };
  const auto postpone = [&] {
    ASSERT_EQ(rank.want(), Want::kPost);
    ASSERT_TRUE(rank.MayPostpone());
    cells_.try_emplace(rank.cell(), rank.bytes());
    rank.Postponed();
  };
  find(6);  // It was dealt 6, 5, 2 and 1.
  postpone();
  EXPECT_FALSE(rank.MayPostpone()) << "it has nothing to search for before it knows who owns the next one";
  Post(rank);
  postpone();  // What was found for 6.
  postpone();  // The claim of 2. That of 1 is left to others.
  find(5);
  for (int i = 0; i < 3; ++i) Post(rank);
  find(2);
  Post(rank);
  Post(rank);
  find(1);
  EXPECT_EQ(cells_.size(), 6u) << "three decisions, and three claims";
}

TEST_F(ClaimTest, OneOfTwoRanksThatClaimAtOnceSearches) {
  Search(ranks_[0], 4);
  Search(ranks_[1], 3);
  Post(ranks_[1]);
  Search(ranks_[1], 2);
  // Both want to claim the last one.
  EXPECT_EQ(ranks_[0].cell(), ranks_[1].cell());
  Post(ranks_[1]);
  Post(ranks_[0]);
  EXPECT_EQ(ranks_[0].want(), Want::kPost) << "it claims the next one";
  Search(ranks_[1], 1);
}

TEST_F(ClaimTest, ARankWhoseSearchFailedLeavesOtherSearchesToOthers) {
  EXPECT_EQ(Find(ranks_[1], InternalError("no config is correct")), 3u);
  Post(ranks_[1]);
  Post(ranks_[1]);
  Search(ranks_[1], 2);
  EXPECT_EQ(MakeReadyAndWait(ranks_[1]), (std::multiset<std::uint64_t>{2})) << "it does not take the search of cost 1";
  Search(ranks_[0], 4);
  Post(ranks_[0]);
  Search(ranks_[0], 1);
}

TEST_F(ClaimTest, ARankThatMayNotSearchAnyMoreStillTakesOverFromALostRank) {
  Search(ranks_[1], 3);
  Post(ranks_[1]);
  Search(ranks_[1], 2);
  ranks_[1].TakeNoMore();
  MakeReadyAndWait(ranks_[1]);
  ranks_[1].Silent(0, "was silent");
  EXPECT_EQ(ranks_[1].ToTake(), std::nullopt);
  Post(ranks_[1]);
  Post(ranks_[1]);
  EXPECT_EQ(ranks_[1].wanted().size(), 2u) << "nobody else is left";
  // The lost rank was only slow.
  EXPECT_EQ(Find(ranks_[0]), 4u);
  Post(ranks_[0]);
  EXPECT_EQ(ranks_[0].outcome(0).code(), StatusCode::kDeadlineExceeded);
}

TEST_F(ClaimTest, ARankThatLeavesASearchStillTakesItOverFromALostRank) {
  Search(ranks_[1], 3);
  Post(ranks_[1]);
  Search(ranks_[1], 2);
  ASSERT_EQ(ranks_[1].ToTake(), std::size_t{3});
  ranks_[1].Leave(3);
  EXPECT_EQ(ranks_[1].ToTake(), std::nullopt);
  MakeReadyAndWait(ranks_[1]);
  ranks_[1].Silent(0, "was silent");
  for (int i = 0; i < 2; ++i) {
    if (ranks_[1].ToTake()) ranks_[1].Leave(*ranks_[1].ToTake());
    Post(ranks_[1]);
  }
  EXPECT_EQ(ranks_[1].wanted().size(), 2u) << "nobody else is left";
}

TEST_F(ClaimTest, ARankThatLeavesASearchTakesAnother) {
  const Vote vote = VoteForCosts({6, 5, 4, 3, 2, 1});  // Rank 0 is dealt 6, 3 and 2.
  Agreement rank = Voted(1, {vote, vote});
  for (int i = 0; i < 3; ++i) {
    rank.Found(rank.wanted().front(), std::string("record"));
    Post(rank);
    if (i < 2) Post(rank);
  }
  ASSERT_EQ(rank.ToTake(), std::size_t{4});
  rank.Leave(4);
  EXPECT_EQ(rank.ToTake(), std::size_t{3});
}

TEST_F(ClaimTest, ARankStartsASearchThatWaitsForNoCodeFirst) {
  const Vote vote = VoteForCosts({6, 5, 4, 3, 2, 1});  // Rank 0 is dealt 6, 3 and 2.
  Agreement rank = Voted(0, {vote, vote});
  std::vector<std::size_t> found;
  for (int i = 0; i < 3; ++i) {
    found.push_back(rank.wanted().front());
    rank.Found(found.back(), std::string("record"));
    rank.NoteWaits([&](std::size_t key) { return key == 3; });  // The most expensive one that is left.
    Post(rank);
    if (i < 2) Post(rank);
  }
  EXPECT_EQ(found, (std::vector<std::size_t>{0, 4, 3}));
}

class AskedRankTest : public ClaimTest, public ::testing::WithParamInterface<AgreementWork::Taking> {};

TEST_P(AskedRankTest, ARankIsAskedWhetherItTakesASearch) {
  const Vote vote = VoteForCosts({4, 3, 2, 1});
  const std::vector<std::shared_ptr<RankGroup>> groups = MakeThreadRanks(2);
  std::atomic<bool> is_asked{false};
  std::vector<std::vector<std::size_t>> found(2);  // By rank.
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      Agreement::Options options;
      options.rank = rank;
      options.size = 2;
      Agreement agreement(options, vote);
      AgreementWork work;
      work.find = [&](std::size_t key, const Agreement&, RankBeat&) -> Result<std::string> {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (rank == 0 && !is_asked && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        found[static_cast<std::size_t>(rank)].push_back(key);
        return "record" + std::to_string(key);
      };
      work.taking = [&](std::size_t, RankBeat&) {
        is_asked = true;
        return GetParam();
      };
      work.make_ready = [](std::size_t key, const Agreement& agreed, RankBeat&) -> Result<Fingerprint> {
        return Fingerprinter().Add(agreed.DecisionOf(key)).Finish();
      };
      std::set<int> silent;
      Agree(*groups[static_cast<std::size_t>(rank)], /*silence_ms=*/20000, work, &agreement, &silent);
      for (std::size_t key = 0; key < vote.keys.size(); ++key) EXPECT_OK(agreement.outcome(key));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(is_asked);
  EXPECT_EQ(found, (std::vector<std::vector<std::size_t>>{{0, 3}, {1, 2}}));
}

INSTANTIATE_TEST_SUITE_P(Answers, AskedRankTest,
                         ::testing::Values(AgreementWork::Taking::kLeavesThis, AgreementWork::Taking::kTakesNoMore));

}  // namespace
}  // namespace tuneonce::testing
