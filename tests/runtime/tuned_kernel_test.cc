#include "tuneonce/tuned_kernel.h"

#include <atomic>
#include <mutex>
#include <thread>

#include "cuda/driver_api.h"
#include "runtime/tuned_kernel_on.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/fault_injection.h"
#include "testing/runtimes.h"
#include "testing/work_timer.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/testing.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using testing::View;

class TunedKernelTest : public testing::CpuDeviceTest {
 protected:
  struct Listener : AutotuneObserver {
    void OnTuned(const std::string&, const std::string&, const TuningRecord& result) override {
      std::lock_guard<std::mutex> lock(mutex);
      results.push_back(result);
    }
    std::mutex mutex;
    std::vector<TuningRecord> results;
  };

  TunedKernelTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.observer = observer_;
  }

  TunedKernel Create(const KernelDefinition& definition) {
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  /// y = x * 2 for n elements, checked.
  void ExpectWorks(TunedKernel& kernel, int n) {
    DeviceBuffer x = Floats(std::vector<float>(static_cast<std::size_t>(n), 3));
    DeviceBuffer y = Floats(std::vector<float>(static_cast<std::size_t>(n), 0));
    ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(y), 2.0f));
    EXPECT_EQ(Read(y), std::vector<float>(static_cast<std::size_t>(n), 6));
  }

  testing::ScaleKernel scale_;
  AutotunePolicy policy_;
  std::shared_ptr<Listener> observer_ = std::make_shared<Listener>();
  std::vector<TuningRecord>& results_ = observer_->results;
};

TEST_F(TunedKernelTest, TunesOncePerKeyAndThenHits) {
  TunedKernel kernel = Create(scale_.Definition());
  DeviceBuffer x = Floats(std::vector<float>(1000, 3));
  DeviceBuffer y = Floats(std::vector<float>(1000, 0));
  EXPECT_FALSE(*kernel.IsReady({View(x), View(y), 2.0f}));
  for (int i = 0; i < 3; ++i) ExpectWorks(kernel, 1000);
  EXPECT_TRUE(*kernel.IsReady({View(x), View(y), 2.0f}));
  EXPECT_EQ(kernel.counters().tunes, 1);
  ExpectWorks(kernel, 1001);
  EXPECT_EQ(kernel.counters().tunes, 2);
  EXPECT_EQ(kernel.counters().fallbacks, 0);
  ASSERT_EQ(results_.size(), 2u);
  EXPECT_EQ(policy_.store->List()->size(), 2u);
  EXPECT_EQ((*policy_.store->List())[0].key.key_text, "N=1000, x:float32, y:float32");
}

TEST_F(TunedKernelTest, AProgrammaticLaunchIsAnOrdinaryOneOnTheCpuDevice) {
  KernelDefinition definition("scale");
  definition
      .Parameters(
          {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor").ForWarmup(2), DimValue("N")})
      .Space(scale_.space)
      .AddVariant(Variant(scale_.Source()).Grid(GeometryFn(Grid::OneD({"N", scale_.tile})).ProgrammaticLaunch()));
  TunedKernel kernel = Create(definition);
  for (int i = 0; i < 2; ++i) ExpectWorks(kernel, 1000);  // A miss, and a hit.
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(results_[0].failures().size(), 0u);
  EXPECT_TRUE(results_[0].best.geometry.programmatic_launch);
}

TEST_F(TunedKernelTest, ABucketSharesOneTuneMadeAtItsBound) {
  KernelDefinition definition = scale_.Definition();
  definition.Key(KeyOf("N").NextPow2());
  TunedKernel kernel = Create(definition);
  for (int n : {1025, 2000, 2048, 1500}) ExpectWorks(kernel, n);
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ((*policy_.store->List())[0].tuned_at, "N=2048");
  ExpectWorks(kernel, 1024);
  EXPECT_EQ(kernel.counters().tunes, 2);
  policy_.tune_at_bucket_bound = false;
  policy_.store = std::make_shared<MemoryStore>();
  TunedKernel at_hand = Create(definition);
  ExpectWorks(at_hand, 1025);
  EXPECT_EQ((*policy_.store->List())[0].tuned_at, "N=1025");
}

TEST_F(TunedKernelTest, WithoutMemoryForItsBoundABucketIsTunedAtTheShapeAtHand) {
  Result<std::unique_ptr<FaultInjection>> faults = FaultInjection::Create(api());
  KernelDefinition definition = scale_.Definition();
  definition.Key(KeyOf("N").NextPow2());
  DeviceBuffer x = Floats(std::vector<float>(1025, 3));
  DeviceBuffer y = Floats(std::vector<float>(1025, 0));
  Result<Device> device = Device::Get((*faults)->api(), 0);
  TunedKernel kernel = *TunedKernelOn::Create(*device, definition, policy_);
  ASSERT_OK((*faults)->Plan({"MemAllocAsync", 2, CUDA_ERROR_OUT_OF_MEMORY, 0}));
  ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(y), 2.0f));
  EXPECT_EQ((*policy_.store->List())[0].tuned_at, "N=1025");
}

TEST_F(TunedKernelTest, GuardsAreCheckedAtEachLaunchAndTheBaselineRuns) {
  scale_.space.Where("only even", [work = scale_.work](const Config& c, const Dims& dims) {
    return c[work] == 100 || dims[Dim{0}] % 2 == 0;
  });
  KernelDefinition definition = scale_.Definition();
  definition.Key(KeyOf("N").NextPow2());
  testing::WorkTimer timer;
  policy_.search.timer = &timer;
  TunedKernel kernel = Create(definition);
  ExpectWorks(kernel, 4000);
  EXPECT_EQ(results_[0].best.config[scale_.work], 1);
  EXPECT_EQ(kernel.counters().fallbacks, 0);
  ExpectWorks(kernel, 3999);
  EXPECT_EQ(kernel.counters().fallbacks, 1) << "the bucket's winner does not suit this shape";
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_F(TunedKernelTest, AGuardThatEvenTheBaselineFailsIsAnError) {
  scale_.space.Where("never", [](const Config&, const Dims&) { return false; });
  TunedKernel kernel = Create(scale_.Definition());
  DeviceBuffer x = Floats({1});
  EXPECT_ERROR(kernel.Launch(stream_->get(), View(x), View(x), 2.0f), StatusCode::kFailedPrecondition,
               "kernel 'scale': condition 'never' does not hold for config {TILE=64, WORK=100}");
}

TEST_F(TunedKernelTest, TheErrorOfAGridWithoutBlocksNamesTheKernel) {
  KernelDefinition definition("scale");
  definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor"), DimValue("N")})
      .Key(KeyOf("N").NextPow2())
      .Space(scale_.space)
      .AddVariant(Variant(scale_.Source()).Grid(Grid::Fixed(D("N") / 4)));
  DeviceBuffer x = Floats({1, 2, 3, 4});
  const TensorView all = View(x), three = TensorView::Contiguous(x.data(), DType::kFloat32, {3});
  for (AutotunePolicy::Mode mode : {AutotunePolicy::Mode::kTuneOnMiss, AutotunePolicy::Mode::kFallbackOnly}) {
    policy_.mode = mode;
    TunedKernel kernel = Create(definition);
    for (bool is_loaded : {false, true}) {  // Also a grid that is computed for code of the same bucket.
      if (is_loaded) ASSERT_OK(kernel.Launch(stream_->get(), all, all, 2.0f));
      EXPECT_ERROR(kernel.Launch(stream_->get(), three, three, 2.0f), StatusCode::kInvalidArgument,
                   "kernel 'scale': grid (0, 1, 1), block (1, 1, 1) cannot be launched: ");
    }
  }
}

TEST_F(TunedKernelTest, WhereNoBaselineIsAllowedTheErrorNamesTheOneThatApplies) {
  scale_.space.SetBaselines(
      {{{{scale_.tile, 256}, {scale_.work, 1}}, D("N") > 500}, {{{scale_.tile, 64}, {scale_.work, 100}}}});
  scale_.space.Where("never", [](const Config&, const Dims&) { return false; });
  TunedKernel kernel = Create(scale_.Definition());
  DeviceBuffer x = Floats(std::vector<float>(600, 1));
  for (auto [n, baseline] : {std::pair(1, "{TILE=64, WORK=100}"), std::pair(600, "{TILE=256, WORK=1}")}) {
    const TensorView view = TensorView::Contiguous(x.data(), DType::kFloat32, {n});
    const std::string reason = std::string("kernel 'scale': condition 'never' does not hold for config ") + baseline;
    EXPECT_ERROR(kernel.Launch(stream_->get(), view, view, 2.0f), StatusCode::kFailedPrecondition, reason);
    EXPECT_ERROR(kernel.Explain(stream_->get(), {view, view, 2.0f}), StatusCode::kFailedPrecondition, reason);
  }
}

TEST_F(TunedKernelTest, DisabledMeansBaselineAndNothingMeasuredOrStored) {
  policy_.search.runtime = testing::RuntimeIn({{"DISABLE_AUTOTUNE", "1"}});
  TunedKernel kernel = Create(scale_.Definition());
  ExpectWorks(kernel, 100);
  ExpectWorks(kernel, 200);
  EXPECT_EQ(kernel.counters().tunes, 0);
  EXPECT_EQ(kernel.counters().fallbacks, 2);
  EXPECT_TRUE(results_.empty());
  EXPECT_TRUE(policy_.store->List()->empty());
}

TEST_F(TunedKernelTest, DisabledWithoutABaselineTakesTheFallbackOrTheFirstValidConfig) {
  policy_.mode = AutotunePolicy::Mode::kFallbackOnly;
  SearchSpace space;
  IntAxis value = space.AddAxis("VALUE", {1, 2, 3});
  space.Where("not 1", [=](const Config& c, const Dims&) { return c[value] != 1; });
  auto definition = [&](const SearchSpace& s) {
    KernelDefinition d("set");
    d.Parameters({Out("y", kFloat32, {"N"})})
        .Space(s)
        .AddVariant(Variant([=](const Config& c, const Problem&) {
                      return KernelSource::CpuCpp(
                                 "static void set(const tuneonce_block&, float* y) { *y = VALUE; }\n"
                                 "TUNEONCE_CPU_KERNEL(set);",
                                 "set")
                          .Define("VALUE", c[value]);
                    }).Grid(Grid::Fixed(1)));
    return d;
  };
  DeviceBuffer y = Floats({0});
  TunedKernel first_valid = Create(definition(space));
  ASSERT_OK(first_valid.Launch(stream_->get(), View(y)));
  EXPECT_EQ(Read(y), std::vector<float>{2});
  space.SetFallback({{value, 3}});
  TunedKernel fallback = Create(definition(space));
  ASSERT_OK(fallback.Launch(stream_->get(), View(y)));
  EXPECT_EQ(Read(y), std::vector<float>{3});
  space.Where("small", value < 3);
  TunedKernel excluded = Create(definition(space));
  for (int launch = 0; launch < 2; ++launch) {
    ASSERT_OK(excluded.Launch(stream_->get(), View(y)));
    EXPECT_EQ(Read(y), std::vector<float>{2}) << "a condition excludes the fallback, but not all configs";
  }
  space.Where("none", value < 2);
  TunedKernel alone = Create(definition(space));
  ASSERT_OK(alone.Launch(stream_->get(), View(y)));
  EXPECT_EQ(Read(y), std::vector<float>{3});
}

TEST_F(TunedKernelTest, AStoredRecordServesWithoutASearch) {
  {
    TunedKernel kernel = Create(scale_.Definition());
    ExpectWorks(kernel, 500);
  }
  TunedKernel again = Create(scale_.Definition());
  ExpectWorks(again, 500);
  EXPECT_EQ(again.counters().tunes, 0);
  EXPECT_EQ(again.counters().stored_hits, 1);
  TunedKernel other_version = Create(KernelDefinition(scale_.Definition("other")));
  ExpectWorks(other_version, 500);
  EXPECT_EQ(other_version.counters().tunes, 1) << "another kernel has records of its own";
}

TEST_F(TunedKernelTest, AHitLaunchesIntoACaptureAndAMissDoesNotTune) {
  TunedKernel kernel = Create(scale_.Definition());
  DeviceBuffer x = Floats(std::vector<float>(100, 3));
  DeviceBuffer y = Floats(std::vector<float>(100, 0));
  DeviceBuffer shorter = Floats(std::vector<float>(50, 3));
  ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(y), 2.0f));
  ASSERT_OK(y.Fill(0));
  Result<GraphExec> graph = GraphExec::Capture(stream_->view(), [&](CUstream stream) {
    EXPECT_ERROR(kernel.Launch(stream, View(shorter), View(shorter), 2.0f), StatusCode::kFailedPrecondition,
                 "the stream is capturing and no code is loaded for this key");
    return kernel.Launch(stream, View(x), View(y), 2.0f);
  });
  ASSERT_OK(graph);
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ(kernel.counters().capture_misses, 1);
  ASSERT_OK(graph->Launch(stream_->get()));
  EXPECT_EQ(Read(y), std::vector<float>(100, 6));
}

TEST_F(TunedKernelTest, AnotherThreadsTuneDoesNotSpoilACapture) {
  TunedKernel kernel = Create(scale_.Definition());
  Result<Stream> capturing = Stream::Create(api());
  const DriverTable& driver = UnguardedTable(api());
  ASSERT_EQ(driver.StreamBeginCapture(capturing->get(), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  std::thread([&] {
    ScopedContext current(context_->view());
    Result<Stream> stream = Stream::Create(api());
    Result<DeviceBuffer> x = DeviceBuffer::Allocate(stream->view(), 4000);
    ASSERT_OK(x->Fill(0));
    EXPECT_OK(kernel.Launch(stream->get(), View(*x), View(*x), 2.0f));
    EXPECT_OK(stream->view().Synchronize());
  }).join();
  EXPECT_EQ(kernel.counters().tunes, 1);
  CUgraph graph = nullptr;
  EXPECT_EQ(driver.StreamEndCapture(capturing->get(), &graph), CUDA_SUCCESS);
  driver.GraphDestroy(graph);
}

TEST_F(TunedKernelTest, ManyThreadsAskingForOneKeyTuneOnce) {
  TunedKernel kernel = Create(scale_.Definition());
  DeviceBuffer x = Floats(std::vector<float>(3000, 3));
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      ScopedContext current(context_->view());
      Result<Stream> stream = Stream::Create(api());
      Result<DeviceBuffer> y = DeviceBuffer::Allocate(stream->view(), 12000);
      for (int i = 0; i < 20; ++i) {
        if (!kernel.Launch(stream->get(), View(x), View(*y), 2.0f).ok()) ++failures;
      }
      if (!stream->view().Synchronize().ok()) ++failures;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures.load(), 0);
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_F(TunedKernelTest, ThreadsTuningDifferentKeysAllSucceed) {
  TunedKernel kernel = Create(scale_.Definition());
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      ScopedContext current(context_->view());
      Result<Stream> stream = Stream::Create(api());
      Result<DeviceBuffer> y = DeviceBuffer::Allocate(stream->view(), 400 + 4 * static_cast<std::size_t>(t));
      if (!y->Fill(0).ok() || !kernel.Launch(stream->get(), View(*y), View(*y), 2.0f).ok()) ++failures;
      if (!stream->view().Synchronize().ok()) ++failures;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures.load(), 0);
  EXPECT_EQ(kernel.counters().tunes, 4);
}

TEST_F(TunedKernelTest, TheContextsOfADeviceShareAnEntry) {
  TunedKernel kernel = Create(scale_.Definition());
  ExpectWorks(kernel, 100);
  Result<Context> other = Context::Create(*device_);
  {
    ScopedContext scoped(other->view());
    Stream first = *std::move(stream_);
    stream_.emplace(*Stream::Create(api()));
    ExpectWorks(kernel, 100);
    EXPECT_EQ(kernel.counters().hits, 1);
    // CUDA's driver takes this launch, to where the stream is; the CPU device's does not.
    DeviceBuffer x = Floats(std::vector<float>(100, 3));
    EXPECT_ERROR(kernel.Launch(first.get(), View(x), View(x), 2.0f), StatusCode::kInvalidArgument,
                 "another CUDA context");
    stream_.emplace(std::move(first));
  }
  ExpectWorks(kernel, 100);
}

TEST_F(TunedKernelTest, WrongCallsAreErrors) {
  TunedKernel kernel = Create(scale_.Definition());
  DeviceBuffer x = Floats({1});
  TensorView no_size = View(x);
  no_size.bytes = 0;
  EXPECT_ERROR(kernel.Launch(stream_->get(), View(x)), StatusCode::kInvalidArgument, "takes 3 arguments, got 1");
  EXPECT_ERROR(kernel.Launch(stream_->get(), View(x), View(x), 2), StatusCode::kInvalidArgument,
               "parameter 'factor': expected a float32 scalar, got a int32 scalar");
  EXPECT_ERROR(kernel.Launch(stream_->get(), View(x), no_size, 2.0f), StatusCode::kInvalidArgument,
               "an output without a size");
  Result<DeviceBuffer> empty = DeviceBuffer::Allocate(stream_->view(), 0);
  EXPECT_ERROR(kernel.Launch(stream_->get(), View(x), View(*empty), 2.0f), StatusCode::kInvalidArgument,
               "parameter 'y', dimension 0 ('N'): extent 0 disagrees with N=1");
  EXPECT_ERROR(kernel.Launch(reinterpret_cast<CUstream>(0x1234), View(x), View(x), 2.0f), StatusCode::kInvalidArgument,
               "INVALID_HANDLE");
  std::thread([&] {
    EXPECT_ERROR(kernel.Launch(stream_->get(), View(x), View(x), 2.0f), StatusCode::kFailedPrecondition,
                 "no current CUDA context");
  }).join();
}

TEST_F(TunedKernelTest, LaunchFromInsideACallbackIsAnError) {
  std::optional<TunedKernel> inner;
  DeviceBuffer x = Floats({1});
  Status seen;
  KernelDefinition definition("outer");
  definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor"), DimValue("N")})
      .Key(KeyOf("N").NextPow2())  // The bucket does not decide the geometry, so the function is called on a hit.
      .Space(scale_.space)
      .AddVariant(Variant(scale_.Source()).Grid([&](const Config&, const Problem&) {
        seen = inner->Launch(stream_->get(), View(x), View(x), 2.0f);
        return Geometry();
      }));
  inner.emplace(Create(scale_.Definition()));
  TunedKernel outer = Create(definition);
  EXPECT_OK(outer.Launch(stream_->get(), View(x), View(x), 2.0f));
  EXPECT_ERROR(seen, StatusCode::kFailedPrecondition, "from inside a callback");
  // The same on a hit.
  seen = Status();
  EXPECT_OK(outer.Launch(stream_->get(), View(x), View(x), 2.0f));
  EXPECT_ERROR(seen, StatusCode::kFailedPrecondition, "from inside a callback");
}

TEST_F(TunedKernelTest, ThrowingFunctionsBecomeErrorsOnAHitToo) {
  bool thrown = false;
  KernelDefinition definition("thrower");
  definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor"), DimValue("N")})
      .Key(KeyOf("N").NextPow2())
      .Space(scale_.space)
      .AddVariant(Variant(scale_.Source()).Grid([&](const Config&, const Problem&) {
        if (thrown) throw std::runtime_error("too late");
        return Geometry();
      }));
  TunedKernel kernel = Create(definition);
  DeviceBuffer x = Floats({1});
  ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(x), 2.0f));
  thrown = true;
  EXPECT_ERROR(kernel.Launch(stream_->get(), View(x), View(x), 2.0f), StatusCode::kInvalidArgument,
               "kernel 'thrower': the geometry function threw: too late");
}

TEST_F(TunedKernelTest, WhatTheKeyDecidesIsComputedOncePerKey) {
  int calls = 0;
  testing::ScaleKernel scale;
  scale.space.Where("any", [&](const Config&, const Dims&) { return ++calls > 0; });
  KernelDefinition definition("counted");
  definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor"), DimValue("N")})
      .Space(scale.space)
      .AddVariant(Variant(scale.Source()).Grid([&](const Config& config, const Problem& problem) {
        ++calls;
        Geometry geometry;
        geometry.grid.x = (problem.dims[Dim{0}] + config[scale.tile] - 1) / config[scale.tile];
        return geometry;
      }));
  TunedKernel kernel = Create(definition);
  ExpectWorks(kernel, 100);
  ExpectWorks(kernel, 1000);
  int before = calls;
  for (int n : {100, 1000, 100}) ExpectWorks(kernel, n);
  EXPECT_EQ(calls, before);
  EXPECT_EQ(kernel.counters().hits, 3);
}

TEST_F(TunedKernelTest, KernelsCanShareOneSelection) {
  policy_.selection_group = "scale pair";
  // However noisy the times are, what one kernel chose is not slower in the other.
  policy_.search.baseline_margin = 100;
  TunedKernel forward = Create(scale_.Definition("forward"));
  TunedKernel backward = Create(scale_.Definition("backward"));
  ExpectWorks(forward, 100);
  ExpectWorks(backward, 100);
  EXPECT_EQ(forward.counters().tunes, 1);
  EXPECT_EQ(backward.counters().tunes, 0);
  EXPECT_EQ(backward.counters().stored_hits, 1);
  policy_.selection_group.clear();
  TunedKernel alone = Create(scale_.Definition("backward"));
  ExpectWorks(alone, 100);
  EXPECT_EQ(alone.counters().tunes, 1);
}

TEST_F(TunedKernelTest, TheObserverHearsWhatMissesDo) {
  struct Log : AutotuneObserver {
    void OnTuneBegin(const std::string& kernel, const std::string& key) override { Say("begin", kernel, key); }
    void OnTuned(const std::string& kernel, const std::string& key, const TuningRecord&) override {
      Say("tuned", kernel, key);
      throw std::runtime_error("must not matter");
    }
    void OnTuneFailed(const std::string& kernel, const std::string& key, const Status&) override {
      Say("failed", kernel, key);
    }
    void OnStoredHit(const std::string& kernel, const std::string& key, const std::string&) override {
      Say("stored", kernel, key);
    }
    void OnRefusedMiss(const std::string& kernel, const std::string& key) override { Say("refused", kernel, key); }
    void Say(const std::string& what, const std::string& kernel, const std::string& key) {
      lines.push_back(what + " " + kernel + " " + key);
    }
    std::vector<std::string> lines;
  };
  auto log = std::make_shared<Log>();
  policy_.observer = log;
  KernelDefinition definition = scale_.Definition();
  definition.Key(KeyOf("N"));
  TunedKernel kernel = Create(definition);
  ExpectWorks(kernel, 100);
  ExpectWorks(kernel, 100);
  TunedKernel again = Create(definition);
  ExpectWorks(again, 100);
  again.Freeze();
  ExpectWorks(again, 101);
  EXPECT_EQ(log->lines, (std::vector<std::string>{
                            "begin scale N=100, x:float32, y:float32", "tuned scale N=100, x:float32, y:float32",
                            "stored scale N=100, x:float32, y:float32", "refused scale N=101, x:float32, y:float32"}));
  log->lines.clear();
  KernelDefinition broken("broken");
  broken.Key(KeyOf("N"))
      .Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor"), DimValue("N")})
      .AddVariant(Variant([](const Config&, const Problem&) {
                    return KernelSource::CpuCpp("int x = ;", "scale");
                  }).Grid(Grid::Fixed(1)));
  TunedKernel never = Create(broken);
  DeviceBuffer x = Floats({1});
  EXPECT_FALSE(never.Launch(stream_->get(), View(x), View(x), 2.0f).ok());
  EXPECT_FALSE(never.Launch(stream_->get(), View(x), View(x), 2.0f).ok());
  EXPECT_EQ(log->lines, (std::vector<std::string>{"begin broken N=1, x:float32, y:float32",
                                                  "failed broken N=1, x:float32, y:float32"}));
}

TEST_F(TunedKernelTest, AWorkspaceIsAllocatedPerLaunch) {
  KernelDefinition definition("two_pass");
  definition
      .Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}),
                   Workspace("scratch", [](const Config&,
                                           const Problem& p) { return 4 * static_cast<std::size_t>(p.dims[Dim{0}]); }),
                   DimValue("N")})
      .AddVariant(
          Variant([](const Config&, const Problem&) {
            return KernelSource::CpuCpp(
                "static void t(const tuneonce_block&, const float* x, float* y, float* scratch, int n) {"
                "for (int i = 0; i < n; ++i) scratch[i] = x[i] + 1; for (int i = 0; i < n; ++i) y[i] = scratch[i]; }\n"
                "TUNEONCE_CPU_KERNEL(t);",
                "t");
          }).Grid(Grid::Fixed(1)));
  TunedKernel kernel = Create(definition);
  DeviceBuffer x = Floats(std::vector<float>(5000, 1));
  DeviceBuffer y = Floats(std::vector<float>(5000, 0));
  for (int i = 0; i < 3; ++i) ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(y)));
  EXPECT_EQ(Read(y), std::vector<float>(5000, 2));
  ASSERT_OK(y.Fill(0));
  Result<GraphExec> graph =
      GraphExec::Capture(stream_->view(), [&](CUstream stream) { return kernel.Launch(stream, View(x), View(y)); });
  ASSERT_OK(graph);
  for (int i = 0; i < 2; ++i) ASSERT_OK(graph->Launch(stream_->get()));
  EXPECT_EQ(Read(y), std::vector<float>(5000, 2));
}

TEST_F(TunedKernelTest, ADefinitionThatCannotWorkIsRefusedAtCreate) {
  EXPECT_ERROR(TunedKernel::Create(KernelDefinition("k")), StatusCode::kInvalidArgument, "no variant");
}

}  // namespace
}  // namespace tuneonce
