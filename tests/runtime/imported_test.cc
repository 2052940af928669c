// Selections of others in the store: what they must show before they serve, and which of several does.
#include "base/temporary_folder.h"
#include "store/memory_store.h"
#include "testing/tools.h"
#include "testing/tuned_scale_test.h"
#include "testing/work_timer.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using testing::View;
using Origin = LaunchPlan::Origin;
using Mode = AutotunePolicy::Mode;

class ImportedTest : public testing::TunedScaleTest {
 protected:
  struct Listener : AutotuneObserver {
    void OnWarning(const std::string& line) override { warnings += line + "\n"; }
    void OnStoredHit(const std::string&, const std::string&, const std::string& config) override {
      hits.push_back(config);
    }
    std::string warnings;
    std::vector<std::string> hits;
  };

  ImportedTest() {
    policy_.search.timer = &timer_;
    policy_.observer = listener_;
  }
  /// y = x * factor, but with TILE = 512 it is wrong; the baseline is (64, 10), and (256, 100) slower than it.
  KernelDefinition Definition() {
    SearchSpace space;
    IntAxis tile = space.AddAxis("TILE", {64, 256, 512});
    IntAxis work = space.AddAxis("WORK", {100, 10, 1});
    space.SetBaseline({{tile, 64}, {work, 10}});
    KernelDefinition definition("imported");
    definition.Parameters(scale_.Definition().parameters())
        .Space(space)
        .AddVariant(Variant([=](const Config& c, const Problem&) {
                      std::string source = testing::kScaleSource;
                      if (c[tile] == 512) source.replace(source.find("x[i] * factor"), 13, "x[i] + factor");
                      return KernelSource::CpuCpp(source, "scale").Define("TILE", c[tile]).Define("WORK", c[work]);
                    }).Grid(Grid::OneD({"N", tile})));
    return definition;
  }
  static Config Named(std::int64_t tile, std::int64_t work) {
    return Config::Of({{"TILE", AxisKind::kStructural, tile}, {"WORK", AxisKind::kStructural, work}});
  }
  /// What an import writes for N: the record of a search, of which only the key is left.
  TuningRecord Imported(const Config& config, std::int64_t n = 1000) { return ImportedFor(Definition(), config, n); }
  TuningRecord ImportedFor(const KernelDefinition& definition, const Config& config, std::int64_t n) {
    if (key_.kernel.empty()) {
      AutotunePolicy policy;
      policy.store = std::make_shared<MemoryStore>();
      policy.search.max_rounds = 1;
      TunedKernel kernel = *TunedKernel::Create(definition, policy);
      Launch(kernel, 1000);
      key_ = policy.store->List()->front().key;
    }
    TuningRecord record;
    record.key = key_;
    record.key.driver_version = 0;
    record.key.key_words[0] = static_cast<std::uint64_t>(n);
    record.best.config = config;
    record.reason = SelectionReason::kImported;
    return record;
  }
  TuningRecord Table(const std::vector<ImportedRow>& rows) {
    TuningRecord record = Imported(rows.front().config, 0);
    record.nearest_dim = "N";
    record.rows = rows;
    return record;
  }
  TunedKernel Create(Mode mode = Mode::kTuneOnMiss) {
    policy_.mode = mode;
    return TunedScaleTest::Create(Definition());
  }
  LaunchPlan Explain(const TunedKernel& kernel, std::int64_t n = 1000) {
    Result<LaunchPlan> plan = kernel.Explain(stream_->get(), {{"N", n}});
    EXPECT_OK(plan);
    return plan.ok() ? *plan : LaunchPlan();
  }
  std::string ConfigOf(const TunedKernel& kernel, std::int64_t n = 1000) {
    std::optional<Config> config = Explain(kernel, n).config;
    return config ? config->ToString() : "";
  }

  testing::WorkTimer timer_;
  std::shared_ptr<Listener> listener_ = std::make_shared<Listener>();
  TuningKey key_;
};

TEST_F(ImportedTest, ItIsComparedWithTheBaselineOnceAndThenServes) {
  ASSERT_OK(policy_.store->Put(Imported(Named(256, 1))));
  TunedKernel kernel = Create();
  LaunchPlan plan = Explain(kernel);
  EXPECT_EQ(plan.action, LaunchPlan::Action::kSearch);
  EXPECT_EQ(plan.reason, LaunchPlan::Reason::kStored);
  EXPECT_EQ(plan.origin, Origin::kImported);
  EXPECT_EQ(plan.config->ToString(), "TILE=256, WORK=1");
  EXPECT_EQ(
      plan.detail,
      "the config was imported and has not run here yet: the launch compares it with the baseline before it uses it");
  Launch(kernel, 1000);
  EXPECT_EQ(kernel.counters().tunes, 0);
  EXPECT_EQ(kernel.counters().stored_hits, 1);
  EXPECT_EQ(listener_->hits, std::vector<std::string>{"TILE=256, WORK=1"});
  plan = Explain(kernel);
  EXPECT_EQ(plan.action, LaunchPlan::Action::kSelected);
  EXPECT_EQ(plan.origin, Origin::kImported);
  ASSERT_NE(plan.record, nullptr);
  EXPECT_GT(plan.record->best.measurement.num_samples, 0);
  // It is remembered as one that ran here, and serves without another comparison.
  ASSERT_EQ(policy_.store->List()->size(), 2u);
  EXPECT_EQ(policy_.store->List()->back().candidates.size(), 2u) << "itself and the baseline";
  TunedKernel again = Create();
  EXPECT_EQ(Explain(again).action, LaunchPlan::Action::kSelected);
  EXPECT_EQ(Explain(again).match, RecordMatch::kExact);
  const double gpu_seconds = again.counters().tuning_gpu_seconds;
  Launch(again, 1000);
  EXPECT_EQ(again.counters().tuning_gpu_seconds, gpu_seconds) << "nothing is measured";
  EXPECT_EQ(listener_->warnings, "");
}

TEST_F(ImportedTest, OneThatIsWrongOrSlowOrUnknownIsNotUsed) {
  struct Case {
    Config config;
    const char* warning;
  };
  const Case cases[] = {
      {Named(512, 1), "the imported {TILE=512, WORK=1} is not used: "},
      {Named(256, 100), "the imported {TILE=256, WORK=100} is not used: the config is slower than the baseline"},
      {Named(128, 1), ""},  // No config of the space: as if there were no record.
  };
  for (const Case& c : cases) {
    policy_.store = std::make_shared<MemoryStore>();
    listener_->warnings.clear();
    ASSERT_OK(policy_.store->Put(Imported(c.config)));
    TunedKernel kernel = Create();
    Launch(kernel, 1000);
    EXPECT_EQ(kernel.counters().tunes, 1) << c.config.ToString();
    EXPECT_EQ(Explain(kernel).origin, Origin::kSearch);
    EXPECT_NE(listener_->warnings.find(c.warning), std::string::npos) << listener_->warnings;
    TunedKernel again = Create();
    Launch(again, 1000);
    EXPECT_EQ(again.counters().tunes, 0) << "what was measured serves";
    EXPECT_EQ(Explain(again).origin, Origin::kStore);
  }
}

TEST_F(ImportedTest, WhatWasMeasuredOnTheDeviceGoesBeforeIt) {
  TunedKernel tuned = Create();
  Launch(tuned, 1000);
  ASSERT_OK(policy_.store->Put(Imported(Named(64, 100))));
  TunedKernel kernel = Create();
  EXPECT_EQ(Explain(kernel).origin, Origin::kStore);
  // Of another driver too, where policy takes that.
  TuningRecord measured = policy_.store->List()->front();
  ASSERT_OK(policy_.store->Remove(measured.key));
  measured.key.driver_version -= 10;
  ASSERT_OK(policy_.store->Put(measured));
  policy_.min_match = RecordMatch::kOtherDriver;
  EXPECT_EQ(Explain(Create()).origin, Origin::kStore);
}

TEST_F(ImportedTest, OfATableTheNearestRowServesAndOfTwoAsNearTheFirst) {
  ASSERT_OK(policy_.store->Put(Table({{100, Named(64, 1)}, {1000, Named(256, 1)}, {2000, Named(64, 10)}})));
  TunedKernel kernel = Create();
  const std::pair<std::int64_t, const char*> cases[] = {
      {1, "TILE=64, WORK=1"},     {100, "TILE=64, WORK=1"},   {549, "TILE=64, WORK=1"},
      {550, "TILE=64, WORK=1"},   {551, "TILE=256, WORK=1"},  {1000, "TILE=256, WORK=1"},
      {1500, "TILE=256, WORK=1"}, {1501, "TILE=64, WORK=10"}, {90000, "TILE=64, WORK=10"},
  };
  for (const auto& [n, config] : cases) EXPECT_EQ(ConfigOf(kernel, n), config) << n;
  Launch(kernel, 551);
  EXPECT_EQ(kernel.counters().tunes, 0);
  EXPECT_EQ(ConfigOf(kernel, 551), "TILE=256, WORK=1");
  // A selection of the key itself goes before the table.
  ASSERT_OK(policy_.store->Put(Imported(Named(64, 1), 551)));
  EXPECT_EQ(ConfigOf(Create(), 552), "TILE=256, WORK=1");
  ASSERT_OK(policy_.store->Put(Imported(Named(64, 10), 552)));
  EXPECT_EQ(ConfigOf(Create(), 552), "TILE=64, WORK=10");
}

TEST_F(ImportedTest, ATableServesABucketAtItsBound) {
  KernelDefinition definition = Definition();
  definition.Key({KeyOf("N").NextPow2()});
  ImportedFor(definition, Named(64, 1), 0);  // From now on records are of this definition.
  ASSERT_OK(policy_.store->Put(Table({{600, Named(64, 1)}, {1000, Named(256, 1)}})));
  TunedKernel kernel = TunedScaleTest::Create(definition);
  EXPECT_EQ(ConfigOf(kernel, 520), "TILE=256, WORK=1") << "1024 is nearest to 1000";
  EXPECT_EQ(ConfigOf(kernel, 500), "TILE=64, WORK=1") << "512 is nearest to 600";
}

TEST_F(ImportedTest, ATableOfAnotherDeviceOrDimServesNothing) {
  TuningRecord other_device = Table({{1000, Named(256, 1)}});
  other_device.key.device_name = "H200";
  ASSERT_OK(policy_.store->Put(other_device));
  EXPECT_EQ(Explain(Create()).reason, LaunchPlan::Reason::kNoRecord);
  TuningRecord other_dim = Table({{1000, Named(256, 1)}});
  other_dim.nearest_dim = "M";
  ASSERT_OK(policy_.store->Put(other_dim));
  EXPECT_EQ(Explain(Create()).reason, LaunchPlan::Reason::kNoRecord);
}

TEST_F(ImportedTest, ModesThatDoNotSearchDoWhatTheyCan) {
  TemporaryFolder folder = *testing::MakeFolder();
  SqliteStoreOptions options;
  options.path = folder.path() + "/cache/store.db";
  policy_.store = *SqliteStore::Open(options);
  ASSERT_OK(policy_.store->Put(Imported(Named(256, 1))));
  // A launch compares nothing: the key waits for TunePending.
  TunedKernel background = Create(Mode::kTuneDeferred);
  Launch(background, 1000);
  EXPECT_EQ(background.counters().fallbacks, 1);
  EXPECT_EQ(background.counters().pending_keys, 1);
  // Nor may anything be compiled where nothing is searched.
  TunedKernel stored_only = Create(Mode::kStoredOnly);
  EXPECT_EQ(Explain(stored_only).reason, LaunchPlan::Reason::kNoRecord);
  ASSERT_OK(background.TunePending(stream_->get()));
  EXPECT_EQ(background.counters().tunes, 0);
  EXPECT_EQ(Explain(background).origin, Origin::kImported);
  // Now the store has its code.
  Launch(stored_only, 1000);
  EXPECT_EQ(Explain(stored_only).origin, Origin::kImported);
  EXPECT_EQ(stored_only.counters().stored_hits, 1);
}

}  // namespace
}  // namespace tuneonce
