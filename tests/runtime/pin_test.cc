// What a host decides itself: Pin, Unpin, Retune; with buckets, guards, modes, Freeze, captures, limits and stores.
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/temporary_folder.h"
#include "store/memory_store.h"
#include "testing/tools.h"
#include "testing/tuned_scale_test.h"
#include "testing/work_timer.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/testing.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using testing::View;
using Origin = LaunchPlan::Origin;
using Mode = AutotunePolicy::Mode;
using PinFor = TunedKernel::PinFor;

class PinTest : public testing::TunedScaleTest {
 protected:
  PinTest() : folder_(*testing::MakeFolder()) { policy_.search.timer = &timer_; }

  KernelDefinition Bucketed() const {
    KernelDefinition definition = scale_.Definition();
    definition.Key({KeyOf("N").NextPow2()});
    return definition;
  }
  /// WORK of one launch, as it counted it; the test's configs tell themselves apart by it.
  long WorkOfLaunch(TunedKernel& kernel, std::size_t n = 1000) {
    DeviceBuffer x = Floats(std::vector<float>(n, 3)), y = Floats(std::vector<float>(n, 0));
    const long before = testing_work();
    EXPECT_OK(kernel.Launch(stream_->get(), View(x), View(y), 2.0f));
    EXPECT_EQ(Read(y), std::vector<float>(n, 6));
    // A block counts WORK once: of as many blocks as TILE makes.
    return testing_work() - before;
  }
  static long testing_work() { return tuneonce_test_work; }
  LaunchPlan Explain(const TunedKernel& kernel, std::int64_t n = 1000) {
    Result<LaunchPlan> plan = kernel.Explain(stream_->get(), {{"N", n}});
    EXPECT_OK(plan);
    return plan.ok() ? *plan : LaunchPlan();
  }
  bool IsTuned(const TunedKernel& kernel, std::size_t n = 1000) {
    DeviceBuffer x = Floats(std::vector<float>(n, 3));
    Result<bool> is_tuned = kernel.IsReady({View(x), View(x), 2.0f});
    EXPECT_OK(is_tuned);
    return is_tuned.ok() && *is_tuned;
  }
  std::shared_ptr<RecordStore> OpenStore() {
    SqliteStoreOptions options;
    options.path = folder_.path() + "/cache/store.db";
    return *SqliteStore::Open(options);
  }

  testing::WorkTimer timer_;
  TemporaryFolder folder_;
};

TEST_F(PinTest, APinnedConfigTakesTheSelectionsPlaceAndGivesItBack) {
  TunedKernel kernel = Create();
  EXPECT_EQ(kernel.counters().now.pinned_keys, 0);
  Launch(kernel, 1000);
  const std::int64_t entries = kernel.counters().now.ready_entries;
  ASSERT_OK(kernel.Pin({{"N", 1000}}, {{"TILE", 256}, {"WORK", 100}}));
  EXPECT_EQ(kernel.counters().now.pinned_keys, 1);
  EXPECT_EQ(kernel.counters().now.ready_entries, entries) << "in place of the other";
  EXPECT_EQ(WorkOfLaunch(kernel), 4 * 100);
  LaunchPlan plan = Explain(kernel);
  EXPECT_EQ(plan.action, LaunchPlan::Action::kSelected);
  EXPECT_EQ(plan.origin, Origin::kPinned);
  EXPECT_EQ(plan.config->ToString(), "TILE=256, WORK=100");
  ASSERT_NE(plan.record, nullptr);
  EXPECT_EQ(plan.record->reason, SelectionReason::kPinned);
  EXPECT_GT(plan.record->best.measurement.mean_us, 0) << "what the search measured of it is known";
  EXPECT_EQ(kernel.counters().tunes, 1);
  // Another key is not concerned.
  EXPECT_EQ(Explain(kernel, 2000).action, LaunchPlan::Action::kSearch);
  // Another pin takes its place.
  ASSERT_OK(kernel.Pin({{"N", 1000}}, {{"TILE", 64}, {"WORK", 100}}));
  EXPECT_EQ(WorkOfLaunch(kernel), 16 * 100);
  EXPECT_EQ(kernel.counters().now.pinned_keys, 1);
  ASSERT_OK(kernel.Unpin({{"N", 1000}}));
  EXPECT_EQ(kernel.counters().now.pinned_keys, 0);
  EXPECT_EQ(Explain(kernel).reason, LaunchPlan::Reason::kStored);
  WorkOfLaunch(kernel);
  EXPECT_EQ(kernel.counters().tunes, 1) << "the store has the selection of before";
  EXPECT_EQ(kernel.counters().stored_hits, 1);
  kernel.ReleaseRetired();
  EXPECT_EQ(kernel.counters().now.loaded_kernels, 2) << "pinned code has retired";
}

TEST_F(PinTest, AKeyThatWasNeverTunedIsPinnedWithoutASearch) {
  for (Mode mode : {Mode::kTuneOnMiss, Mode::kTuneDeferred}) {
    policy_.mode = mode;
    TunedKernel kernel = Create();
    ASSERT_OK(kernel.Pin({{"N", 1000}}, {{"TILE", 256}, {"WORK", 1}}));
    EXPECT_EQ(WorkOfLaunch(kernel), 4);
    EXPECT_EQ(kernel.counters().hits, 1);
    EXPECT_EQ(kernel.counters().tunes, 0);
    ASSERT_OK(kernel.TunePending(stream_->get()));
    EXPECT_EQ(kernel.counters().tunes, 0);
  }
}

TEST_F(PinTest, AKeyThatWaitsOrFailedIsPinnedAndWaitsNoMore) {
  policy_.mode = Mode::kTuneDeferred;
  TunedKernel kernel = Create();
  Launch(kernel, 1000);
  EXPECT_EQ(kernel.counters().now.pending_keys, 1);
  ASSERT_OK(kernel.Pin({{"N", 1000}}, {{"TILE", 256}, {"WORK", 1}}));
  EXPECT_EQ(kernel.counters().now.pending_keys, 0);
  EXPECT_EQ(WorkOfLaunch(kernel), 4);
  ASSERT_OK(kernel.TunePending(stream_->get()));
  EXPECT_EQ(kernel.counters().tunes, 0);
}

TEST_F(PinTest, ValuesThatNoAxisListsMayBePinned) {
  TunedKernel kernel = Create();
  ASSERT_OK(kernel.Pin({{"N", 1000}}, {{"TILE", 500}, {"WORK", 7}}));
  EXPECT_EQ(WorkOfLaunch(kernel), 2 * 7);
  // But not be stored: a record, which anybody may have made, chooses among what is listed.
  EXPECT_ERROR(kernel.Pin({{"N", 1000}}, {{"TILE", 500}, {"WORK", 7}}, PinFor::kStore), StatusCode::kInvalidArgument,
               "a store serves only listed configs");
  TuningRecord record;
  ASSERT_OK(kernel.Pin({{"N", 2000}}, {{"TILE", 256}, {"WORK", 1}}, PinFor::kStore));
  record = policy_.store->List()->front();
  record.best.config = Config::Of(
      {{"TILE", AxisKind::kStructural, std::int64_t{500}}, {"WORK", AxisKind::kStructural, std::int64_t{7}}});
  ASSERT_OK(policy_.store->Put(record));
  EXPECT_EQ(Explain(Create(), 2000).action, LaunchPlan::Action::kSearch);
}

TEST_F(PinTest, ABucketIsPinnedWhole) {
  TunedKernel kernel = Create(Bucketed());
  ASSERT_OK(kernel.Pin({{"N", 1000}}, {{"TILE", 256}, {"WORK", 100}}));
  EXPECT_EQ(WorkOfLaunch(kernel, 600), 3 * 100);
  EXPECT_EQ(WorkOfLaunch(kernel, 1024), 4 * 100);
  EXPECT_EQ(Explain(kernel, 513).origin, Origin::kPinned);
  EXPECT_EQ(Explain(kernel, 512).origin, Origin::kNone);
  ASSERT_OK(kernel.Unpin({{"N", 700}}));
  EXPECT_EQ(Explain(kernel, 600).action, LaunchPlan::Action::kSearch);
}

TEST_F(PinTest, WhereAPinnedConfigsGuardDoesNotHoldTheFallbackRuns) {
  SearchSpace space = scale_.space;
  IntAxis tile = scale_.tile;
  space.Where("rows", [=](const Config& c, const Dims& dims) { return c[tile] == 64 || dims[Dim{0}] >= 900; });
  KernelDefinition definition = Bucketed();
  definition.Space(space);
  TunedKernel kernel = Create(definition);
  EXPECT_ERROR(kernel.Pin({{"N", 600}}, {{"TILE", 256}, {"WORK", 1}}), StatusCode::kFailedPrecondition,
               "condition 'rows' does not hold");
  ASSERT_OK(kernel.Pin({{"N", 1000}}, {{"TILE", 256}, {"WORK", 1}}));
  EXPECT_EQ(WorkOfLaunch(kernel, 1000), 4);
  EXPECT_EQ(WorkOfLaunch(kernel, 600), 10 * 100) << "the baseline";
  LaunchPlan plan = Explain(kernel, 600);
  EXPECT_EQ(plan.reason, LaunchPlan::Reason::kGuard);
  EXPECT_EQ(plan.origin, Origin::kPinned);
}

TEST_F(PinTest, WhatDoesNotFitIsNamedAndChangesNothing) {
  SearchSpace space = scale_.space;
  IntAxis tile = scale_.tile;
  space.Where("fits", [=](const Config& c) { return c[tile] <= 512; });
  space.Where("no 512 here", [=](const Config& c, const Target&) { return c[tile] != 512; });
  KernelDefinition definition = scale_.Definition();
  definition.Space(space);
  TunedKernel kernel = Create(definition);
  struct Case {
    TunedKernel::Shape shape;
    TunedKernel::NamedConfig config;
    const char* part;
  };
  const Case cases[] = {
      {{{"N", 1000}}, {{"TILE", 64}}, "pin: the config has no value for axis 'WORK'"},
      {{{"N", 1000}}, {{"TILE", 64}, {"WORK", 1}, {"TILE", 64}}, "the config has two values for axis 'TILE'"},
      {{{"N", 1000}},
       {{"TILE", 64}, {"WORK", 1}, {"num_warps", 4}},
       "the search space has no axis 'num_warps'; its axes are: TILE"},
      {{{"N", 1000}},
       {{"TILE", "wide"}, {"WORK", 1}},
       "the value wide for axis 'TILE' has another type than the axis's values {64, 256}"},
      {{{"N", 1000}}, {{"TILE", 1.5}, {"WORK", 1}}, "the value 1.5 for axis 'TILE' has another type"},
      {{{"N", 1000}}, {{"TILE", 1024}, {"WORK", 1}}, "breaks condition 'fits'"},
      {{{"N", 1000}}, {{"TILE", 512}, {"WORK", 1}}, "breaks condition 'no 512 here'"},
      {{{"N", 1000}}, {{"TILE", 0}, {"WORK", 1}}, "cannot be launched: every extent must be at least 1"},
      {{{"M", 1000}}, {{"TILE", 64}, {"WORK", 1}}, "'M' is unknown"},
      {{{"N", 0}}, {{"TILE", 64}, {"WORK", 1}}, "a shape with 0 elements is never launched"},
      {{{"N", -1}}, {{"TILE", 64}, {"WORK", 1}}, "N"},
  };
  for (const Case& c : cases) {
    EXPECT_ERROR(kernel.Pin(c.shape, c.config), StatusCode::kInvalidArgument, c.part);
    EXPECT_ERROR(kernel.Pin(c.shape, c.config), StatusCode::kInvalidArgument, "kernel 'scale', pin");
  }
  EXPECT_EQ(kernel.counters().now.pinned_keys, 0);
  EXPECT_EQ(kernel.counters().now.ready_entries, 0);
  EXPECT_ERROR(kernel.Unpin({{"N", 1000}}), StatusCode::kNotFound, "unpin: N=1000, x:float32, y:float32 is not pinned");
}

TEST_F(PinTest, ItOutlastsFreezeAndMayBeMadeAfterIt) {
  TunedKernel kernel = Create();
  ASSERT_OK(kernel.Pin({{"N", 1000}}, {{"TILE", 256}, {"WORK", 7}}));
  kernel.Freeze();
  EXPECT_EQ(WorkOfLaunch(kernel, 1000), 4 * 7);
  EXPECT_EQ(WorkOfLaunch(kernel, 2000), 32 * 100) << "the fallback";
  ASSERT_OK(kernel.Pin({{"N", 2000}}, {{"TILE", 256}, {"WORK", 7}}));
  EXPECT_EQ(WorkOfLaunch(kernel, 2000), 8 * 7);
  EXPECT_EQ(kernel.counters().frozen_misses, 1);
  ASSERT_OK(kernel.Unpin({{"N", 2000}}));
  EXPECT_EQ(Explain(kernel, 2000).reason, LaunchPlan::Reason::kFrozen);
}

TEST_F(PinTest, ModesThatForbidItsCodeSaySo) {
  policy_.mode = Mode::kFallbackOnly;
  TunedKernel fallback_only = Create();
  ASSERT_OK(fallback_only.Pin({{"N", 1000}}, {{"TILE", 256}, {"WORK", 7}}));
  EXPECT_EQ(WorkOfLaunch(fallback_only), 16 * 100) << "always the same code";
  EXPECT_EQ(Explain(fallback_only).reason, LaunchPlan::Reason::kMode);
  EXPECT_EQ(Explain(fallback_only).action, LaunchPlan::Action::kFallback);
  EXPECT_FALSE(IsTuned(fallback_only)) << "a launch is no hit";
  policy_.mode = Mode::kStoredOnly;
  policy_.store = OpenStore();  // With artifacts, and none of this yet.
  TunedKernel stored_only = Create();
  EXPECT_ERROR(stored_only.Pin({{"N", 1000}}, {{"TILE", 256}, {"WORK", 9}}), StatusCode::kUnavailable,
               "kStoredOnly compiles nothing");
  policy_.mode = Mode::kTuneOnMiss;
  ASSERT_OK(Create().Pin({{"N", 1000}}, {{"TILE", 256}, {"WORK", 9}}));
  ASSERT_OK(stored_only.Pin({{"N", 1000}}, {{"TILE", 256}, {"WORK", 9}}));
  EXPECT_EQ(WorkOfLaunch(stored_only), 4 * 9);
}

TEST_F(PinTest, ACaptureRunsIt) {
  TunedKernel kernel = Create();
  ASSERT_OK(kernel.Pin({{"N", 1000}}, {{"TILE", 256}, {"WORK", 7}}));
  DeviceBuffer x = Floats(std::vector<float>(1000, 3)), y = Floats(std::vector<float>(1000, 0));
  Result<GraphExec> graph = GraphExec::Capture(
      stream_->view(), [&](CUstream stream) { return kernel.Launch(stream, View(x), View(y), 2.0f); });
  ASSERT_OK(graph);
  ASSERT_OK(kernel.Unpin({{"N", 1000}}));
  const long before = testing_work();
  ASSERT_OK(graph->Launch(stream_->get()));  // Its code has retired, and stays loaded.
  ASSERT_OK(stream_->view().Synchronize());
  EXPECT_EQ(testing_work() - before, 4 * 7);
}

TEST_F(PinTest, PinnedKeysAreNotDroppedAndOthersStillAre) {
  policy_.max_ready_keys = 2;
  TunedKernel kernel = Create();
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 1}}}));
  ASSERT_OK(kernel.Pin({{"N", 1}}, {{"TILE", 256}, {"WORK", 7}}));
  for (std::int64_t n = 2; n <= 6; ++n) ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", n}}}));
  EXPECT_LE(kernel.counters().now.ready_entries, 5);
  EXPECT_EQ(WorkOfLaunch(kernel, 1), 7);
  EXPECT_EQ(Explain(kernel, 1).origin, Origin::kPinned);
  EXPECT_EQ(Explain(kernel, 2).reason, LaunchPlan::Reason::kStored) << "dropped";
  EXPECT_EQ(Explain(kernel, 6).reason, LaunchPlan::Reason::kReady);
  EXPECT_EQ(kernel.counters().now.pinned_keys, 1);
}

TEST_F(PinTest, APinInTheStoreServesOtherProcessesAndNoSearchReplacesIt) {
  policy_.store = OpenStore();
  {
    TunedKernel kernel = Create();
    Launch(kernel, 1000);
    ASSERT_OK(kernel.Pin({{"N", 1000}}, {{"TILE", 256}, {"WORK", 100}}, PinFor::kStore));
  }
  for (Mode mode : {Mode::kTuneOnMiss, Mode::kTuneDeferred, Mode::kStoredOnly}) {
    policy_.mode = mode;
    policy_.store = OpenStore();
    TunedKernel kernel = Create();
    EXPECT_EQ(Explain(kernel).origin, Origin::kPinned);
    EXPECT_EQ(WorkOfLaunch(kernel), 4 * 100);
    EXPECT_EQ(kernel.counters().stored_hits, 1);
    EXPECT_EQ(kernel.counters().now.pinned_keys, 1);
  }
  policy_.mode = Mode::kTuneOnMiss;
  TunedKernel kernel = Create();
  EXPECT_ERROR(kernel.Retune(stream_->get(), {{"N", 1000}}), StatusCode::kFailedPrecondition,
               "y:float32 is pinned, and a pinned key is not tuned: call Unpin first");
  ASSERT_OK(kernel.Unpin({{"N", 1000}}));
  EXPECT_TRUE(policy_.store->List()->empty());
  EXPECT_EQ(Explain(kernel).action, LaunchPlan::Action::kSearch);
  EXPECT_ERROR(kernel.Unpin({{"N", 1000}}), StatusCode::kNotFound, "is not pinned");
}

TEST_F(PinTest, AStoredPinOutlastsADriver) {
  TunedKernel kernel = Create();
  ASSERT_OK(kernel.Pin({{"N", 1000}}, {{"TILE", 256}, {"WORK", 100}}, PinFor::kStore));
  TuningRecord record = policy_.store->List()->front();
  EXPECT_TRUE(record.is_pinned);
  ASSERT_OK(policy_.store->Remove(record.key));
  record.key.driver_version -= 10;
  ASSERT_OK(policy_.store->Put(record));
  TunedKernel later = Create();
  EXPECT_EQ(WorkOfLaunch(later), 4 * 100);
  EXPECT_EQ(Explain(later).match, RecordMatch::kOtherDriver);
}

TEST_F(PinTest, ALaunchOnAnotherThreadRunsTheOneOrTheOther) {
  TunedKernel kernel = Create();
  Launch(kernel, 1000);
  std::atomic<bool> done{false};
  std::thread launcher([&] {
    ScopedContext current(context_->view());
    while (!done) {
      DeviceBuffer x = Floats(std::vector<float>(1000, 3)), y = Floats(std::vector<float>(1000, 0));
      EXPECT_OK(kernel.Launch(stream_->get(), View(x), View(y), 2.0f));
      EXPECT_EQ(Read(y), std::vector<float>(1000, 6));
    }
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_OK(kernel.Pin({{"N", 1000}}, {{"TILE", i % 2 == 0 ? 64 : 256}, {"WORK", 1}}));
    if (i % 5 == 4) EXPECT_OK(kernel.Unpin({{"N", 1000}}));
  }
  done = true;
  launcher.join();
}

TEST_F(PinTest, ItIsOfTheDeviceWhoseContextIsCurrent) {
  if (*Device::Count(device_->api()) < 2) GTEST_SKIP() << "needs TUNEONCE_CPU_DEVICES=2";
  TunedKernel kernel = Create();
  Device second = *OpenDevice("cpu:1");
  Context context = *Context::RetainPrimary(second);
  ASSERT_OK(kernel.Pin({{"N", 1000}}, {{"TILE", 256}, {"WORK", 7}}));
  {
    ScopedContext current(context.view());
    Result<Stream> stream = Stream::Create(second.api());
    ASSERT_OK(stream);
    EXPECT_EQ(kernel.Explain(stream->get(), {{"N", 1000}})->action, LaunchPlan::Action::kSearch);
    EXPECT_ERROR(kernel.Unpin({{"N", 1000}}), StatusCode::kNotFound, "is not pinned");
    ASSERT_OK(kernel.Pin({{"N", 1000}}, {{"TILE", 64}, {"WORK", 7}}));
    EXPECT_EQ(kernel.counters().now.pinned_keys, 2);
    EXPECT_EQ(kernel.Explain(stream->get(), {{"N", 1000}})->config->ToString(), "TILE=64, WORK=7");
    ASSERT_OK(kernel.Unpin({{"N", 1000}}));
  }
  EXPECT_EQ(Explain(kernel).config->ToString(), "TILE=256, WORK=7");
  EXPECT_EQ(WorkOfLaunch(kernel), 4 * 7);
}

TEST_F(PinTest, RetuneReplacesSelectionAndRecord) {
  TunedKernel kernel = Create();
  Launch(kernel, 1000);
  TuningRecord record = policy_.store->List()->front();
  // A selection that was made in other times.
  record.best.config = record.baseline->config;
  record.host = "elsewhere";
  record.best.artifact = record.baseline->artifact;
  for (const CandidateOutcome& candidate : record.candidates) {
    if (candidate.config.IsSame(record.best.config)) record.best.identity = candidate.identity;
  }
  ASSERT_OK(policy_.store->Put(record));
  TunedKernel stale = Create();
  EXPECT_EQ(WorkOfLaunch(stale), 16 * 100);
  ASSERT_OK(stale.Retune(stream_->get(), {{"N", 1000}}));
  EXPECT_EQ(stale.counters().tunes, 1);
  LaunchPlan plan = Explain(stale);
  EXPECT_EQ(plan.origin, Origin::kSearch);
  EXPECT_EQ((*plan.config)[scale_.work], 1);
  EXPECT_LT(WorkOfLaunch(stale), 100);
  EXPECT_NE(policy_.store->List()->front().host, "elsewhere");
  EXPECT_EQ(policy_.store->List()->size(), 1u);
  // On arguments too.
  DeviceBuffer x = Floats(std::vector<float>(1000, 3)), y = Floats(std::vector<float>(1000, 0));
  ASSERT_OK(stale.Retune(stream_->get(), {View(x), View(y), 2.0f}));
  EXPECT_EQ(stale.counters().tunes, 2);
  EXPECT_EQ(Read(y), std::vector<float>(1000, 0)) << "nothing is launched on them";
}

TEST_F(PinTest, ARetuneThatIsCutShortLeavesACompleteSelectionInUse) {
  TunedKernel kernel = Create();
  Launch(kernel, 1000);
  const LaunchPlan before = Explain(kernel);
  policy_.search.budgets.wall = Budgets::Milliseconds(1e-3);  // Over when the baseline was measured.
  TunedKernel hurried = Create();
  Launch(hurried, 1000);
  EXPECT_EQ(hurried.counters().stored_hits, 1);
  ASSERT_OK(hurried.Retune(stream_->get(), {{"N", 1000}}));
  EXPECT_EQ(hurried.counters().tunes, 1);
  const LaunchPlan after = Explain(hurried);
  EXPECT_EQ(after.config, before.config);
  ASSERT_NE(after.record, nullptr);
  EXPECT_TRUE(after.record->is_complete);
  EXPECT_LT(WorkOfLaunch(hurried), 100) << "it is what runs";
}

TEST_F(PinTest, APinThatIsMadeDuringARetuneStaysAndIsStated) {
  class Warnings final : public AutotuneObserver {
   public:
    void OnWarning(const std::string& text) override { texts.push_back(text); }
    std::vector<std::string> texts;
  };
  const auto warnings = std::make_shared<Warnings>();
  std::function<void()> pin;
  policy_.observer = warnings;
  policy_.search.on_progress = [&](const SearchProgress&) {
    if (pin) std::thread(std::exchange(pin, nullptr)).join();
  };
  TunedKernel kernel = Create();
  Launch(kernel, 1000);
  pin = [&] {
    ScopedContext current(context_->view());
    EXPECT_OK(kernel.Pin({{"N", 1000}}, {{"TILE", 64}, {"WORK", 100}}, PinFor::kStore));
  };
  ASSERT_OK(kernel.Retune(stream_->get(), {{"N", 1000}}));
  EXPECT_EQ(Explain(kernel).origin, Origin::kPinned);
  EXPECT_EQ(WorkOfLaunch(kernel), 16 * 100);
  EXPECT_TRUE(policy_.store->List()->front().is_pinned);
  ASSERT_EQ(warnings->texts.size(), 1u);
  EXPECT_NE(warnings->texts[0].find("a config was pinned during the search, so {TILE=64, WORK=100} is kept"),
            std::string::npos)
      << warnings->texts[0];
}

TEST_F(PinTest, ARetuneThatFailsLeavesTheSelectionAsItIs) {
  std::atomic<bool> cancelled{false};
  policy_.search.stop = &cancelled;
  TunedKernel kernel = Create();
  Launch(kernel, 1000);
  LaunchPlan before = Explain(kernel);
  cancelled = true;
  EXPECT_ERROR(kernel.Retune(stream_->get(), {{"N", 1000}}), StatusCode::kCancelled, "");
  EXPECT_EQ(Explain(kernel).config, before.config);
  EXPECT_EQ(policy_.store->List()->size(), 1u);
}

TEST_F(PinTest, WhereNothingIsTunedRetuneIsRefused) {
  for (Mode mode : {Mode::kStoredOnly, Mode::kFallbackOnly}) {
    policy_.mode = mode;
    EXPECT_ERROR(Create().Retune(stream_->get(), {{"N", 1000}}), StatusCode::kFailedPrecondition,
                 "its AutotunePolicy::mode does not search");
  }
  policy_.mode = Mode::kTuneDeferred;
  TunedKernel kernel = Create();
  ASSERT_OK(kernel.Retune(stream_->get(), {{"N", 1000}}));
  EXPECT_EQ(kernel.counters().tunes, 1);
  ASSERT_OK(kernel.Pin({{"N", 1000}}, {{"TILE", 64}, {"WORK", 1}}));
  EXPECT_ERROR(kernel.Retune(stream_->get(), {{"N", 1000}}), StatusCode::kFailedPrecondition, "pinned");
  kernel.Freeze();
  EXPECT_ERROR(kernel.Retune(stream_->get(), {{"N", 2000}}), StatusCode::kFailedPrecondition, "after Freeze");
}

}  // namespace
}  // namespace tuneonce
