// What a selection can start from besides the whole list of configs, in ranks that agree. The crossing suite has the
// crossings with buckets, isolation, freeze and stored-only.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "testing/rank_threads.h"
#include "testing/runtimes.h"
#include "testing/search_features.h"
#include "testing/work_timer.h"

namespace tuneonce::testing {
namespace {

class SearchFeatureInRanksTest : public ::testing::TestWithParam<SearchFeature> {
 protected:
  /// Returns two ranks with one store, in which the feature finds what it starts from.
  RankThreads RanksOn(const FeatureCase& starts) {
    RankThreads ranks(2);
    const std::shared_ptr<RecordStore> store = ranks.policies[0].store;
    const auto compiler = std::make_shared<WatchedToolchain>();
    const auto make = [&](const KernelDefinition& definition, std::int64_t n, int max_trials) {
      RankThreads maker(1);
      AutotunePolicy& policy = maker.policies[0];
      policy.ranks = RankPolicy();
      policy.search.runtime = RuntimeWith(compiler);
      policy.search.timer = &timer_;
      policy.search.budgets.trials = max_trials;
      if (GetParam() != SearchFeature::kToolchainUpdate) policy.search.compile.cache = store;
      maker.definitions = {definition};
      maker.Run([&](RankThread& only) { EXPECT_OK(only.Launch(static_cast<std::size_t>(n))); });
      return policy.store->List()->at(0);
    };
    starts.Prepare(make, store.get());
    if (GetParam() == SearchFeature::kToolchainUpdate) compiler->update = 1;
    for (AutotunePolicy& policy : ranks.policies) {
      policy.store = store;
      policy.search.runtime = RuntimeWith(compiler);
      policy.search.timer = &timer_;
      starts.Apply(&policy);
    }
    ranks.definitions.assign(2, starts.Definition());
    return ranks;
  }

  WorkTimer timer_;
};

TEST_P(SearchFeatureInRanksTest, OneRankSearchesAndAllRunOneCorrectConfig) {
  const bool is_served = GetParam() == SearchFeature::kContinuedSearch;
  for (const bool is_faulty : {false, true}) {
    SCOPED_TRACE(is_faulty ? "the claims do not hold" : "the claims hold");
    RankThreads ranks = RanksOn(FeatureCase(GetParam(), is_faulty, /*is_bucketed=*/false));
    std::atomic<std::int64_t> tunes{0}, predictions{0};
    std::vector<std::string> runs(2);
    ranks.Run([&](RankThread& rank) {
      EXPECT_OK(rank.Warmup(FeatureCase::kExtent));
      tunes += rank.kernel->counters().tunes;
      predictions += rank.kernel->counters().predictions;
      runs[static_cast<std::size_t>(rank.rank)] = rank.Runs(FeatureCase::kExtent);
      EXPECT_OK(rank.Launch(FeatureCase::kExtent));
      EXPECT_OK(rank.kernel->TunePending(rank.cu_stream()));
      EXPECT_OK(rank.Launch(FeatureCase::kExtent));
    });
    EXPECT_EQ(tunes, is_served ? 0 : 1);
    EXPECT_EQ(predictions, 0) << "ranks do not predict";
    EXPECT_EQ(runs[0], runs[1]);
    if (is_faulty) {
      EXPECT_NE(runs[0], "CONFIG=1");
    } else if (!is_served) {
      EXPECT_EQ(runs[0], "CONFIG=1");
    }
    const bool is_update = GetParam() == SearchFeature::kDriverUpdate || GetParam() == SearchFeature::kToolchainUpdate;
    if (is_update) {
      EXPECT_EQ(ranks.policies[0].store->List()->back().SearchedText(),
                is_faulty ? "searched all 8" : "searched 4 of 8");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SearchFeatureInRanksTest, ::testing::ValuesIn(kSearchFeatures),
                         [](const auto& param) { return std::string(NameOf(param.param)); });

}  // namespace
}  // namespace tuneonce::testing
