// Explain: what a launch would run, why, and from where. Each answer is compared with what a launch then does.

#include "store/memory_store.h"
#include "testing/broken_timer.h"
#include "testing/tuned_scale_test.h"
#include "testing/work_timer.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/testing.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using testing::View;
using Reason = LaunchPlan::Reason;
using Origin = LaunchPlan::Origin;
using Mode = AutotunePolicy::Mode;
using Action = LaunchPlan::Action;

class LaunchPlanTest : public testing::TunedScaleTest {
 protected:
  LaunchPlanTest() { policy_.search.timer = &timer_; }
  TunedKernel Create(Mode mode) { return Create(mode, scale_.Definition()); }
  TunedKernel Create(Mode mode, const KernelDefinition& definition) {
    policy_.mode = mode;
    return TunedScaleTest::Create(definition);
  }
  /// By arguments and by shape, which must say the same.
  LaunchPlan Explain(const TunedKernel& kernel, std::size_t n = 1000) {
    DeviceBuffer x = Floats(std::vector<float>(n, 3)), y = Floats(std::vector<float>(n, 0));
    const Counters before = kernel.counters();
    Result<LaunchPlan> plan = kernel.Explain(stream_->get(), {View(x), View(y), 2.0f});
    Result<LaunchPlan> of_shape = kernel.Explain(stream_->get(), {{"N", static_cast<std::int64_t>(n)}});
    EXPECT_OK(plan);
    EXPECT_OK(of_shape);
    if (!plan.ok() || !of_shape.ok()) return LaunchPlan();
    EXPECT_EQ(plan->action, of_shape->action);
    EXPECT_EQ(plan->reason, of_shape->reason);
    EXPECT_EQ(plan->origin, of_shape->origin);
    EXPECT_EQ(plan->config, of_shape->config);
    EXPECT_EQ(plan->detail, of_shape->detail);
    // Asking changes nothing.
    const Counters after = kernel.counters();
    EXPECT_EQ(after.hits, before.hits);
    EXPECT_EQ(after.tunes, before.tunes);
    EXPECT_EQ(after.stored_hits, before.stored_hits);
    EXPECT_EQ(after.fallbacks, before.fallbacks);
    EXPECT_EQ(after.now.loaded_kernels, before.now.loaded_kernels);
    EXPECT_EQ(after.now.ready_entries, before.now.ready_entries);
    EXPECT_EQ(after.now.pending_keys, before.now.pending_keys);
    EXPECT_EQ(Read(y), std::vector<float>(n, 0)) << "nothing is launched";
    return *plan;
  }
  /// `fast`, for x at 64's multiples, and `any` behind it.
  KernelDefinition Aligned64() const {
    KernelDefinition definition("aligned");
    Variant any = Variant(scale_.Source()).Named("any").Grid(Grid::OneD({"N", scale_.tile}));
    Variant fast = any;
    definition.Parameters(scale_.Definition().parameters())
        .Space(scale_.space)
        .AddVariant(fast.Named("fast").Assuming({Aligned("x", 64)}))
        .AddVariant(any);
    return definition;
  }
  /// Of 1000 elements, of which x begins one behind an aligned address.
  LaunchPlan ExplainUnaligned(const TunedKernel& kernel) {
    DeviceBuffer x = Floats(std::vector<float>(1001, 3)), y = Floats(std::vector<float>(1000, 0));
    Result<LaunchPlan> plan = kernel.Explain(stream_->get(), {Behind(x), View(y), 2.0f});
    EXPECT_OK(plan);
    return plan.ok() ? *plan : LaunchPlan();
  }
  void LaunchUnaligned(TunedKernel& kernel) {
    DeviceBuffer x = Floats(std::vector<float>(1001, 3)), y = Floats(std::vector<float>(1000, 0));
    ASSERT_OK(kernel.Launch(stream_->get(), Behind(x), View(y), 2.0f));
    EXPECT_EQ(Read(y), std::vector<float>(1000, 6));
  }
  static TensorView Behind(const DeviceBuffer& x) {
    return TensorView::Contiguous(static_cast<float*>(x.data()) + 1, DType::kFloat32, {1000});
  }
  std::int64_t WorkOf(const LaunchPlan& plan) { return plan.config ? (*plan.config)[scale_.work] : -1; }

  testing::WorkTimer timer_;
};

TEST_F(LaunchPlanTest, AMissSearchesThenTheSelectionIsReadyAndSaysHowSureItIs) {
  TunedKernel kernel = Create(Mode::kTuneOnMiss);
  LaunchPlan plan = Explain(kernel);
  EXPECT_EQ(plan.action, Action::kSearch);
  EXPECT_EQ(plan.reason, Reason::kNoRecord);
  EXPECT_EQ(plan.origin, Origin::kNone);
  EXPECT_FALSE(plan.config);
  EXPECT_EQ(plan.key, "N=1000, x:float32, y:float32");
  Launch(kernel, 1000);
  plan = Explain(kernel);
  EXPECT_EQ(plan.action, Action::kSelected);
  EXPECT_EQ(plan.reason, Reason::kReady);
  EXPECT_EQ(plan.origin, Origin::kSearch);
  EXPECT_EQ(WorkOf(plan), 1);
  EXPECT_EQ(plan.variant, kernel.definition().variants().front().name);
  ASSERT_NE(plan.record, nullptr);
  EXPECT_GT(plan.record->best.measurement.mean_us, 0);
  EXPECT_TRUE(plan.record->is_complete);
  EXPECT_EQ(plan.record->timer, "work");
  EXPECT_TRUE(plan.record->candidates.empty()) << "kept for each key: without the others";
}

TEST_F(LaunchPlanTest, AStoredSelectionIsFoundWithoutLoadingIt) {
  TunedKernel first = Create(Mode::kTuneOnMiss);
  Launch(first, 1000);
  for (Mode mode : {Mode::kTuneOnMiss, Mode::kTuneDeferred, Mode::kStoredOnly}) {
    TunedKernel kernel = Create(mode);
    LaunchPlan plan = Explain(kernel);
    EXPECT_EQ(plan.action, Action::kSelected);
    EXPECT_EQ(plan.reason, Reason::kStored);
    EXPECT_EQ(plan.origin, Origin::kStore);
    EXPECT_EQ(plan.match, RecordMatch::kExact);
    EXPECT_EQ(WorkOf(plan), 1);
    ASSERT_NE(plan.record, nullptr);
    Launch(kernel, 1000);
    EXPECT_EQ(kernel.counters().stored_hits, 1);
    plan = Explain(kernel);
    EXPECT_EQ(plan.reason, Reason::kReady);
    EXPECT_EQ(plan.origin, Origin::kStore);
  }
}

TEST_F(LaunchPlanTest, AShippedRecordAndAnotherDriversAreSaidToBeThat) {
  auto shipped = std::make_shared<MemoryStore>();
  policy_.store = shipped;
  TunedKernel first = Create(Mode::kTuneOnMiss);
  Launch(first, 1000);
  TuningRecord record = shipped->List()->front();
  ASSERT_OK(shipped->Remove(record.key));
  record.key.driver_version -= 10;
  ASSERT_OK(shipped->Put(record));
  policy_.store = MakeLayeredStore(std::make_shared<MemoryStore>(), {shipped});
  TunedKernel strict = Create(Mode::kTuneOnMiss);
  EXPECT_EQ(Explain(strict).action, Action::kSearch) << "a record that policy does not let serve";
  policy_.min_match = RecordMatch::kOtherDriver;
  TunedKernel kernel = Create(Mode::kTuneOnMiss);
  for (int i = 0; i < 2; ++i) {
    LaunchPlan plan = Explain(kernel);
    EXPECT_EQ(plan.action, Action::kSelected);
    EXPECT_EQ(plan.origin, Origin::kShipped);
    EXPECT_EQ(plan.match, RecordMatch::kOtherDriver);
    Launch(kernel, 1000);
  }
  EXPECT_EQ(kernel.counters().tunes, 0);
}

TEST_F(LaunchPlanTest, ACompleteShippedRecordServesThoughTheUsersOwnWasCutShort) {
  auto tuned = std::make_shared<MemoryStore>();
  policy_.store = tuned;
  policy_.search.compile.cache = tuned;  // It has the code of all stores of records below.
  TunedKernel first = Create(Mode::kTuneOnMiss);
  Launch(first, 1000);
  const TuningRecord complete = tuned->List()->front();
  TuningRecord cut_short = complete;
  cut_short.is_complete = false;
  cut_short.best.config = complete.baseline->config;
  ASSERT_FALSE(cut_short.best.config.IsSame(complete.best.config));
  for (bool of_another_driver : {false, true}) {
    for (Mode mode : {Mode::kTuneOnMiss, Mode::kStoredOnly}) {
      SCOPED_TRACE(of_another_driver);
      TuningRecord shipped = complete;
      if (of_another_driver) shipped.key.driver_version -= 10;
      auto user = std::make_shared<MemoryStore>(), under = std::make_shared<MemoryStore>();
      ASSERT_OK(user->Put(cut_short));
      ASSERT_OK(under->Put(shipped));
      policy_.store = MakeLayeredStore(user, {under});
      policy_.min_match = of_another_driver ? RecordMatch::kOtherDriver : RecordMatch::kExact;
      TunedKernel kernel = Create(mode);
      LaunchPlan plan = Explain(kernel);
      EXPECT_EQ(plan.origin, Origin::kShipped);
      EXPECT_EQ(plan.match, of_another_driver ? RecordMatch::kOtherDriver : RecordMatch::kExact);
      ASSERT_TRUE(plan.config.has_value());
      EXPECT_TRUE(plan.config->IsSame(complete.best.config));
      Launch(kernel, 1000);
      EXPECT_EQ(kernel.counters().stored_hits, 1);
      EXPECT_EQ(kernel.counters().tunes, 0);
    }
  }
}

TEST_F(LaunchPlanTest, WhyAFallbackRunsIsSaid) {
  struct Case {
    const char* what;
    Mode mode;
    std::function<void(TunedKernel&)> prepare;
    Reason reason;
    const char* detail;
  };
  testing::BrokenTimer broken;
  const Case cases[] = {
      {"mode", Mode::kFallbackOnly, [](TunedKernel&) {}, Reason::kMode, ""},
      {"no record, and no search", Mode::kStoredOnly, [](TunedKernel&) {}, Reason::kNoRecord, ""},
      {"no search in a launch", Mode::kTuneDeferred, [](TunedKernel&) {}, Reason::kNoRecord, ""},
      {"waits", Mode::kTuneDeferred, [&](TunedKernel& kernel) { Launch(kernel, 1000); }, Reason::kPending, ""},
      {"frozen", Mode::kTuneOnMiss, [](TunedKernel& kernel) { kernel.Freeze(); }, Reason::kFrozen, ""},
      {"failed", Mode::kTuneOnMiss,
       [&](TunedKernel& kernel) {
         (void)kernel.Warmup(stream_->get(), {{{"N", 1000}}});
       },
       Reason::kFailedTune, "the clock stands still"},
  };
  for (const Case& c : cases) {
    if (c.reason == Reason::kFailedTune) policy_.search.timer = &broken;
    policy_.retry_after = std::chrono::milliseconds(1000000);
    TunedKernel kernel = Create(c.mode);
    c.prepare(kernel);
    LaunchPlan plan = Explain(kernel);
    EXPECT_EQ(plan.action, Action::kFallback) << c.what;
    EXPECT_EQ(plan.reason, c.reason) << c.what;
    EXPECT_EQ(plan.origin, Origin::kNone) << c.what;
    EXPECT_EQ(WorkOf(plan), 100) << c.what << ": the baseline";
    EXPECT_NE(plan.detail.find(c.detail), std::string::npos) << c.what << ": " << plan.detail;
    const std::int64_t fallbacks = kernel.counters().fallbacks;
    if (c.mode != Mode::kStoredOnly) {  // Nobody compiled its fallback.
      Launch(kernel, 1000);
      EXPECT_EQ(kernel.counters().fallbacks, fallbacks + 1) << c.what;
    }
  }
}

TEST_F(LaunchPlanTest, OnACapturingStreamItIsWhatACaptureRuns) {
  TunedKernel kernel = Create(Mode::kTuneOnMiss);
  DeviceBuffer x = Floats(std::vector<float>(1000, 3)), y = Floats(std::vector<float>(1000, 0));
  auto ask = [&](std::int64_t n) {
    Result<LaunchPlan> plan = InternalError("not asked");
    Result<GraphExec> graph = GraphExec::Capture(stream_->view(), [&](CUstream stream) {
      plan = kernel.Explain(stream, {{"N", n}});
      return Status();
    });
    EXPECT_OK(graph);
    return plan;
  };
  EXPECT_ERROR(ask(1000), StatusCode::kFailedPrecondition, "the stream is capturing and no code is loaded");
  Launch(kernel, 1000);
  Result<LaunchPlan> ready = ask(1000);
  ASSERT_OK(ready);
  EXPECT_EQ(ready->action, Action::kSelected);
  // Another key whose fallback alone is loaded.
  policy_.mode = Mode::kStoredOnly;
  testing::BrokenTimer broken;
  policy_.search.timer = &broken;
  kernel = Create(Mode::kTuneOnMiss);
  (void)kernel.Warmup(stream_->get(), {{{"N", 2000}}});
  Result<LaunchPlan> fallback = ask(2000);
  ASSERT_OK(fallback);
  EXPECT_EQ(fallback->reason, Reason::kCapture);
  EXPECT_EQ(WorkOf(*fallback), 100);
}

TEST_F(LaunchPlanTest, AGuardAndATensorThatDoNotSuitAreNamed) {
  // A bucket of N whose winner has a guard that not all of its shapes meet.
  SearchSpace space = scale_.space;
  IntAxis work = scale_.work;
  space.Where("at least 900", [=](const Config& c, const Dims& dims) { return c[work] == 100 || dims[Dim{0}] >= 900; });
  KernelDefinition definition("guarded");
  definition.Parameters(scale_.Definition().parameters())
      .Key({KeyOf("N").NextPow2()})
      .Space(space)
      .AddVariant(Variant(scale_.Source()).Grid(Grid::OneD({"N", scale_.tile})));
  TunedKernel kernel = Create(Mode::kTuneOnMiss, definition);
  Launch(kernel, 1000);
  EXPECT_EQ(Explain(kernel, 1000).action, Action::kSelected);
  EXPECT_EQ(Explain(kernel, 1000).key, "N<=1024, x:float32, y:float32");
  LaunchPlan plan = Explain(kernel, 600);
  EXPECT_EQ(plan.action, Action::kFallback);
  EXPECT_EQ(plan.reason, Reason::kGuard);
  EXPECT_NE(plan.detail.find("condition 'at least 900' does not hold"), std::string::npos) << plan.detail;
  EXPECT_EQ(plan.origin, Origin::kSearch) << "the selection that may not run";
  EXPECT_EQ(WorkOf(plan), 100);
  // A strided tensor: nothing suits it, and Explain is the error that a launch is.
  DeviceBuffer x = Floats(std::vector<float>(4000, 3)), y = Floats(std::vector<float>(1000, 0));
  TensorView strided = View(x);
  strided.shape[0] = 1000;
  strided.strides[0] = 4;
  Status launched = kernel.Launch(stream_->get(), strided, View(y), 2.0f);
  EXPECT_ERROR(kernel.Explain(stream_->get(), {strided, View(y), 2.0f}), StatusCode::kInvalidArgument, "stride");
  EXPECT_EQ(kernel.Explain(stream_->get(), {strided, View(y), 2.0f}).status().message(), launched.message());
}

TEST_F(LaunchPlanTest, ACallThatAVariantDoesNotSuitHasAKeyOfItsOwnThatNamesIt) {
  TunedKernel kernel = Create(Mode::kTuneOnMiss, Aligned64());
  Launch(kernel, 1000);
  EXPECT_EQ(Explain(kernel).variant, "fast");
  LaunchPlan plan = ExplainUnaligned(kernel);
  EXPECT_EQ(plan.action, Action::kSearch);
  EXPECT_EQ(plan.reason, Reason::kNoRecord) << "what was measured is of the other variant";
  EXPECT_EQ(plan.origin, Origin::kNone);
  EXPECT_FALSE(plan.config);
  EXPECT_EQ(plan.key, "N=1000, x:float32, y:float32, without fast");
  LaunchUnaligned(kernel);
  EXPECT_EQ(kernel.counters().tunes, 2);
  EXPECT_EQ(kernel.counters().fallbacks, 0);
  plan = ExplainUnaligned(kernel);
  EXPECT_EQ(plan.reason, Reason::kReady);
  EXPECT_EQ(plan.variant, "any");
  EXPECT_EQ(Explain(kernel).variant, "fast") << "its own selection stays";
  EXPECT_EQ(Explain(kernel).key, "N=1000, x:float32, y:float32");
}

TEST_F(LaunchPlanTest, WhatIsPinnedOrImportedForAKeyServesItsCallsThatLeaveAVariantOutAndWhatIsMeasuredDoesNot) {
  TunedKernel measured = Create(Mode::kTuneOnMiss, Aligned64());
  Launch(measured, 1000);
  const TuningRecord of_search = policy_.store->List()->front();
  ASSERT_EQ(WorkOf(Explain(measured)), 1);
  struct Case {
    const char* what;
    std::function<void(TunedKernel&)> put;
    Origin origin;
    Action action;
    std::int64_t work;  // The baseline's is 100, and 1 is what a search chooses.
    int tunes;
  };
  const Case cases[] = {
      {"pinned in the store",
       [](TunedKernel& kernel) {
         EXPECT_OK(kernel.Pin({{"N", 1000}}, {{"TILE", 256}, {"WORK", 100}}, TunedKernel::PinFor::kStore));
       },
       Origin::kPinned, Action::kSelected, 100, 0},
      {"imported",
       [&](TunedKernel&) {
         TuningRecord record;
         record.key = of_search.key;
         record.key.driver_version = 0;
         record.best.config = of_search.best.config;
         record.reason = SelectionReason::kImported;
         EXPECT_OK(policy_.store->Put(record));
       },
       Origin::kImported, Action::kSearch, 1, 0},
      {"measured", [&](TunedKernel&) { EXPECT_OK(policy_.store->Put(of_search)); }, Origin::kNone, Action::kSearch, -1,
       1},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel putting = Create(Mode::kTuneOnMiss, Aligned64());
    c.put(putting);
    ASSERT_EQ(policy_.store->List()->size(), 1u);
    TunedKernel kernel = Create(Mode::kTuneOnMiss, Aligned64());
    LaunchPlan plan = ExplainUnaligned(kernel);
    EXPECT_EQ(plan.key, "N=1000, x:float32, y:float32, without fast");
    EXPECT_EQ(plan.origin, c.origin);
    EXPECT_EQ(plan.action, c.action);
    EXPECT_EQ(WorkOf(plan), c.work);
    EXPECT_EQ(plan.variant, c.action == Action::kSelected ? "any" : "") << "what a launch of unaligned tensors runs";
    for (TunedKernel* each : {&putting, &kernel}) LaunchUnaligned(*each);
    EXPECT_EQ(putting.counters().tunes, c.tunes);
    EXPECT_EQ(kernel.counters().tunes, 0) << "the other has put what it found";
    EXPECT_EQ(ExplainUnaligned(kernel).variant, "any");
    EXPECT_EQ(WorkOf(ExplainUnaligned(kernel)), c.origin == Origin::kPinned ? 100 : 1);
  }
}

TEST_F(LaunchPlanTest, AStoredConfigWhoseRequirementFailsForALaunchIsNotSaidToRun) {
  KernelDefinition definition("scale");
  definition.Parameters(scale_.Definition().parameters())
      .Space(scale_.space)
      .Key(KeyOf("N").NextPow2())
      .AddVariant(Variant(scale_.Source())
                      .Grid(Grid::OneD({"N", scale_.tile}))
                      .Requires(scale_.work == 100 || D("N") % 2 == 0));
  TunedKernel first = Create(Mode::kTuneOnMiss, definition);
  Launch(first, 1000);
  ASSERT_EQ(WorkOf(Explain(first)), 1);
  for (Mode mode : {Mode::kTuneOnMiss, Mode::kTuneDeferred, Mode::kStoredOnly}) {
    TunedKernel kernel = Create(mode, definition);
    for (bool is_loaded : {false, true}) {
      const LaunchPlan plan = Explain(kernel, 999);
      EXPECT_EQ(plan.action, Action::kFallback) << is_loaded;
      EXPECT_EQ(plan.reason, Reason::kGuard);
      EXPECT_EQ(plan.origin, Origin::kStore);
      EXPECT_EQ(WorkOf(plan), 100);
      EXPECT_NE(plan.detail.find("requires 'WORK == 100 || N % 2 == 0', which does not hold"), std::string::npos)
          << plan.detail;
      Launch(kernel, 999);
      EXPECT_EQ(kernel.counters().fallbacks, is_loaded ? 2 : 1);
      EXPECT_EQ(Explain(kernel, 1000).action, Action::kSelected);
    }
  }
}

TEST_F(LaunchPlanTest, WhatIsNoShapeOrNoArgumentsIsSaid) {
  TunedKernel kernel = Create(Mode::kTuneOnMiss);
  DeviceBuffer x = Floats({1, 2});
  EXPECT_ERROR(kernel.Explain(stream_->get(), {{"M", 4}}), StatusCode::kInvalidArgument,
               "kernel 'scale', explain: invalid shape: no value for the dim 'N'; 'M' is unknown");
  EXPECT_ERROR(kernel.Explain(stream_->get(), TunedKernel::Shape()), StatusCode::kInvalidArgument, "the dim 'N'");
  EXPECT_ERROR(kernel.Explain(stream_->get(), {View(x)}), StatusCode::kInvalidArgument, "argument");
  Result<LaunchPlan> nothing = kernel.Explain(stream_->get(), {{"N", 0}});
  ASSERT_OK(nothing);
  EXPECT_EQ(nothing->action, Action::kNothing);
}

}  // namespace
}  // namespace tuneonce
