// What a selection can start from besides the whole list of configs, crossed with buckets, isolation, freeze and
// stored-only. tests/ranks has the crossings with ranks.
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "testing/runtimes.h"
#include "testing/search_features.h"
#include "testing/tuned_scale_test.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using testing::FeatureCase;
using testing::NameOf;
using testing::SearchFeature;

enum class Crossed { kBuckets, kIsolation, kFreeze, kStoredOnly };

/// Each test has a kernel whose stored claims hold, and one whose claims do not.
class SearchFeatureTest : public testing::TunedScaleTest,
                          public ::testing::WithParamInterface<std::tuple<SearchFeature, Crossed>> {
 protected:
  static constexpr auto kExtent = static_cast<std::size_t>(FeatureCase::kExtent);

  SearchFeature feature() const { return std::get<0>(GetParam()); }
  Crossed crossed() const { return std::get<1>(GetParam()); }
  bool is_bucketed() const { return crossed() == Crossed::kBuckets; }

  /// Returns a kernel on a store that has what the feature starts from.
  TunedKernel CreateOn(const FeatureCase& starts) {
    const auto compiler = std::make_shared<testing::WatchedToolchain>();
    AutotunePolicy maker;
    maker.search.runtime = testing::RuntimeWith(compiler);
    maker.search.timer = &timer_;
    maker.search.max_rounds = 1;
    policy_ = maker;
    policy_.store = MakeMemoryStore();
    // Code of an older toolchain that is still in the store serves.
    const bool has_code = feature() != SearchFeature::kToolchainUpdate || crossed() == Crossed::kStoredOnly;
    const auto make = [&](const KernelDefinition& definition, std::int64_t n, int max_trials) {
      maker.store = MakeMemoryStore();
      maker.search.compile.cache = has_code ? policy_.store : maker.store;
      maker.search.budgets.trials = max_trials;
      Result<TunedKernel> kernel = TunedKernel::Create(definition, maker);
      EXPECT_OK(kernel);
      Launch(*kernel, static_cast<std::size_t>(n));
      return maker.store->List()->at(0);
    };
    starts.Prepare(make, policy_.store.get());
    if (feature() == SearchFeature::kToolchainUpdate) {
      const auto updated = std::make_shared<testing::WatchedToolchain>();
      updated->update = 1;
      policy_.search.runtime = testing::RuntimeWith(updated);
    }
    starts.Apply(&policy_);
    if (crossed() == Crossed::kIsolation) {
      policy_.search.timer = nullptr;  // A worker has timers of its own.
      policy_.search.isolation = Isolation::kRequired;
    }
    if (crossed() == Crossed::kStoredOnly) policy_.mode = AutotunePolicy::Mode::kStoredOnly;
    return Create(starts.Definition());
  }
  std::string Selected(const TunedKernel& kernel) {
    Result<LaunchPlan> plan = kernel.Explain(stream_->get(), {{"N", FeatureCase::kExtent}, {"factor", 2.0}});
    EXPECT_OK(plan);
    return plan.ok() && plan->config ? plan->config->ToString() : "";
  }
  /// Returns the record of the key that is stored now, if there is one.
  std::optional<TuningRecord> Stored() {
    std::vector<TuningRecord> records = *policy_.store->List();
    const bool is_of_key = !records.empty() && records.back().tuned_at == (is_bucketed() ? "N=64" : "N=40");
    return is_of_key ? std::optional<TuningRecord>(records.back()) : std::nullopt;
  }
  static std::optional<CandidateOutcome> OutcomeOf(const TuningRecord& record, const std::string& config) {
    for (const CandidateOutcome& outcome : record.candidates) {
      if (outcome.config.ToString() == config) return outcome;
    }
    return std::nullopt;
  }

  /// What a search left that began with what the feature knows. `is_faulty`: that was of no use.
  void ExpectThatItWasUsed(bool is_faulty) {
    const std::optional<TuningRecord> record = Stored();
    ASSERT_TRUE(record);
    const std::optional<CandidateOutcome> claimed = OutcomeOf(*record, "CONFIG=1");
    switch (feature()) {
      case SearchFeature::kPrediction:
      case SearchFeature::kContinuedSearch:
      case SearchFeature::kGuidedSearch:
        EXPECT_EQ(record->SearchedText(), "searched all 8");
        return;
      case SearchFeature::kPortfolio:
        EXPECT_TRUE(claimed && claimed->kind != OutcomeKind::kNotMeasured) << "it is the portfolio";
        return;
      case SearchFeature::kDriverUpdate:
      case SearchFeature::kToolchainUpdate:
        EXPECT_EQ(record->SearchedText(), is_faulty ? "searched all 8" : "searched 4 of 8");
        return;
      case SearchFeature::kChangedList: {
        const std::optional<CandidateOutcome> kept = OutcomeOf(*record, "CONFIG=4");
        ASSERT_TRUE(kept);
        EXPECT_EQ(kept->measurement.mean_us, FeatureCase::kKeptUs);
        EXPECT_EQ(record->SearchedText(), "searched all 5");
        return;
      }
    }
  }

  testing::WorkTimer timer_;
};

TEST_P(SearchFeatureTest, WhatRunsIsCorrectAndBeginsWithWhatIsKnown) {
  const bool is_prediction = feature() == SearchFeature::kPrediction;
  const bool is_continued = feature() == SearchFeature::kContinuedSearch;
  for (const bool is_faulty : {false, true}) {
    SCOPED_TRACE(is_faulty ? "the claims do not hold" : "the claims hold");
    TunedKernel kernel = CreateOn(FeatureCase(feature(), is_faulty, is_bucketed()));
    if (crossed() == Crossed::kFreeze) ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", FeatureCase::kExtent}}}));
    if (crossed() == Crossed::kFreeze) kernel.Freeze();
    Launch(kernel, kExtent);
    const bool may_search = crossed() != Crossed::kStoredOnly;
    const bool is_predicted = is_prediction && (may_search || !is_faulty);
    const bool is_served = is_continued || (feature() == SearchFeature::kToolchainUpdate && !may_search && !is_faulty);
    const bool is_searched = may_search && !is_prediction && !is_continued;
    EXPECT_EQ(kernel.counters().predictions, is_predicted);
    EXPECT_EQ(kernel.counters().stored_hits, is_served);
    EXPECT_EQ(kernel.counters().tunes, is_searched);
    EXPECT_EQ(kernel.counters().fallbacks, !is_searched && !is_predicted && !is_served);
    ASSERT_OK(kernel.TunePending(stream_->get()));
    Launch(kernel, kExtent);
    if (is_bucketed()) {
      for (std::size_t n : {33, 48, 63, 64}) Launch(kernel, n);
    }
    const bool ends_searched = may_search && (is_searched || crossed() != Crossed::kFreeze);
    if (is_faulty) {
      EXPECT_NE(Selected(kernel), "CONFIG=1");
    }
    if (!ends_searched) continue;
    ExpectThatItWasUsed(is_faulty);
    // The times of a worker are the machine's, and another one's budget decides what the portfolio is followed by.
    if (crossed() == Crossed::kIsolation || feature() == SearchFeature::kPortfolio) continue;
    EXPECT_EQ(Selected(kernel), is_faulty ? "CONFIG=2" : "CONFIG=1");
  }
}

std::string NameOfCase(const ::testing::TestParamInfo<std::tuple<SearchFeature, Crossed>>& of_case) {
  constexpr const char* kNames[] = {"Buckets", "Isolation", "Freeze", "StoredOnly"};
  return std::string(NameOf(std::get<0>(of_case.param))) + "_" + kNames[static_cast<int>(std::get<1>(of_case.param))];
}

INSTANTIATE_TEST_SUITE_P(All, SearchFeatureTest,
                         ::testing::Combine(::testing::ValuesIn(testing::kSearchFeatures),
                                            ::testing::Values(Crossed::kBuckets, Crossed::kIsolation, Crossed::kFreeze,
                                                              Crossed::kStoredOnly)),
                         NameOfCase);

}  // namespace
}  // namespace tuneonce
