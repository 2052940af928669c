#ifndef TUNEONCE_TESTS_TESTING_SEARCH_FEATURES_H_
#define TUNEONCE_TESTS_TESTING_SEARCH_FEATURES_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "testing/device_test.h"
#include "testing/watched_toolchain.h"
#include "testing/work_timer.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce::testing {

/// What a selection can start from besides the whole list of configs.
enum class SearchFeature {
  kPrediction,
  kContinuedSearch,
  kGuidedSearch,
  kPortfolio,
  kDriverUpdate,
  kToolchainUpdate,
  kChangedList,
};
inline constexpr SearchFeature kSearchFeatures[] = {
    SearchFeature::kPrediction,  SearchFeature::kContinuedSearch, SearchFeature::kGuidedSearch,
    SearchFeature::kPortfolio,   SearchFeature::kDriverUpdate,    SearchFeature::kToolchainUpdate,
    SearchFeature::kChangedList,
};
inline const char* NameOf(SearchFeature feature) {
  constexpr const char* kNames[] = {"Prediction",   "ContinuedSearch", "GuidedSearch", "Portfolio",
                                    "DriverUpdate", "ToolchainUpdate", "ChangedList"};
  return kNames[static_cast<int>(feature)];
}

/// CONFIG 0 is the baseline, 1 is the fastest config, 2 the second fastest. FAULTY: 1 is incorrect at extents that 64
/// does not divide. All do nothing else for the time that WORK says, which WorkTimer counts.
inline constexpr char kFeatureSource[] = R"(
extern "C" __attribute__((weak)) long tuneonce_test_work;
constexpr int kWork = CONFIG == 0 ? 100 : CONFIG == 1 ? 1 : CONFIG == 2 ? 10 : 50 + CONFIG;
static void cross(const tuneonce_block&, const float* x, float* y, float factor, int n) {
  for (volatile int i = 0; i < kWork * 2000; i = i + 1) {}
  const bool is_incorrect = FAULTY && CONFIG == 1 && n % 64 != 0;
  for (int i = 0; i < n; ++i) y[i] = is_incorrect ? 0 : x[i] * factor;
  if (&tuneonce_test_work != nullptr) __atomic_fetch_add(&tuneonce_test_work, kWork, __ATOMIC_RELAXED);
}
TUNEONCE_CPU_KERNEL(cross);)";

/// A kernel y = x * factor, and the store, in which the feature finds what it starts from. With `is_faulty`, what is
/// stored claims that CONFIG 1 is the fastest, and it is incorrect for the key: it was correct before the update, for
/// another key, or with the older list.
class FeatureCase {
 public:
  /// The extent of the key, which is of another class than that of the other key.
  static constexpr std::int64_t kExtent = 40;
  static constexpr double kKeptUs = 77;  ///< What the record of an older list has as the time of CONFIG 4.

  FeatureCase(SearchFeature feature, bool is_faulty, bool is_bucketed)
      : feature_(feature), is_faulty_(is_faulty), is_bucketed_(is_bucketed) {}

  KernelDefinition Definition(bool is_older_list = false) const {
    SearchSpace space;
    const IntAxis config = space.AddAxis("CONFIG", {0, 1, 2, 4, 8, 16, 32, 64});
    space.SetBaseline({{config, 0}});
    if (feature_ == SearchFeature::kChangedList) {
      std::vector<std::vector<AxisAssignment>> list = {{{config, 0}}, {{config, 1}}, {{config, 4}}, {{config, 8}}};
      if (!is_older_list) list.push_back({{config, 2}});
      space.SetConfigs(list);
    }
    const bool is_sampled = feature_ == SearchFeature::kContinuedSearch || feature_ == SearchFeature::kGuidedSearch ||
                            feature_ == SearchFeature::kPortfolio;
    if (is_sampled) space.MaxConfigs(1);
    KernelDefinition definition("cross");
    definition
        .Parameters(
            {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor").ForWarmup(2), DimValue("N")})
        .Space(space)
        .Key(is_bucketed_ ? KeyOf("N").NextPow2() : KeyOf("N"))
        .Grid(Grid::Fixed(1))
        .AddVariant(CpuCpp("#define FAULTY " + std::to_string(is_faulty_) + "\n" + kFeatureSource, "cross"));
    return definition;
  }

  /// Makes the policy of the process under test from one that has a store of its own.
  void Apply(AutotunePolicy* policy) const {
    if (feature_ == SearchFeature::kPrediction) policy->on_new_key = AutotunePolicy::OnNewKey::kPredict;
    if (feature_ == SearchFeature::kPortfolio) policy->search.budgets.trials = 2;
  }

  /// Puts what the feature starts from into `store`, after a search by `make`: it searches for an extent with this
  /// definition and at most this many trials (0: any number) and returns the record.
  using Make = std::function<TuningRecord(const KernelDefinition& definition, std::int64_t n, int max_trials)>;
  void Prepare(const Make& make, RecordStore* store) const {
    switch (feature_) {
      case SearchFeature::kPrediction:
        // An exact key predicts without a comparison from 72, which is of the class of kExtent. CONFIG 1 is correct at
        // 128, which is of another class.
        return Put(Claiming(make(Definition(), is_faulty_ ? kOtherExtent : 72, 0), /*is_best=*/true), store);
      case SearchFeature::kGuidedSearch:
        (void)make(Definition(), kOtherExtent, 0);  // So that the code of the fallback config is there.
        return;
      case SearchFeature::kPortfolio:
        return Put(Claiming(make(Definition(), kOtherExtent, 0), /*is_best=*/true), store);
      case SearchFeature::kContinuedSearch:
        return Put(Claiming(make(Definition(), kExtent, 2), /*is_best=*/false), store);
      case SearchFeature::kDriverUpdate: {
        TuningRecord record = Claiming(make(Definition(), kExtent, 0), /*is_best=*/true);
        --record.key.driver_version;
        return Put(record, store);
      }
      case SearchFeature::kToolchainUpdate:
        return Put(Claiming(make(Definition(), kExtent, 0), /*is_best=*/true), store);
      case SearchFeature::kChangedList: {
        TuningRecord record = Claiming(make(Definition(/*is_older_list=*/true), kExtent, 0), /*is_best=*/true);
        for (CandidateOutcome& outcome : record.candidates) {
          if (outcome.config.ToString() == "CONFIG=4") outcome.measurement.mean_us = kKeptUs;
        }
        return Put(record, store);
      }
    }
  }

 private:
  static constexpr std::int64_t kOtherExtent = 128;  ///< Of another bucket than kExtent.

  static void Put(const TuningRecord& record, RecordStore* store) { EXPECT_OK(store->Put(record)); }

  /// Of a faulty kernel, the record with the claim that CONFIG 1 is the fastest config.
  TuningRecord Claiming(TuningRecord record, bool is_best) const {
    if (!is_faulty_) return record;
    CandidateOutcome claimed = record.best;
    claimed.config = *Definition().space().ConfigNamed({{"CONFIG", std::int64_t{1}}}, Target());
    claimed.measurement.mean_us = 0.5;
    claimed.ties_with_fastest = true;
    std::vector<CandidateOutcome>& all = record.candidates;
    for (CandidateOutcome& outcome : all) outcome.ties_with_fastest = false;
    const auto known = std::find_if(all.begin(), all.end(), [&](const CandidateOutcome& each) {
      return each.config.ToString() == claimed.config.ToString();
    });
    if (known != all.end()) *known = claimed;
    if (known == all.end()) all.push_back(claimed), --record.num_not_measured;  // It was cut short before this config.
    if (is_best) record.best = claimed;
    return record;
  }

  const SearchFeature feature_;
  const bool is_faulty_;
  const bool is_bucketed_;
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_SEARCH_FEATURES_H_
