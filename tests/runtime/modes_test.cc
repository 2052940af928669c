// The table of docs/internal/modes.md, a test per cell: what a launch does in each mode and situation.
#include <functional>
#include <thread>

#include "base/temporary_folder.h"
#include "store/memory_store.h"
#include "testing/broken_timer.h"
#include "testing/device_test.h"
#include "testing/runtimes.h"
#include "testing/tools.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/testing.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using testing::View;
using Mode = AutotunePolicy::Mode;

/// Fails whatever it is asked: a machine without compilers.
class NoCompiler final : public Toolchain {
 public:
  SourceKind source_kind() const override { return SourceKind::kCpuCpp; }
  Result<std::string> Version() const override { return UnavailableError("no compiler here"); }
  std::string Description() const override { return ""; }

 protected:
  Result<Artifact> DoCompile(const KernelSource&, const Hints&, const Target&, const WaitLimits&) const override {
    return UnavailableError("no compiler here");
  }
};

class ModesTest : public testing::CpuDeviceTest {
 protected:
  struct Listener : AutotuneObserver {
    void OnTuneFailed(const std::string&, const std::string& key, const Status& why) override {
      failures.push_back(key + ": " + why.message());
    }
    void OnWarning(const std::string&) override {}
    std::vector<std::string> failures;
  };

  ModesTest() : folder_(*testing::MakeFolder()) {
    SqliteStoreOptions options;
    options.path = folder_.path() + "/cache/store.db";
    policy_.store = *SqliteStore::Open(options);  // With artifacts.
    policy_.search.max_rounds = 1;
    policy_.observer = observer_;
    policy_.retry_after = std::chrono::milliseconds(0);
  }
  TunedKernel Create(Mode mode) { return Create(mode, scale_.Definition()); }
  TunedKernel Create(Mode mode, const KernelDefinition& definition) {
    AutotunePolicy policy = policy_;
    policy.mode = mode;
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  Status Launch(TunedKernel& kernel, std::size_t n = 1000) {
    DeviceBuffer x = Floats(std::vector<float>(n, 3));
    DeviceBuffer y = Floats(std::vector<float>(n, 0));
    TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream_->get(), View(x), View(y), 2.0f));
    EXPECT_EQ(Read(y), std::vector<float>(n, 6));
    return Status();
  }
  Status Capture(TunedKernel& kernel, std::size_t n = 1000) {
    DeviceBuffer x = Floats(std::vector<float>(n, 3));
    DeviceBuffer y = Floats(std::vector<float>(n, 0));
    Status launched;
    Result<GraphExec> graph = GraphExec::Capture(stream_->view(), [&](CUstream stream) {
      launched = kernel.Launch(stream, View(x), View(y), 2.0f);
      return Status();
    });
    EXPECT_OK(graph);
    if (!launched.ok()) return launched;
    TUNEONCE_RETURN_IF_ERROR(graph->Launch(stream_->get()));
    EXPECT_EQ(Read(y), std::vector<float>(n, 6));
    return launched;
  }
  bool IsTuned(const TunedKernel& kernel, std::size_t n = 1000) {
    DeviceBuffer x = Floats(std::vector<float>(n, 3));
    return *kernel.IsReady({View(x), View(x), 2.0f});
  }
  /// Leaves a record of N=1000, and the code of its selection and its baseline, in the store.
  void FillStore() {
    TunedKernel kernel = Create(Mode::kTuneOnMiss);
    ASSERT_OK(Launch(kernel));
    ASSERT_EQ(policy_.store->List()->size(), 1u);
  }

  testing::ScaleKernel scale_;
  TemporaryFolder folder_;
  AutotunePolicy policy_;
  std::shared_ptr<Listener> observer_ = std::make_shared<Listener>();
};

enum class Situation { kHit, kStored, kMiss, kWaiting, kCaptureLoaded, kCaptureNothing, kFrozenHit, kFrozenMiss };
enum class WhatRuns { kSelected, kFallback, kError };

struct Cell {
  Mode mode;
  Situation situation;
  const char* name;
  WhatRuns runs;
  std::int64_t tunes;           // Searches made by the launch.
  std::int64_t stored_hits;     // Records it took.
  std::int64_t capture_misses;  // As Counters has them.
  std::int64_t frozen_misses;
  std::int64_t pending_keys;
  bool is_tuned;  // Afterwards.
};

class ModesTableTest : public ModesTest, public ::testing::WithParamInterface<Cell> {};

TEST_P(ModesTableTest, ALaunchDoesWhatTheTableSays) {
  const Cell& cell = GetParam();
  const Situation situation = cell.situation;
  bool wants_selection = situation == Situation::kHit || situation == Situation::kFrozenHit;
  FillStore();  // Of N=1000. Of another N it has no record, but the fallback's code.
  const std::int64_t n =
      wants_selection || situation == Situation::kStored || situation == Situation::kFrozenMiss ? 1000 : 2000;
  testing::BrokenTimer timer;
  timer.is_broken = false;
  timer.code = StatusCode::kUnavailable;
  policy_.search.timer = &timer;
  TunedKernel kernel = Create(cell.mode);
  if (wants_selection) ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", n}}}));
  if (situation == Situation::kWaiting) {
    ASSERT_OK(Launch(kernel, 2000));
  }
  if (situation == Situation::kCaptureLoaded) {
    timer.is_broken = true;  // The warm-up finds no selection, and loads the fallback all the same.
    Status warmed = kernel.Warmup(stream_->get(), {{{"N", n}}});
    EXPECT_EQ(warmed.code(), cell.mode == Mode::kTuneOnMiss || cell.mode == Mode::kTuneDeferred
                                 ? StatusCode::kUnavailable
                                 : StatusCode::kOk);
    timer.is_broken = false;
  }
  if (situation == Situation::kFrozenHit || situation == Situation::kFrozenMiss) kernel.Freeze();
  const Counters before = kernel.counters();
  bool captures = situation == Situation::kCaptureLoaded || situation == Situation::kCaptureNothing;
  auto count = static_cast<std::size_t>(n);
  Status launched = captures ? Capture(kernel, count) : Launch(kernel, count);
  const Counters after = kernel.counters();
  EXPECT_EQ(launched.ok(), cell.runs != WhatRuns::kError) << launched.ToString();
  EXPECT_EQ(after.fallbacks - before.fallbacks, cell.runs == WhatRuns::kFallback ? 1 : 0);
  EXPECT_EQ(after.tunes - before.tunes, cell.tunes);
  EXPECT_EQ(after.stored_hits - before.stored_hits, cell.stored_hits);
  EXPECT_EQ(after.capture_misses - before.capture_misses, cell.capture_misses);
  EXPECT_EQ(after.frozen_misses - before.frozen_misses, cell.frozen_misses);
  EXPECT_EQ(after.now.pending_keys, cell.pending_keys);
  EXPECT_EQ(IsTuned(kernel, count), cell.is_tuned);
}

constexpr WhatRuns kRunsSelected = WhatRuns::kSelected, kRunsFallback = WhatRuns::kFallback,
                   kIsError = WhatRuns::kError;
//                                                 runs      tunes stored captures frozen waiting tuned
constexpr Cell kCells[] = {
    {Mode::kTuneOnMiss, Situation::kHit, "TuneHit", kRunsSelected, 0, 0, 0, 0, 0, true},
    {Mode::kTuneOnMiss, Situation::kStored, "TuneStored", kRunsSelected, 0, 1, 0, 0, 0, true},
    {Mode::kTuneOnMiss, Situation::kMiss, "TuneMiss", kRunsSelected, 1, 0, 0, 0, 0, true},
    {Mode::kTuneOnMiss, Situation::kCaptureLoaded, "TuneCapture", kRunsFallback, 0, 0, 1, 0, 0, false},
    {Mode::kTuneOnMiss, Situation::kCaptureNothing, "TuneColdCapture", kIsError, 0, 0, 1, 0, 0, false},
    {Mode::kTuneOnMiss, Situation::kFrozenHit, "TuneFrozenHit", kRunsSelected, 0, 0, 0, 0, 0, true},
    {Mode::kTuneOnMiss, Situation::kFrozenMiss, "TuneFrozenMiss", kRunsFallback, 0, 0, 0, 1, 0, false},
    {Mode::kTuneDeferred, Situation::kHit, "BackgroundHit", kRunsSelected, 0, 0, 0, 0, 0, true},
    {Mode::kTuneDeferred, Situation::kStored, "BackgroundStored", kRunsSelected, 0, 1, 0, 0, 0, true},
    {Mode::kTuneDeferred, Situation::kMiss, "BackgroundMiss", kRunsFallback, 0, 0, 0, 0, 1, false},
    {Mode::kTuneDeferred, Situation::kWaiting, "BackgroundWaiting", kRunsFallback, 0, 0, 0, 0, 1, false},
    {Mode::kTuneDeferred, Situation::kCaptureLoaded, "BackgroundCapture", kRunsFallback, 0, 0, 1, 0, 0, false},
    {Mode::kTuneDeferred, Situation::kCaptureNothing, "BackgroundColdCapture", kIsError, 0, 0, 1, 0, 0, false},
    {Mode::kTuneDeferred, Situation::kFrozenHit, "DeferredFrozenHit", kRunsSelected, 0, 0, 0, 0, 0, true},
    {Mode::kTuneDeferred, Situation::kFrozenMiss, "DeferredFrozenMiss", kRunsFallback, 0, 0, 0, 1, 0, false},
    {Mode::kStoredOnly, Situation::kHit, "StoredHit", kRunsSelected, 0, 0, 0, 0, 0, true},
    {Mode::kStoredOnly, Situation::kStored, "StoredStored", kRunsSelected, 0, 1, 0, 0, 0, true},
    {Mode::kStoredOnly, Situation::kMiss, "StoredMiss", kRunsFallback, 0, 0, 0, 0, 1, false},
    {Mode::kStoredOnly, Situation::kWaiting, "StoredWaiting", kRunsFallback, 0, 0, 0, 0, 1, false},
    {Mode::kStoredOnly, Situation::kCaptureLoaded, "StoredCapture", kRunsFallback, 0, 0, 0, 0, 1, false},
    {Mode::kStoredOnly, Situation::kCaptureNothing, "StoredColdCapture", kIsError, 0, 0, 1, 0, 0, false},
    {Mode::kStoredOnly, Situation::kFrozenHit, "StoredFrozenHit", kRunsSelected, 0, 0, 0, 0, 0, true},
    {Mode::kStoredOnly, Situation::kFrozenMiss, "StoredFrozenMiss", kRunsFallback, 0, 0, 0, 1, 0, false},
    {Mode::kFallbackOnly, Situation::kHit, "BaselineHit", kRunsFallback, 0, 0, 0, 0, 0, false},
    {Mode::kFallbackOnly, Situation::kStored, "BaselineStored", kRunsFallback, 0, 0, 0, 0, 0, false},
    {Mode::kFallbackOnly, Situation::kMiss, "BaselineMiss", kRunsFallback, 0, 0, 0, 0, 0, false},
    {Mode::kFallbackOnly, Situation::kCaptureLoaded, "BaselineCapture", kRunsFallback, 0, 0, 0, 0, 0, false},
    {Mode::kFallbackOnly, Situation::kCaptureNothing, "BaselineColdCapture", kIsError, 0, 0, 1, 0, 0, false},
    {Mode::kFallbackOnly, Situation::kFrozenHit, "BaselineFrozenHit", kRunsFallback, 0, 0, 0, 0, 0, false},
    {Mode::kFallbackOnly, Situation::kFrozenMiss, "BaselineFrozenMiss", kRunsFallback, 0, 0, 0, 0, 0, false},
};
INSTANTIATE_TEST_SUITE_P(Modes, ModesTableTest, ::testing::ValuesIn(kCells),
                         [](const auto& cell) { return std::string(cell.param.name); });

TEST_F(ModesTest, InTheBackgroundAKeyWaitsForTunePendingAndItsLaunchesAreHits) {
  TunedKernel kernel = Create(Mode::kTuneDeferred);
  for (int i = 0; i < 3; ++i) ASSERT_OK(Launch(kernel));
  EXPECT_EQ(kernel.counters().tunes, 0);
  EXPECT_EQ(kernel.counters().fallbacks, 3);
  EXPECT_EQ(kernel.counters().hits, 2) << "the key is known from the first launch on";
  EXPECT_EQ(kernel.counters().now.pending_keys, 1);
  ASSERT_OK(kernel.TunePending(stream_->get()));
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ(kernel.counters().now.pending_keys, 0);
  ASSERT_OK(Launch(kernel));
  EXPECT_EQ(kernel.counters().fallbacks, 3);
  EXPECT_EQ((*policy_.store->List())[0].inputs, TunedInputs::kCaller) << "copies of the launch's tensors";
  ASSERT_OK(kernel.TunePending(stream_->get()));
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_F(ModesTest, AWarmUpTunesPendingKeysTooAndAWaitingBucketIsTunedAtItsBound) {
  KernelDefinition definition = scale_.Definition();
  definition.Key(KeyOf("N").NextPow2());
  TunedKernel kernel = Create(Mode::kTuneDeferred, definition);
  ASSERT_OK(Launch(kernel, 3000));
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 100}}}));
  EXPECT_EQ(kernel.counters().now.pending_keys, 0);
  EXPECT_TRUE(IsTuned(kernel, 2500));
  std::vector<TuningRecord> records = *policy_.store->List();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].tuned_at, "N=4096");
}

TEST_F(ModesTest, AWaitingKeyIsTunedWithTheScalarsOfItsLaunch) {
  KernelDefinition definition = scale_.Definition();
  definition.Key(KeyOf("N"), ValueOf("factor"));
  TunedKernel kernel = Create(Mode::kTuneDeferred, definition);
  DeviceBuffer x = Floats(std::vector<float>(100, 3));
  ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(x), 7.0f));  // Declared is 2.
  ASSERT_OK(kernel.TunePending(stream_->get()));
  EXPECT_TRUE(*kernel.IsReady({View(x), View(x), 7.0f}));
  EXPECT_FALSE(*kernel.IsReady({View(x), View(x), 2.0f}));
}

TEST_F(ModesTest, WhatCannotBeTunedAtTunePendingIsSaidOnceAndGoesOnWithItsFallback) {
  KernelDefinition definition("integers");
  definition.Parameters({In("x", kInt32, {"N"}), Out("y", kInt32, {"N"})})
      .Space(scale_.space)
      .AddVariant(Variant([](const Config&, const Problem&) {
                    return KernelSource::CpuCpp(
                        "static void copy(const tuneonce_block&, const int* x, int* y) { y[0] = x[0]; }\n"
                        "TUNEONCE_CPU_KERNEL(copy);",
                        "copy");
                  }).Grid(Grid::Fixed(1)));
  policy_.kept_inputs_bytes = 0;
  TunedKernel kernel = Create(Mode::kTuneDeferred, definition);
  DeviceBuffer x = Floats({1}), y = Floats({0});
  TensorView from = TensorView::Contiguous(x.data(), DType::kInt32, {1});
  TensorView to = TensorView::Contiguous(y.data(), DType::kInt32, {1});
  ASSERT_OK(kernel.Launch(stream_->get(), from, to));
  EXPECT_ERROR(kernel.TunePending(stream_->get()), StatusCode::kInvalidArgument, "parameter 'x'");
  ASSERT_EQ(observer_->failures.size(), 1u);
  EXPECT_NE(observer_->failures[0].find("N=1, x:int32"), std::string::npos) << observer_->failures[0];
  EXPECT_OK(kernel.TunePending(stream_->get()));  // It is not tried again.
  EXPECT_EQ(kernel.counters().failed_tunes, 1);
  ASSERT_OK(kernel.Launch(stream_->get(), from, to));
  EXPECT_EQ(kernel.counters().fallbacks, 2);
}

TEST_F(ModesTest, FreezeEndsAllWaiting) {
  TunedKernel kernel = Create(Mode::kTuneDeferred);
  ASSERT_OK(Launch(kernel, 1000));
  kernel.Freeze();
  EXPECT_EQ(kernel.counters().now.pending_keys, 0);
  ASSERT_OK(kernel.TunePending(stream_->get()));
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 2000}}}));  // Its fallback.
  ASSERT_OK(Launch(kernel, 1000));
  ASSERT_OK(Capture(kernel, 2000));
  EXPECT_EQ(kernel.counters().tunes, 0);
  EXPECT_EQ(kernel.counters().frozen_misses, 1) << "a capture's miss is counted as that";
  EXPECT_EQ(kernel.counters().capture_misses, 1);
  EXPECT_EQ(kernel.frozen_misses(), std::vector<std::string>{"N=1000, x:float32, y:float32"});
}

TEST_F(ModesTest, AfterFreezeARunningTunePendingOrWarmUpSearchesForNoOtherKey) {
  TunedKernel* to_freeze = nullptr;
  policy_.search.on_progress = [&](const SearchProgress& progress) {
    if (progress.stage == SearchProgress::Stage::kMeasure) to_freeze->Freeze();
  };
  TunedKernel deferred = Create(Mode::kTuneDeferred);
  to_freeze = &deferred;
  for (std::size_t n : {1000, 1001, 1002}) ASSERT_OK(Launch(deferred, n));
  ASSERT_OK(deferred.TunePending(stream_->get()));
  EXPECT_EQ(deferred.counters().tunes, 1);
  policy_.store = std::make_shared<MemoryStore>();
  TunedKernel warm = Create(Mode::kTuneOnMiss);
  to_freeze = &warm;
  Result<std::vector<WarmedKey>> warmed =
      WarmupAll(stream_->get(), {{&warm, {{{"N", 1000}}, {{"N", 1001}}, {{"N", 1002}}}}});
  ASSERT_OK(warmed);
  EXPECT_EQ(warm.counters().tunes, 1);
  EXPECT_EQ((*warmed)[0].state, WarmedKey::State::kTuned);
  EXPECT_EQ((*warmed)[1].state, WarmedKey::State::kFallback);
  EXPECT_EQ((*warmed)[2].state, WarmedKey::State::kFallback);
}

/// Has nothing, and calls what it is given when it is asked.
class InterruptingStore final : public ForwardingStore {
 public:
  InterruptingStore() : ForwardingStore(MakeMemoryStore()) {}

  std::function<void()> when_asked;

  Result<RecordLookup> Lookup(const TuningKey&) const override {
    if (when_asked) when_asked();
    return RecordLookup();
  }
};

TEST_F(ModesTest, ALaunchThatIsUnderWayWhenAnotherThreadFreezesLeavesNoKeyThatWaits) {
  auto store = std::make_shared<InterruptingStore>();
  policy_.store = store;
  TunedKernel kernel = Create(Mode::kTuneDeferred);
  ASSERT_OK(Launch(kernel, 2000));
  EXPECT_EQ(kernel.counters().now.pending_keys, 1);
  store->when_asked = [&] { std::thread([&] { kernel.Freeze(); }).join(); };
  ASSERT_OK(Launch(kernel, 1000));  // It was not frozen when this one looked.
  store->when_asked = nullptr;
  EXPECT_EQ(kernel.counters().now.pending_keys, 0);
  ASSERT_OK(Launch(kernel, 1000));
  EXPECT_EQ(kernel.counters().hits, 0);
  EXPECT_EQ(kernel.counters().frozen_misses, 1);
}

/// Without a compiler, and with the code of one of two baselines in the store.
TEST_F(ModesTest, AKeyThatWaitsIsAHitAsSoonAsAFallbackIsLoadedThoughAnEarlierLaunchHadNone) {
  scale_.space.Where("even N", [tile = scale_.tile](const Config& c, const Dims& dims) {
    return c[tile] != 64 || dims[Dim{0}] % 2 == 0;
  });
  scale_.space.SetBaselines({{{{scale_.tile, 64}, {scale_.work, 100}}}, {{{scale_.tile, 256}, {scale_.work, 100}}}});
  KernelDefinition definition = scale_.Definition();
  definition.Key(KeyOf("N").NextPow2());
  policy_.search.baseline_margin = 100;  // However noisy the times are, the baseline is selected.
  TunedKernel maker = Create(Mode::kTuneOnMiss, definition);
  ASSERT_OK(Launch(maker, 1000));  // At 1024: TILE=64.
  policy_.search.runtime = testing::RuntimeWith(std::make_shared<NoCompiler>());
  policy_.retry_after = std::chrono::milliseconds(3600000);
  TunedKernel kernel = Create(Mode::kStoredOnly, definition);
  EXPECT_ERROR(Launch(kernel, 1999), StatusCode::kUnavailable, "kStoredOnly compiles nothing");
  for (int i = 0; i < 3; ++i) ASSERT_OK(Launch(kernel, 2000));
  EXPECT_EQ(kernel.counters().now.pending_keys, 1);
  EXPECT_EQ(kernel.counters().fallbacks, 3);
  EXPECT_EQ(kernel.counters().hits, 2);
}

TEST_F(ModesTest, OfAFrozenKernelOnlyKeysThatCameLaterAreDropped) {
  policy_.max_ready_keys = 2;
  TunedKernel kernel = Create(Mode::kTuneOnMiss);
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 1000}}, {{"N", 1001}}}));
  kernel.Freeze();
  for (std::size_t n = 1; n <= 8; ++n) ASSERT_OK(Launch(kernel, n));
  ASSERT_OK(kernel.TunePending(stream_->get()));
  EXPECT_LE(kernel.counters().now.ready_entries, 5);
  EXPECT_TRUE(IsTuned(kernel, 1000));
  EXPECT_TRUE(IsTuned(kernel, 1001));
}

TEST_F(ModesTest, TunePendingIsRefusedWhereItIsNone) {
  TunedKernel kernel = Create(Mode::kTuneDeferred);
  Result<GraphExec> graph = GraphExec::Capture(stream_->view(), [&](CUstream stream) {
    EXPECT_ERROR(kernel.TunePending(stream), StatusCode::kFailedPrecondition, "call it before the capture");
    return Status();
  });
  EXPECT_OK(graph);
  std::thread([&] {
    EXPECT_ERROR(kernel.TunePending(nullptr), StatusCode::kFailedPrecondition, "no current CUDA context");
  }).join();
}

TEST_F(ModesTest, DisableAutotuneIsStrongerThanAnyMode) {
  for (Mode mode : {Mode::kTuneOnMiss, Mode::kTuneDeferred, Mode::kStoredOnly, Mode::kFallbackOnly}) {
    policy_.search.runtime = testing::RuntimeIn({{"DISABLE_AUTOTUNE", "1"}});
    TunedKernel kernel = Create(mode);
    ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 1000}}}));
    ASSERT_OK(Launch(kernel));
    EXPECT_EQ(kernel.counters().fallbacks, 1);
    EXPECT_EQ(kernel.counters().tunes + kernel.counters().now.pending_keys, 0);
    EXPECT_TRUE(policy_.store->List()->empty());
  }
}

TEST_F(ModesTest, InStoredOnlyALaterRecordIsFoundAtTunePending) {
  FillStore();  // N=1000: the fallback's code.
  TunedKernel kernel = Create(Mode::kStoredOnly);
  ASSERT_OK(Launch(kernel, 2000));
  EXPECT_EQ(kernel.counters().fallbacks, 1);
  TunedKernel other = Create(Mode::kTuneOnMiss);  // Another process.
  ASSERT_OK(Launch(other, 2000));
  ASSERT_OK(Launch(kernel, 2000));
  EXPECT_EQ(kernel.counters().fallbacks, 2) << "a launch does not ask again";
  ASSERT_OK(kernel.TunePending(stream_->get()));
  ASSERT_OK(Launch(kernel, 2000));
  EXPECT_EQ(kernel.counters().fallbacks, 2);
  EXPECT_EQ(kernel.counters().stored_hits, 1);
  EXPECT_EQ(kernel.counters().tunes, 0);
}

/// A store that has everything, on a machine that has no compiler.
TEST_F(ModesTest, ACompleteStoreServesWithoutACompiler) {
  ASSERT_OK(Create(Mode::kTuneOnMiss).Warmup(stream_->get(), {{{"N", 1000}}, {{"N", 2000}}}));
  policy_.search.runtime = testing::RuntimeWith(std::make_shared<NoCompiler>());
  for (Mode mode : {Mode::kTuneOnMiss, Mode::kTuneDeferred, Mode::kStoredOnly}) {
    TunedKernel kernel = Create(mode);
    ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 1000}}, {{"N", 2000}}}));
    EXPECT_EQ(kernel.counters().stored_hits, 2);
    EXPECT_EQ(kernel.counters().now.ready_entries, 4) << "of each the selection and the fallback";
    ASSERT_OK(Capture(kernel, 1000));
    ASSERT_OK(Launch(kernel, 2000));
    EXPECT_EQ(kernel.counters().tunes + kernel.counters().fallbacks, 0);
  }
}

TEST_F(ModesTest, WithoutACompilerStoredOnlyRunsTheFallbackOfShapesThatNobodyTuned) {
  FillStore();
  policy_.search.runtime = testing::RuntimeWith(std::make_shared<NoCompiler>());
  TunedKernel kernel = Create(Mode::kStoredOnly);
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 3000}}}));
  ASSERT_OK(Capture(kernel, 3000));
  ASSERT_OK(Launch(kernel, 4000));
  EXPECT_EQ(kernel.counters().fallbacks, 2);
}

TEST_F(ModesTest, WhereNothingCanBeHadWithoutACompilerStoredOnlySaysSo) {
  for (bool has_compiler : {true, false}) {
    if (!has_compiler) policy_.search.runtime = testing::RuntimeWith(std::make_shared<NoCompiler>());
    TunedKernel kernel = Create(Mode::kStoredOnly);
    for (Status status : {kernel.Warmup(stream_->get(), {{{"N", 1000}}}), Launch(kernel), Launch(kernel)}) {
      EXPECT_ERROR(status, StatusCode::kUnavailable, "kStoredOnly compiles nothing, and the store has no code for");
    }
    EXPECT_EQ(kernel.counters().tunes, 0);
  }
}

TEST_F(ModesTest, StoredOnlyAsksNoCompilerForWhatIsNotThere) {
  FillStore();
  auto records_alone = std::make_shared<MemoryStore>();
  ASSERT_OK(records_alone->Put((*policy_.store->List())[0]));
  policy_.store = records_alone;
  policy_.search.runtime = testing::RuntimeIn({{"TUNEONCE_STORE", "memory"}});
  TunedKernel kernel = Create(Mode::kStoredOnly);
  EXPECT_ERROR(Launch(kernel), StatusCode::kUnavailable, "kStoredOnly compiles nothing");
  EXPECT_ERROR(kernel.Warmup(stream_->get(), {{{"N", 2000}}}), StatusCode::kUnavailable, "kStoredOnly compiles");
  EXPECT_ERROR(kernel.Pin({{"N", 1000}}, {{"TILE", 256}, {"WORK", 1}}), StatusCode::kUnavailable, "kStoredOnly");
  EXPECT_EQ(policy_.search.runtime->num_compiles(), 0);
  TunedKernel tunes = Create(Mode::kTuneOnMiss);
  ASSERT_OK(Launch(tunes, 2000));
  EXPECT_EQ(policy_.search.runtime->num_compiles(), 4) << "each config of the search is one";
}

TEST_F(ModesTest, ARecordWhoseCodeIsGoneIsNotCompiledByALaunchInTheBackground) {
  FillStore();
  auto records_alone = std::make_shared<MemoryStore>();
  ASSERT_OK(records_alone->Put((*policy_.store->List())[0]));
  policy_.store = records_alone;
  TunedKernel stored_only = Create(Mode::kStoredOnly);
  EXPECT_ERROR(Launch(stored_only), StatusCode::kUnavailable, "kStoredOnly compiles nothing");
  TunedKernel kernel = Create(Mode::kTuneDeferred);
  ASSERT_OK(Launch(kernel));
  EXPECT_EQ(kernel.counters().fallbacks, 1);
  ASSERT_OK(kernel.TunePending(stream_->get()));
  EXPECT_EQ(kernel.counters().stored_hits, 1);
  EXPECT_EQ(kernel.counters().tunes, 0);
}

}  // namespace
}  // namespace tuneonce
