// The shipped bundles that the command finds by name, on a GPU: by what suits best, and by CUDA C++ alone, as where
// there is no tileiras; at shapes and addresses that no tile fits, too.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "store/memory_store.h"
#include "testing/bundle_formulas.h"
#include "testing/device_test.h"
#include "testing/runtimes.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

struct KeepResult : AutotuneObserver {
  void OnTuned(const std::string&, const std::string&, const TuningRecord& result) override { tuned = result; }
  bool ByTileIr() const { return absl::StartsWith(tuned.best.variant, "tile"); }
  TuningRecord tuned;
};

/// What one test compiled the others have, too.
AutotunePolicy PolicyIn(const std::map<std::string, std::string>& environment,
                        std::shared_ptr<AutotuneObserver> observer) {
  static const std::shared_ptr<RecordStore> artifacts = MakeMemoryStore();
  AutotunePolicy policy;
  policy.search.runtime = testing::RuntimeIn(environment);
  policy.search.compile.cache = artifacts;
  policy.store = std::make_shared<MemoryStore>();
  policy.observer = std::move(observer);
  return policy;
}

std::vector<testing::FormulaCase> AllCases() {
  std::vector<testing::FormulaCase> cases = testing::FormulaCases();
  for (const testing::FormulaCase& of : testing::BFloat16Cases()) cases.push_back(of);
  return cases;
}

class BundleGpuTest : public testing::GpuTest,
                      public ::testing::WithParamInterface<std::tuple<bool, testing::FormulaCase>> {
 protected:
  const std::shared_ptr<KeepResult> kept_ = std::make_shared<KeepResult>();
  const AutotunePolicy policy_ = PolicyIn({{"ENABLE_TILE", std::get<0>(GetParam()) ? "1" : "0"}}, kept_);
};

TEST_P(BundleGpuTest, TheTunedBundleComputesItsFormula) {
  const auto& [with_tile, of] = GetParam();
  testing::ExpectItComputesItsFormula(of, *device_, stream_->view(), policy_);
  EXPECT_TRUE(with_tile || !kept_->ByTileIr()) << kept_->tuned.best.variant;
}

TEST_P(BundleGpuTest, AtAnyAddressItIsComputedByWhatTakesAny) {
  testing::ExpectItComputesItsFormula(std::get<1>(GetParam()), *device_, stream_->view(), policy_, /*offset=*/1);
  const std::string& variant = kept_->tuned.best.variant;  // Others in Tile IR are for tensors aligned to 16 bytes.
  EXPECT_TRUE(!kept_->ByTileIr() || variant.find("unaligned") != std::string::npos) << variant;
}

INSTANTIATE_TEST_SUITE_P(All, BundleGpuTest, ::testing::Combine(::testing::Bool(), ::testing::ValuesIn(AllCases())),
                         [](const auto& param) {
                           return std::string(std::get<0>(param.param) ? "WithTileIr_" : "CudaAlone_") +
                                  testing::CaseName(std::get<1>(param.param));
                         });

class SplitKeysGpuTest : public testing::GpuTest,
                         public ::testing::WithParamInterface<std::tuple<const char*, std::int64_t>> {};

/// The last of the blocks that share keys puts their parts together, launch after launch, and leaves the counters 0.
TEST_P(SplitKeysGpuTest, EveryNumberOfSplitsComputesTheSame) {
  const auto& [backend, splits] = GetParam();
  testing::ExpectItComputesItsFormula(testing::DecodeAttentionInSplits(), *device_, stream_->view(),
                                      PolicyIn({{"ENABLE_TILE", "1"}}, nullptr), /*offset=*/0,
                                      testing::SplitConfig(backend, splits));
}

INSTANTIATE_TEST_SUITE_P(All, SplitKeysGpuTest,
                         ::testing::Combine(::testing::Values("tile", "cuda"), ::testing::Values(1, 2, 4, 8, 16, 32)),
                         [](const auto& param) {
                           return std::get<0>(param.param) + std::to_string(std::get<1>(param.param));
                         });

/// At shapes that no guard of theirs excludes, and that fill the tiles.
std::vector<testing::FormulaCase> WholeSpaces() {
  std::vector<testing::FormulaCase> cases;
  for (const testing::FormulaCase& each : AllCases()) {
    if (cases.empty() || cases.back().Name() != each.Name()) cases.push_back(each);  // The first fits its tiles.
  }
  return cases;
}

class BundleSpaceGpuTest : public testing::GpuTest, public ::testing::WithParamInterface<testing::FormulaCase> {};

TEST_P(BundleSpaceGpuTest, EveryConfigOfEveryBackEndRunsAndFewAreTheSame) {
  auto kept = std::make_shared<KeepResult>();
  testing::ExpectItComputesItsFormula(GetParam(), *device_, stream_->view(), PolicyIn({}, kept));
  const TuningRecord& tuned = kept->tuned;
  for (const CandidateOutcome& failure : tuned.failures())
    ADD_FAILURE() << failure.config.ToString() << ": " << failure.message;
  EXPECT_TRUE(tuned.not_measured().empty());
  EXPECT_LE(tuned.duplicates().size(), 2u) << "wasted candidates";
  std::set<std::string> sources;
  bool has_clusters = false;
  for (const CandidateOutcome& success : tuned.successes()) {
    sources.insert(success.variant.substr(0, success.variant.find('_')));
    const AxisValue* ctas = success.config.Find("num_ctas");
    has_clusters |= ctas != nullptr && *ctas == AxisValue(std::int64_t{2});
  }
  const std::string& bundle = GetParam().bundle;
  // Neither cuTile nor Triton takes a table of pointers.
  const bool by_cuda_alone = bundle == "grouped_gemm_pointers";
  EXPECT_EQ(sources.count("cuda"), 1u);
  EXPECT_EQ(sources.count("tile"), by_cuda_alone ? 0u : 1u);
  const std::set<std::string> with_clusters = {"matmul",    "persistent_matmul", "dual_gemm",       "elementwise",
                                               "attention", "fp8_matmul",        "fp8_block_matmul"};
  const bool has_products =
      !by_cuda_alone && (absl::StrContains(bundle, "matmul") || absl::StrContains(bundle, "gemm") ||
                         absl::StrContains(bundle, "attention"));
  if (Target::Of(*device_->Identity()).capability() == 90) {
    EXPECT_EQ(sources.count("triton"), has_products ? 1u : 0u);
    EXPECT_EQ(has_clusters, with_clusters.count(bundle) == 1) << "num_ctas = 2";
  }
}

INSTANTIATE_TEST_SUITE_P(All, BundleSpaceGpuTest, ::testing::ValuesIn(WholeSpaces()),
                         [](const auto& param) { return param.param.Name(); });

}  // namespace
}  // namespace tuneonce
