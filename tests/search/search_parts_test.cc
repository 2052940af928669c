// A search that is done in parts: what one part made the next ones have.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "search/search_engine.h"
#include "testing/expect_status.h"
#include "testing/runtimes.h"
#include "testing/scripted_search.h"
#include "tuneonce/artifact_cache.h"

namespace tuneonce::testing {
namespace {

class ListOnce final : public CandidateSource {
 public:
  explicit ListOnce(std::vector<std::size_t> places) : places_(std::move(places)) {}
  std::vector<std::size_t> Next() override { return std::exchange(places_, {}); }

 private:
  std::vector<std::size_t> places_;
};

SearchEngine::PartOptions PartOf(int max_rounds, bool checks_again) {
  SearchEngine::PartOptions part;
  part.max_rounds = max_rounds;
  part.checks_again = checks_again;
  return part;
}
const SearchEngine::PartOptions kShare = PartOf(3, false), kFinals = PartOf(300, true);

class SearchPartsTest : public ::testing::Test {
 protected:
  /// The first entry is the baseline.
  void Begin(const std::vector<std::pair<std::string, double>>& script) {
    std::vector<PlannedConfig> planned = PlannedOf(script, &runner_);
    options_.runtime = RuntimeWith(std::make_shared<FakeToolchain>());
    options_.compile.cache = &cache_;
    options_.compile.num_workers = 1;
    options_.quiet = true;
    options_.interrupted = [this] { return is_interrupted_.load(); };
    engine_.emplace("k", "M=64", Target(), planned.front().config, options_, runner_, measuring_lock_);
    engine_->BeginParts(std::move(planned));
  }
  Result<TuningResult> Run(std::vector<std::size_t> places, const SearchEngine::PartOptions& part) {
    ListOnce source(std::move(places));
    return engine_->RunPart(source, part);
  }
  static std::set<std::string> Measured(const TuningResult& result) {
    std::set<std::string> configs;
    for (const Success& success : result.successes) configs.insert(success.config.ToString());
    return configs;
  }

  ScriptedRunner runner_;
  Mutex measuring_lock_;
  MemoryArtifactCache cache_;
  SearchOptions options_;
  std::atomic<bool> is_interrupted_{false};
  std::optional<SearchEngine> engine_;
};

using Texts = std::vector<std::string>;

TEST_F(SearchPartsTest, WhatAPartLoadedAndCheckedTheNextOneOnlyRaces) {
  Begin({{"a", 30}, {"b", 10}, {"c", 10.2}, {"d", 10.1}});
  const Result<TuningResult> share = Run({0, 1, 3}, kShare);
  ASSERT_OK(share);
  EXPECT_EQ(Measured(*share), (std::set<std::string>{"i=0", "i=1", "i=3"}));
  EXPECT_EQ(runner_.ran, (Texts{"i=0", "i=1", "i=3"}));
  EXPECT_EQ(runner_.checked_again, Texts());
  EXPECT_EQ(share->cost.num_compiled, 3);

  const Result<TuningResult> finals = Run({0, 1, 2, 3}, kFinals);
  ASSERT_OK(finals);
  EXPECT_EQ(Measured(*finals), (std::set<std::string>{"i=0", "i=1", "i=2", "i=3"}));
  EXPECT_EQ(runner_.ran, (Texts{"i=0", "i=1", "i=3", "i=2"})) << "of what is new alone";
  EXPECT_EQ(std::set<std::string>(runner_.checked_again.begin(), runner_.checked_again.end()),
            (std::set<std::string>{"a", "b", "c", "d"}))
      << "what ties, and the baseline";
  EXPECT_EQ(finals->best.config.ToString(), "i=1");
  EXPECT_EQ(finals->cost.num_compiled, 1);
}

TEST_F(SearchPartsTest, APartIsAboutItsCandidatesAlone) {
  Begin({{"a", 30}, {"b", 10}, {"c", 20}, {"error", 1}, {"e", -1}});
  ASSERT_OK(Run({0, 1, 2, 3, 4}, kShare));
  const Result<TuningResult> part = Run({0, 2}, kFinals);
  ASSERT_OK(part);
  EXPECT_EQ(Measured(*part), (std::set<std::string>{"i=0", "i=2"})) << "b, which is faster, does not race";
  EXPECT_EQ(part->best.config.ToString(), "i=2");
  EXPECT_TRUE(part->failures.empty());
}

TEST_F(SearchPartsTest, NoWinnerOfAPartRunsAgainstTheBaselineOnceMore) {
  Begin({{"a", 30}, {"b", 10}});
  const Result<TuningResult> without = Run({0, 1}, kFinals);
  options_.final_rounds = 10;
  const Result<TuningResult> with = Run({0, 1}, kFinals);
  ASSERT_OK(without);
  ASSERT_OK(with);
  EXPECT_EQ(with->cost.num_launches, without->cost.num_launches - 2) << "the first part prepared both, too";
}

TEST_F(SearchPartsTest, CostsAreThoseOfThePart) {
  Begin({{"a", 30}, {"b", 10}});
  const Result<TuningResult> share = Run({0, 1}, kShare);
  ASSERT_OK(share);
  const std::int64_t launches = runner_.launches;
  EXPECT_EQ(share->cost.num_launches, launches);
  const Result<TuningResult> finals = Run({0, 1}, kFinals);
  ASSERT_OK(finals);
  EXPECT_EQ(finals->cost.num_launches, runner_.launches - launches);
}

TEST_F(SearchPartsTest, WhatFailedHasFailedInAllLaterParts) {
  Begin({{"a", 30}, {"b", -1}, {"error", 1}, {"d", 20}});
  ASSERT_OK(Run({0, 1, 2}, kShare));
  const Result<TuningResult> part = Run({0, 1, 2, 3}, kFinals);
  ASSERT_OK(part);
  ASSERT_EQ(part->failures.size(), 2u);
  EXPECT_EQ(part->failures[0].config.ToString(), "i=1");
  EXPECT_EQ(part->failures[1].config.ToString(), "i=2");
  EXPECT_EQ(runner_.ran, (Texts{"i=0", "i=1", "i=3"})) << "not tried again";
}

TEST_F(SearchPartsTest, WhatIsWrongInTheFinalsCannotWinThem) {
  Begin({{"a", 30}, {"b", 10}, {"c", 20}});
  ASSERT_OK(Run({0, 1, 2}, kShare));
  runner_.wrong_later["b"] = 1;
  const Result<TuningResult> finals = Run({0, 1, 2}, kFinals);
  ASSERT_OK(finals);
  EXPECT_EQ(finals->best.config.ToString(), "i=2");
  ASSERT_EQ(finals->failures.size(), 1u);
  EXPECT_EQ(finals->failures[0].kind, FailureKind::kWrongResult);
}

TEST_F(SearchPartsTest, WhatLeftARaceIsLoadedAgainForTheNextOne) {
  Begin({{"a", 30}, {"b", 10}, {"c", 25}});
  ASSERT_OK(Run({0, 1, 2}, kShare));
  ASSERT_EQ(runner_.released, (Texts{"c"}));
  const Result<TuningResult> part = Run({0, 2}, kFinals);
  ASSERT_OK(part);
  EXPECT_EQ(runner_.ran, (Texts{"i=0", "i=1", "i=2", "i=2"}));
  EXPECT_EQ(part->best.config.ToString(), "i=2");
}

TEST_F(SearchPartsTest, OfTwoWithTheSameCodeInTwoPartsOneIsTried) {
  Begin({{"a", 30}, {"b", 10}, {"b", 10}});
  ASSERT_OK(Run({0, 1}, kShare));
  const Result<TuningResult> part = Run({0, 2}, kFinals);
  ASSERT_OK(part);
  EXPECT_EQ(runner_.ran, (Texts{"i=0", "i=1"}));
  EXPECT_EQ(Measured(*part), (std::set<std::string>{"i=0", "i=1"}));
  ASSERT_EQ(part->duplicates.size(), 1u);
  EXPECT_EQ(part->duplicates[0].config.ToString(), "i=2");
  EXPECT_EQ(part->duplicates[0].same_as.ToString(), "i=1");
}

TEST_F(SearchPartsTest, WhereItIsEnoughTheRaceEndsAsItStandsAfterAFewRounds) {
  Begin({{"a", 30}, {"b", 10}, {"c", 10.15}});
  SearchEngine::PartOptions part = kFinals;
  const Result<TuningResult> certain = Run({0, 1, 2}, part);
  ASSERT_OK(certain);
  EXPECT_GT(certain->cost.num_rounds, 5);
  part.enough = [] { return true; };
  const Result<TuningResult> ended = Run({0, 1, 2}, part);
  ASSERT_OK(ended);
  EXPECT_EQ(ended->cost.num_rounds, 5);
  EXPECT_FALSE(ended->is_conclusive);
  EXPECT_EQ(ended->best.config.ToString(), "i=1");
}

TEST_F(SearchPartsTest, APartThatWasCancelledDoesNotSpoilTheNextOne) {
  Begin({{"a", 30}, {"b", 10}, {"c", 20}});
  runner_.on_prepare = [this](const Candidate& candidate) { is_interrupted_ = candidate.source.content == "b"; };
  EXPECT_ERROR(Run({0, 1, 2}, kShare), StatusCode::kCancelled, "cancelled");
  is_interrupted_ = false;
  runner_.on_prepare = nullptr;
  const Result<TuningResult> part = Run({0, 1, 2}, kFinals);
  ASSERT_OK(part);
  EXPECT_EQ(Measured(*part), (std::set<std::string>{"i=0", "i=1", "i=2"}));
  EXPECT_EQ(part->best.config.ToString(), "i=1");
}

}  // namespace
}  // namespace tuneonce::testing
