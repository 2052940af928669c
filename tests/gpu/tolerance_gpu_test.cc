// What is within tolerance: every config of the shipped bundles, on random data of several seeds. Each test prints how
// near its configs came to what is allowed. To compare two rules run this program at both commits.
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "store/memory_store.h"
#include "testing/bundle_formulas.h"
#include "testing/device_test.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

struct KeepResult : AutotuneObserver {
  void OnTuned(const std::string&, const std::string&, const TuningRecord& result) override { tuned = result; }
  TuningRecord tuned;
};

std::vector<testing::FormulaCase> AllCases() {
  std::vector<testing::FormulaCase> cases = testing::FormulaCases();
  for (const testing::FormulaCase& of : testing::BFloat16Cases()) cases.push_back(of);
  return cases;
}

class ToleranceGpuTest : public testing::GpuTest, public ::testing::WithParamInterface<testing::FormulaCase> {};

TEST_P(ToleranceGpuTest, NoConfigIsIncorrectOnDataOfAnySeed) {
  constexpr unsigned kSeeds = 5;
  static const std::shared_ptr<RecordStore> artifacts =
      MakeMemoryStore();  // What one test compiled the others have, too.
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    auto kept = std::make_shared<KeepResult>();
    AutotunePolicy policy;
    policy.search.compile.cache = artifacts;
    policy.search.max_rounds = 1;
    policy.store = std::make_shared<MemoryStore>();
    policy.observer = kept;
    testing::ExpectItComputesItsFormula(GetParam(), *device_, stream_->view(), policy, /*offset=*/0, {}, seed);
    const TuningRecord& tuned = kept->tuned;
    double largest = 0;
    std::string nearest;
    for (const CandidateOutcome& success : tuned.successes()) {
      if (!success.largest_difference || success.largest_difference->share_of_tolerance <= largest) continue;
      largest = success.largest_difference->share_of_tolerance;
      nearest = " by {" + success.config.ToString() + "} in '" + success.largest_difference->output + "'";
    }
    std::size_t incorrect = 0;
    for (const CandidateOutcome& failure : tuned.failures()) {
      if (failure.kind != OutcomeKind::kWrongResult) continue;
      ++incorrect;
      ADD_FAILURE() << "seed " << seed << ", {" << failure.config.ToString() << "}: " << failure.message;
    }
    std::size_t num_classes = 0;
    for (const Verification::Extents& extents : tuned.verification.extents) num_classes += extents.classes.size();
    if (seed == 1) {
      std::cout << "VERIFIED " << testing::CaseName(GetParam()) << ": " << num_classes << " classes of extents, "
                << tuned.verification.gaps.size() << " gaps\n";
      for (const std::string& gap : tuned.verification.gaps) std::cout << "  " << gap << "\n";
    }
    std::cout << "TOLERANCE " << testing::CaseName(GetParam()) << " seed " << seed << ": " << tuned.successes().size()
              << " configs, " << tuned.failures().size() << " failed, " << incorrect << " of them incorrect; "
              << largest * 100 << " % of the tolerance at most" << nearest << std::endl;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ToleranceGpuTest, ::testing::ValuesIn(AllCases()),
                         [](const auto& param) { return testing::CaseName(param.param); });

}  // namespace
}  // namespace tuneonce
