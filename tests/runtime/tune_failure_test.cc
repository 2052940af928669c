// Keys that cannot be tuned: what throws or fails while one is, what runs then, and when it is tried again.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>

#include "measure/event_timer.h"
#include "runtime/tuned_kernel_on.h"
#include "store/forwarding_store.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/fault_injection.h"
#include "testing/runtimes.h"
#include "testing/tools.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/timer.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using testing::View;

/// Runs `work` on a thread of its own. One that does not end would hold up all other tests: then the program ends.
void ExpectEnds(const std::function<void()>& work) {
  std::packaged_task<void()> task(work);
  std::future<void> done = task.get_future();
  std::thread thread(std::move(task));
  if (done.wait_for(std::chrono::minutes(20)) != std::future_status::ready) {
    ADD_FAILURE() << "a launch hangs";
    std::printf("[  FAILED  ] %s\n", ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::fflush(nullptr);
    std::_Exit(1);
  }
  thread.join();
}

class TuneFailureTest : public testing::CpuDeviceTest {
 protected:
  struct Listener : AutotuneObserver {
    void OnTuned(const std::string&, const std::string&, const TuningRecord& result) override {
      std::lock_guard<std::mutex> lock(mutex);
      chosen = result.best.config.ToString();
    }
    void OnTuneFailed(const std::string&, const std::string& key, const Status& why) override {
      std::lock_guard<std::mutex> lock(mutex);
      failures.push_back(key + ": " + why.message());
    }
    void OnWarning(const std::string& line) override {
      std::lock_guard<std::mutex> lock(mutex);
      warnings.push_back(line);
    }
    std::mutex mutex;
    std::string chosen;
    std::vector<std::string> failures;
    std::vector<std::string> warnings;
  };

  TuneFailureTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.observer = observer_;
  }
  TunedKernel Create() { return Create(scale_.Definition(), *device_); }
  TunedKernel Create(const KernelDefinition& definition, const Device& device) {
    Result<TunedKernel> kernel = TunedKernelOn::Create(device, definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  Status Launch(TunedKernel& kernel, int n = 1000) {
    DeviceBuffer x = Floats(std::vector<float>(static_cast<std::size_t>(n), 3));
    DeviceBuffer y = Floats(std::vector<float>(static_cast<std::size_t>(n), 0));
    TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream_->get(), View(x), View(y), 2.0f));
    EXPECT_EQ(Read(y), std::vector<float>(static_cast<std::size_t>(n), 6));
    return Status();
  }
  /// The statuses of 8 threads that launch the same key at the same time.
  std::vector<Status> LaunchFromManyThreads(TunedKernel& kernel, int n = 1000) {
    constexpr int kThreads = 8;
    std::vector<Status> statuses(kThreads);
    std::atomic<int> ready{0};
    ExpectEnds([&] {
      std::vector<std::thread> threads;
      for (Status& status : statuses) {
        threads.emplace_back([&] {
          ScopedContext current(context_->view());
          Stream stream = *Stream::Create(api());
          DeviceBuffer x = *DeviceBuffer::Allocate(stream.view(), 4 * static_cast<std::size_t>(n));
          DeviceBuffer y = *DeviceBuffer::Allocate(stream.view(), 4 * static_cast<std::size_t>(n));
          EXPECT_OK(x.Fill(0));
          EXPECT_OK(stream.view().Synchronize());
          for (++ready; ready < kThreads;) std::this_thread::yield();
          status = kernel.Launch(stream.get(), View(x), View(y), 2.0f);
          EXPECT_OK(stream.view().Synchronize());
        });
      }
      for (std::thread& thread : threads) thread.join();
    });
    return statuses;
  }

  testing::ScaleKernel scale_;
  AutotunePolicy policy_;
  std::shared_ptr<Listener> observer_ = std::make_shared<Listener>();
};

TEST_F(TuneFailureTest, AKeyThatALaunchCannotTuneIsAWarningOnceUnlessTheLaunchReturnsIt) {
  for (auto on_error : {AutotunePolicy::OnTuneError::kUseFallback, AutotunePolicy::OnTuneError::kReturn}) {
    const bool is_returned = on_error == AutotunePolicy::OnTuneError::kReturn;
    observer_->warnings.clear();
    policy_.on_tune_error = on_error;
    policy_.search.memory_budget_bytes = 1;  // No candidate gets its memory.
    TunedKernel kernel = Create();
    EXPECT_EQ(Launch(kernel).ok(), !is_returned);
    for (int launch = 1; launch < 3; ++launch) EXPECT_OK(Launch(kernel));  // It did not search.
    ASSERT_EQ(observer_->warnings.size(), is_returned ? 0u : 1u);
    if (is_returned) continue;
    EXPECT_NE(observer_->warnings[0].find("N=1000, x:float32, y:float32: tuning failed, so the baseline runs: "),
              std::string::npos)
        << observer_->warnings[0];
    EXPECT_EQ(kernel.Warmup(stream_->get(), {{{"N", 2000}}}).ok(), false);
    EXPECT_EQ(observer_->warnings.size(), 1u) << "a warm-up returns it";
  }
}

/// A store that throws in one of its calls; else a MemoryStore.
class ThrowingStore final : public ForwardingStore {
 public:
  ThrowingStore() : ForwardingStore(MakeMemoryStore()) {}
  Result<RecordLookup> Lookup(const TuningKey& key) const override { return Call("Lookup"), store_->Lookup(key); }
  Status Put(const TuningRecord& record) override { return Call("Put"), store_->Put(record); }
  Result<TuningLease> Lease(const TuningKey&, const WaitLimits&) override { return Call("Lease"), TuningLease(); }

  std::string throws_in;
  int kind = 0;

 private:
  void Call(const char* function) const {
    if (throws_in != function) return;
    if (kind == 0) throw std::runtime_error("the disk is on fire");
    if (kind == 1) throw 17;
    throw std::bad_alloc();
  }
};

TEST_F(TuneFailureTest, AStoreThatThrowsIsBlamedAndTuningGoesOnWithoutIt) {
  auto store = std::make_shared<ThrowingStore>();
  policy_.store = store;
  for (const char* function : {"Lookup", "Lease", "Put"}) {
    for (int kind = 0; kind < 3; ++kind) {
      SCOPED_TRACE(std::string(function) + " throws what " + std::to_string(kind) + " is");
      store->throws_in = function;
      store->kind = kind;
      observer_->warnings.clear();
      TunedKernel kernel = Create(scale_.Definition(function + std::to_string(kind)), *device_);
      ASSERT_OK(Launch(kernel));
      ASSERT_FALSE(observer_->warnings.empty());
      EXPECT_NE(observer_->warnings[0].find(std::string("the record store's ") + function + " threw"),
                std::string::npos)
          << observer_->warnings[0];
      for (const Status& status : LaunchFromManyThreads(kernel, 2000)) EXPECT_OK(status);
      EXPECT_EQ(kernel.counters().tunes, 2);
    }
  }
}

/// A timer that cannot time, as long as it is broken.
class BrokenTimer final : public Timer {
 public:
  std::string_view name() const override { return "broken"; }
  Result<std::unique_ptr<TimingSession>> Open(StreamView stream, CacheState cache) override {
    if (!is_broken) return events_.Open(stream, cache);
    return Status(code, "the clock stands still");
  }
  bool is_broken = true;
  StatusCode code = StatusCode::kInternal;

 private:
  EventTimer events_;
};

TEST_F(TuneFailureTest, AKeyThatCannotBeTunedRunsTheBaselineAndSaysWhy) {
  BrokenTimer timer;
  policy_.search.timer = &timer;
  TunedKernel kernel = Create();
  ASSERT_OK(Launch(kernel));
  ASSERT_EQ(observer_->failures.size(), 1u);
  EXPECT_NE(observer_->failures[0].find("the clock stands still"), std::string::npos) << observer_->failures[0];
  EXPECT_EQ(kernel.counters().failed_tunes, 1);
  EXPECT_EQ(kernel.counters().fallbacks, 1);
  ASSERT_OK(Launch(kernel));
  EXPECT_EQ(kernel.counters().tunes, 1) << "what cannot pass is not tried again";
  EXPECT_EQ(observer_->failures.size(), 1u);
  for (const Status& status : LaunchFromManyThreads(kernel, 2000)) EXPECT_OK(status);
}

TEST_F(TuneFailureTest, WhereTheBaselineCannotRunEitherBothReasonsAreSaid) {
  BrokenTimer timer;
  policy_.search.timer = &timer;
  Result<std::unique_ptr<FaultInjection>> faults = FaultInjection::Create(api());
  ASSERT_OK(faults);
  Result<Device> device = Device::Get((*faults)->api(), 0);
  TunedKernel kernel = Create(scale_.Definition(), *device);
  (void)Launch(kernel);  // Tunes, in vain.
  struct Case {
    CUresult error;
    bool sticky;
  };
  for (const Case& c : {Case{CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, false}, Case{CUDA_ERROR_ILLEGAL_ADDRESS, true}}) {
    ASSERT_OK((*faults)->Plan({"LaunchKernelEx", 0, c.error, 0}));
    Status status = Launch(kernel);
    (*faults)->Clear();
    EXPECT_NE(status.message().find("the clock stands still"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("the baseline cannot run either: "), std::string::npos) << status.message();
    EXPECT_EQ(status.sticky(), c.sticky) << status.message();
  }
}

TEST_F(TuneFailureTest, WhatIsWrongWithACallIsNotRememberedForItsKey) {
  TunedKernel kernel = Create();
  DeviceBuffer x = Floats(std::vector<float>(1000, 3));
  TensorView no_size = View(x);
  no_size.bytes = 0;
  EXPECT_ERROR(kernel.Launch(stream_->get(), View(x), no_size, 2.0f), StatusCode::kInvalidArgument,
               "an output without a size");
  Result<Context> other = Context::Create(*device_);
  {
    ScopedContext current(other->view());
    EXPECT_ERROR(kernel.Launch(stream_->get(), View(x), View(x), 2.0f), StatusCode::kInvalidArgument,
                 "another CUDA context");
  }
  EXPECT_EQ(kernel.counters().failed_tunes, 0);
  ASSERT_OK(Launch(kernel));
  EXPECT_EQ(kernel.counters().fallbacks, 0);
  EXPECT_EQ(policy_.store->List()->size(), 1u);
}

TEST_F(TuneFailureTest, AMissingCompilerIsAReasonThatPasses) {
  TemporaryFolder folder = *testing::MakeFolder();
  policy_.search.runtime = testing::RuntimeIn({{"TUNEONCE_CXX", folder.path() + "/c++"}});
  testing::ScaleKernel scale;
  // No artifact of another test.
  TunedKernel kernel = Create(scale.Definition("compiler is away"), *device_);
  Status first = Launch(kernel, 1234);
  EXPECT_FALSE(first.ok());
  std::string compiler = *folder.WriteFile("c++", "#!/bin/sh\nexec c++ \"$@\"\n");
  ASSERT_EQ(chmod(compiler.c_str(), 0700), 0);  // It is back.
  // The pause before the key is tried again is the default.
  auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  while (kernel.counters().tunes < 2 && std::chrono::steady_clock::now() < deadline) (void)Launch(kernel, 1234);
  EXPECT_EQ(kernel.counters().tunes, 2);
  EXPECT_OK(Launch(kernel, 1234));
  EXPECT_EQ(kernel.counters().failed_tunes, 1);
  EXPECT_TRUE(*kernel.IsReady({View(Floats(std::vector<float>(1234))), View(Floats(std::vector<float>(1234))), 2.0f}));
}

/// A store whose keys another process tunes: it holds all leases. Records appear when that process is done.
class BusyStore final : public ForwardingStore {
 public:
  BusyStore() : ForwardingStore(MakeMemoryStore()) {}
  Result<TuningLease> Lease(const TuningKey&, const WaitLimits& limits) override {
    longest_asked_ms = std::max(longest_asked_ms.load(), limits.timeout_ms);
    ++asked;
    if (asked == frees_at) return TuningLease(std::make_shared<int>());
    return DeadlineExceededError("another process is working on the same key and did not finish in time");
  }

  std::atomic<int> asked{0};
  std::atomic<int> longest_asked_ms{0};
  int frees_at = 0;  // 0: never.
};

TEST_F(TuneFailureTest, ALaunchThatNeedNotWaitRunsTheBaselineWhileAnotherProcessTunes) {
  auto store = std::make_shared<BusyStore>();
  policy_.store = store;
  policy_.max_wait_ms = 0;
  TunedKernel kernel = Create();
  ASSERT_OK(Launch(kernel));
  EXPECT_EQ(kernel.counters().tunes, 0) << "no second search beside the first";
  EXPECT_EQ(store->longest_asked_ms, 0);
  EXPECT_EQ(kernel.counters().fallbacks, 1);
  EXPECT_EQ(kernel.counters().failed_tunes, 0);
  ASSERT_EQ(observer_->warnings.size(), 1u);
  EXPECT_NE(observer_->warnings[0].find(
                "another process is tuning this key; the baseline runs until this key has a selection"),
            std::string::npos)
      << observer_->warnings[0];
}

TEST_F(TuneFailureTest, AWarmUpUsesDataNotZeros) {
  // Config BUSY=0 is slow on zeros, BUSY=1 on anything else.
  SearchSpace space;
  IntAxis busy = space.AddAxis("BUSY", {0, 1});
  KernelDefinition definition("by_data");
  definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N")})
      .Space(space)
      .AddVariant(Variant([busy](const Config& c, const Problem&) {
                    return KernelSource::CpuCpp(R"(
static void by_data(const tuneonce_block&, const float* x, float* y, int n) {
  bool zeros = x[0] == 0 && x[n - 1] == 0;
  int work = zeros == (BUSY == 0) ? 200 : 1;
  for (int w = 0; w < work; ++w) for (int i = 0; i < n; ++i) static_cast<volatile float*>(y)[i] = x[i];
}
TUNEONCE_CPU_KERNEL(by_data);)",
                                                "by_data")
                        .Define("BUSY", c[busy]);
                  }).Grid(Grid::Fixed(1)));
  TunedKernel kernel = Create(definition, *device_);
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 4000}}}));
  EXPECT_EQ(observer_->chosen, "BUSY=0") << "on zeros, the other one is 200 times faster";
  DeviceBuffer x = Floats(std::vector<float>(4000, 1));
  DeviceBuffer y = Floats(std::vector<float>(4000, 0));
  EXPECT_OK(kernel.Launch(stream_->get(), View(x), View(y)));
}

TEST_F(TuneFailureTest, AWarmUpOfABucketIsMadeWhereALaunchMakesIt) {
  KernelDefinition definition("bucketed");
  definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N")})
      .Key(KeyOf("N").NextPow2())
      .AddVariant(Variant([](const Config&, const Problem&) {
                    return KernelSource::CpuCpp(
                        "static void copy(const tuneonce_block&, const float* x, float* y, int n) {"
                        "for (int i = 0; i < n; ++i) y[i] = x[i]; }\nTUNEONCE_CPU_KERNEL(copy);",
                        "copy");
                  }).Grid(Grid::Fixed(1)));
  TunedKernel kernel = Create(definition, *device_);
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 1000}}}));
  std::vector<TuningRecord> records = *policy_.store->List();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].tuned_at, "N=1024");
  EXPECT_EQ(records[0].key.key_text.substr(0, 7), "N<=1024");
  DeviceBuffer x = Floats(std::vector<float>(600, 1));
  EXPECT_OK(kernel.Launch(stream_->get(), View(x), View(x)));
  EXPECT_EQ(kernel.counters().hits, 1);
}

TEST_F(TuneFailureTest, AWarmUpOnIntegersThatNobodyDeclaredIsRefused) {
  struct Case {
    std::vector<Parameter> parameters;
    const char* message;
  };
  std::vector<Case> cases = {
      {{In("lengths", kInt32, {"N"}), Out("y", kFloat32, {"N"})}, "parameter 'lengths' (int32 tensor)"},
      {{InOut("flags", kBool, {"N"})}, "parameter 'flags' (bool tensor)"},
      {{Out("y", kFloat32, {"N"}), Scalar<float>("factor")}, "parameter 'factor' (float32 scalar)"},
      {{Out("y", kFloat32, {"N"}), Scalar<bool>("causal")}, "parameter 'causal' (bool scalar)"},
  };
  for (const Case& c : cases) {
    KernelDefinition definition("reader");
    definition.DimsInOrder({"N"})
        .Parameters(c.parameters)
        .AddVariant(Variant([](const Config&, const Problem&) {
                      return KernelSource::CpuCpp(
                          "static void nothing(const tuneonce_block&, void*) {}\nTUNEONCE_CPU_KERNEL(nothing);",
                          "nothing");
                    }).Grid(Grid::Fixed(1)));
    TunedKernel kernel = Create(definition, *device_);
    EXPECT_ERROR(kernel.Warmup(stream_->get(), {{{"N", 8}}}), StatusCode::kInvalidArgument, c.message);
    EXPECT_EQ(kernel.counters().tunes, 0);
  }
}

TEST_F(TuneFailureTest, WhereNothingIsTunedAWarmUpNeedsNoValues) {
  policy_.mode = AutotunePolicy::Mode::kFallbackOnly;
  KernelDefinition definition("indexed");
  definition.Parameters({InOut("indices", kInt32, {"N"}), Scalar<bool>("causal")})
      .AddVariant(Variant([](const Config&, const Problem&) {
                    return KernelSource::CpuCpp(
                        "static void k(const tuneonce_block&, int* x, bool) { *x = 1; }\nTUNEONCE_CPU_KERNEL(k);", "k");
                  }).Grid(Grid::Fixed(1)));
  TunedKernel kernel = Create(definition, *device_);
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 8}}}));
  EXPECT_EQ(kernel.counters().loaded_kernels, 1);
}

TEST_F(TuneFailureTest, AFunctionThatThrowsOnAHitIsNamed) {
  bool throws = false;
  scale_.space.Where("moody", [&](const Config& c, const Dims&) {
    if (throws && c[scale_.work] == 1) throw std::runtime_error("not today");
    return true;
  });
  KernelDefinition definition = scale_.Definition();
  definition.Key(KeyOf("N").NextPow2());  // So that guards are asked at each launch.
  TunedKernel kernel = Create(definition, *device_);
  ASSERT_OK(Launch(kernel));
  throws = true;
  EXPECT_ERROR(Launch(kernel), StatusCode::kInvalidArgument, "kernel 'scale': a guard threw: not today");
}

}  // namespace
}  // namespace tuneonce
