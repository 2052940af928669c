// kTuneDeferred: what a launch read is kept until its key is tuned, and where it is not, declared data serve.
#include "runtime/kept_inputs.h"

#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "cuda/graph.h"
#include "runtime/tuned_kernel_on.h"
#include "store/memory_store.h"
#include "testing/busy_store.h"
#include "testing/device_test.h"
#include "testing/fault_injection.h"
#include "testing/runtimes.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using testing::View;
using Mode = AutotunePolicy::Mode;

class KeptInputsTest : public testing::CpuDeviceTest {
 protected:
  struct Listener : AutotuneObserver {
    void OnTuned(const std::string&, const std::string&, const TuningRecord& result) override {
      chosen = result.best.config.ToString();
    }
    std::string chosen;
  };

  KeptInputsTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.observer = observer_;
    policy_.mode = Mode::kTuneDeferred;
    policy_.search.max_rounds = 3;
    policy_.retry_after_ms = 0;
  }
  /// y = -1, and x too if it is an InOut. With FAST=1 it is fast where `is_ones`, an expression of x and n, holds; with
  /// FAST=0 elsewhere.
  KernelDefinition ByData(const Parameter& x, const std::string& is_ones = "x[0] == 1 && x[n - 1] == 1") {
    SearchSpace space;
    IntAxis fast = space.AddAxis("FAST", {0, 1});
    std::string type = x.dtype == DType::kInt64 ? "long" : x.dtype == DType::kInt32 ? "int" : "float";
    std::string source =
        "static void by_data(const tuneonce_block&, " + type + "* x, float* y, int n) {\n  bool is_ones = " + is_ones +
        ";\n  int work = is_ones == (FAST == 1) ? 1 : 200;\n" +
        "  for (int w = 0; w < work; ++w) for (int i = 0; i < n; ++i) static_cast<volatile float*>(y)[i] = -1;\n" +
        (x.access == Access::kInOut ? "  for (int i = 0; i < n; ++i) x[i] = -1;\n" : "") +
        "}\nTUNEONCE_CPU_KERNEL(by_data);";
    KernelDefinition definition("by_data");
    definition.Parameters({x, Out("y", kFloat32, {"N"}), DimValue("N")})
        .Space(space)
        .AddVariant(Variant([=](const Config& c, const Problem&) {
                      return KernelSource::CpuCpp(source, "by_data").Define("FAST", c[fast]);
                    }).Grid(Grid::Fixed(1)));
    return definition;
  }
  TunedKernel Create(const KernelDefinition& definition) {
    Result<TunedKernel> kernel = TunedKernelOn::Create(*device_, definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  std::string InputsOfRecord() {
    std::vector<TuningRecord> records = *policy_.store->List();
    if (records.size() != 1) return "no single record";
    return records[0].inputs == TunedInputs::kCaller     ? "caller"
           : records[0].inputs == TunedInputs::kRepeated ? "repeated"
           : records[0].inputs == TunedInputs::kFill     ? "fill"
                                                         : "else";
  }
  std::size_t FreeMemory() {
    RelaxedDriver driver(api());
    EXPECT_EQ(driver->CtxSynchronize(), CUDA_SUCCESS);  // What is freed is freed in the order of a stream.
    std::size_t free = 0, total = 0;
    EXPECT_EQ(driver->MemGetInfo(&free, &total), CUDA_SUCCESS);
    return free;
  }

  testing::ScaleKernel scale_;
  AutotunePolicy policy_;
  std::shared_ptr<Listener> observer_ = std::make_shared<Listener>();
};

TEST_F(KeptInputsTest, AKeyIsTunedAtTunePendingOnWhatItsLaunchReadThoughThatIsGone) {
  for (Access access : {Access::kIn, Access::kInOut}) {
    for (float value : {1.0f, 5.0f}) {
      policy_.store = std::make_shared<MemoryStore>();
      TunedKernel kernel =
          Create(ByData(access == Access::kIn ? In("x", kFloat32, {"N"}) : InOut("x", kFloat32, {"N"})));
      {
        Stream stream = *Stream::Create(api());
        DeviceBuffer x = Floats(std::vector<float>(4000, value));
        DeviceBuffer y = Floats(std::vector<float>(4000, 7));
        ASSERT_OK(kernel.Launch(stream.get(), View(x), View(y)));
        EXPECT_EQ(kernel.counters().kept_inputs_bytes / 256, 4000 * 4 / 256);
        ASSERT_OK(kernel.Launch(stream.get(), View(x), View(y)));  // A hit: nothing more is kept.
        EXPECT_EQ(kernel.counters().kept_inputs_bytes / 256, 4000 * 4 / 256);
        ASSERT_OK(stream.view().Synchronize());
        EXPECT_OK(x.Fill(0));  // What an engine does: the next step's data, in memory that lives no longer.
        EXPECT_OK(stream_->view().Synchronize());
      }
      ASSERT_OK(kernel.TunePending(stream_->get()));
      EXPECT_EQ(observer_->chosen, value == 1 ? "FAST=1" : "FAST=0");
      EXPECT_EQ(InputsOfRecord(), "caller");
      EXPECT_EQ(kernel.counters().kept_inputs_bytes, 0) << "the trial was released already";
      EXPECT_EQ(kernel.counters().inputs_not_kept, 0);
    }
  }
}

TEST_F(KeptInputsTest, IntegersWithoutADeclaredFillAreTunedOnWhatTheLaunchHadAndABucketRepeatsIt) {
  KernelDefinition definition = ByData(In("x", kInt32, {"N"}), "x[1] == 7 && x[2999] == 2993 && x[3000] == 0");
  definition.Key(KeyOf("N").NextPow2());
  TunedKernel kernel = Create(definition);
  std::vector<std::int32_t> places(3000);
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::int32_t>(7 * i % 3000);
  DeviceBuffer x = *DeviceBuffer::Allocate(stream_->view(), 4 * places.size());
  DeviceBuffer y = Floats(std::vector<float>(3000, 0));
  ASSERT_OK(x.CopyFromHost(places.data(), x.bytes()));
  ASSERT_OK(kernel.Launch(stream_->get(), TensorView::Contiguous(x.data(), DType::kInt32, {3000}), View(y)));
  ASSERT_OK(x.Fill(9));
  ASSERT_OK(kernel.TunePending(stream_->get()));
  EXPECT_EQ(observer_->chosen, "FAST=1");
  EXPECT_EQ(InputsOfRecord(), "repeated");
  EXPECT_EQ((*policy_.store->List())[0].tuned_at, "N=4096");
}

TEST_F(KeptInputsTest, WhereNothingCanBeKeptTheKeyWaitsAllTheSameAndIsTunedOnDeclaredData) {
  struct Case {
    const char* name;
    std::size_t budget;
    Fault fault;  // Of the launch.
    bool is_kept;
  };
  const std::size_t enough = std::size_t{1} << 20;
  for (const Case& c : {Case{"all is well", enough, {"", 0}, true}, Case{"switched off", 0, {"", 0}, false},
                        Case{"just too little", 4000 * 4 - 1, {"", 0}, false},
                        Case{"no memory", enough, {"MemAllocAsync", 1, CUDA_ERROR_OUT_OF_MEMORY}, false},
                        Case{"no stream", enough, {"StreamCreate", 1, CUDA_ERROR_OUT_OF_MEMORY}, false},
                        Case{"no first event", enough, {"EventCreate", 1, CUDA_ERROR_OUT_OF_MEMORY}, false},
                        Case{"no second event", enough, {"EventCreate", 2, CUDA_ERROR_OUT_OF_MEMORY}, false},
                        Case{"no order", enough, {"StreamWaitEvent", 1, CUDA_ERROR_UNKNOWN}, false},
                        Case{"no order behind it", enough, {"StreamWaitEvent", 2, CUDA_ERROR_UNKNOWN}, false},
                        Case{"no copy", enough, {"MemcpyDtoDAsync", 1, CUDA_ERROR_UNKNOWN}, false}}) {
    SCOPED_TRACE(c.name);
    Result<std::unique_ptr<FaultInjection>> faults = FaultInjection::Create(api());
    ASSERT_OK(faults);
    policy_.store = std::make_shared<MemoryStore>();
    policy_.kept_inputs_bytes = c.budget;
    Result<Device> device = Device::Get((*faults)->api(), 0);
    TunedKernel kernel = *TunedKernelOn::Create(*device, ByData(In("x", kFloat32, {"N"}).ForWarmup(5)), policy_);
    DeviceBuffer x = Floats(std::vector<float>(4000, 1));
    DeviceBuffer y = Floats(std::vector<float>(4000, 7));
    if (!c.fault.function.empty()) ASSERT_OK((*faults)->Plan(c.fault));
    ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(y)));
    (*faults)->Clear();
    EXPECT_EQ(Read(y), std::vector<float>(4000, -1)) << "the fallback ran";
    EXPECT_EQ(kernel.counters().pending_keys, 1);
    EXPECT_EQ(kernel.counters().inputs_not_kept, c.is_kept ? 0 : 1);
    EXPECT_EQ(kernel.counters().kept_inputs_bytes > 0, c.is_kept);
    ASSERT_OK(kernel.TunePending(stream_->get()));
    EXPECT_EQ(InputsOfRecord(), c.is_kept ? "caller" : "fill");
    EXPECT_EQ(observer_->chosen, c.is_kept ? "FAST=1" : "FAST=0");
  }
}

TEST_F(KeptInputsTest, TheBudgetIsOfAllKeysThatWaitAndIsFreeAgainAfterTunePending) {
  policy_.kept_inputs_bytes = 2 * 4000 * 4 + 3 * 256;
  TunedKernel kernel = Create(scale_.Definition());
  DeviceBuffer x = Floats(std::vector<float>(4000, 3));
  DeviceBuffer y = Floats(std::vector<float>(4000, 0));
  auto launch = [&](std::int64_t n) {
    TensorView from = TensorView::Contiguous(x.data(), DType::kFloat32, {n});
    ASSERT_OK(kernel.Launch(stream_->get(), from, TensorView::Contiguous(y.data(), DType::kFloat32, {n}), 2.0f));
  };
  for (std::int64_t n : {4000, 3999, 3998}) launch(n);
  EXPECT_EQ(kernel.counters().pending_keys, 3);
  EXPECT_EQ(kernel.counters().inputs_not_kept, 1);
  ASSERT_OK(kernel.TunePending(stream_->get()));
  EXPECT_EQ(kernel.counters().kept_inputs_bytes, 0);
  launch(3997);
  EXPECT_EQ(kernel.counters().inputs_not_kept, 1);
}

TEST_F(KeptInputsTest, CopiesAreReleasedByFreezeByDroppingTheKeyAndWithTheKernel) {
  const std::size_t n = std::size_t{1} << 20;
  DeviceBuffer x = Floats(std::vector<float>(n, 1));
  DeviceBuffer y = Floats(std::vector<float>(n, 1));
  auto held = [&](const std::function<void(std::optional<TunedKernel>&)>& end) {
    const std::size_t before = FreeMemory();
    std::optional<TunedKernel> kernel(Create(scale_.Definition()));
    EXPECT_OK(kernel->Launch(stream_->get(), View(x), View(y), 2.0f));
    EXPECT_LE(FreeMemory() + 4 * n, before) << "or this test shows nothing";
    end(kernel);
    EXPECT_EQ(kernel ? kernel->counters().kept_inputs_bytes : 0, 0);
    return before - FreeMemory();
  };
  EXPECT_LT(held([](auto& kernel) { kernel->Freeze(); }), 4 * n);
  EXPECT_LT(held([](auto& kernel) { kernel.reset(); }), 4 * n);
  // The key's tune is another process's, so that it waits on, until it is dropped: there is room for one.
  auto store = std::make_shared<testing::BusyStore>();
  policy_.store = store;
  store->is_theirs = false;
  ASSERT_OK(Create(scale_.Definition()).Warmup(stream_->get(), {{{"N", 5}}, {{"N", 6}}}));
  store->is_theirs = true;
  policy_.max_ready_keys = 1;
  EXPECT_LT(held([&](auto& kernel) {
              for (std::int64_t served : {5, 6}) {
                TensorView few = TensorView::Contiguous(x.data(), DType::kFloat32, {served});
                ASSERT_OK(kernel->Launch(stream_->get(), few, few, 2.0f));
              }
              ASSERT_OK(kernel->TunePending(stream_->get()));
              EXPECT_EQ(kernel->counters().tunes, 0);
              EXPECT_EQ(kernel->counters().pending_keys, 0);
            }),
            4 * n);
}

TEST_F(KeptInputsTest, AKeyThatAnotherProcessTunesKeepsItsInputsForTheNextTunePending) {
  auto store = std::make_shared<testing::BusyStore>();
  policy_.store = store;
  TunedKernel kernel = Create(ByData(In("x", kFloat32, {"N"})));
  DeviceBuffer x = Floats(std::vector<float>(4000, 1));
  DeviceBuffer y = Floats(std::vector<float>(4000, 0));
  ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(y)));
  ASSERT_OK(kernel.TunePending(stream_->get()));
  EXPECT_GT(kernel.counters().kept_inputs_bytes, 0);
  store->is_theirs = false;
  ASSERT_OK(kernel.TunePending(stream_->get()));
  EXPECT_EQ(observer_->chosen, "FAST=1");
  EXPECT_EQ(InputsOfRecord(), "caller");
}

TEST_F(KeptInputsTest, ATensorThatHoldsAddressesIsNotTunedOnSinceWhatTheyPointToWasNotKept) {
  for (bool has_fill : {true, false}) {
    for (bool is_freed : {true, false}) {  // The driver knows nothing of it any more.
      policy_.store = std::make_shared<MemoryStore>();
      Parameter table = In("x", kInt64, {"N"});
      TunedKernel kernel = Create(ByData(has_fill ? std::move(table).ForWarmup(0) : table));
      DeviceBuffer y = Floats({0, 0});
      // So large that nothing else comes to lie where the address is.
      std::optional<DeviceBuffer> pointed_to(*DeviceBuffer::Allocate(stream_->view(), std::size_t{1} << 24));
      std::int64_t addresses[] = {3, static_cast<std::int64_t>(pointed_to->get()) + (1 << 23)};
      DeviceBuffer x = *DeviceBuffer::Allocate(stream_->view(), sizeof(addresses));
      ASSERT_OK(x.CopyFromHost(addresses, sizeof(addresses)));
      TensorView view = TensorView::Contiguous(x.data(), DType::kInt64, {2});
      ASSERT_OK(kernel.Launch(stream_->get(), view, View(y)));
      if (is_freed) pointed_to.reset();
      ASSERT_OK(stream_->view().Synchronize());
      Status tuned = kernel.TunePending(stream_->get());
      if (has_fill) {
        EXPECT_OK(tuned);
        EXPECT_EQ(InputsOfRecord(), "fill");
      } else {
        EXPECT_ERROR(tuned, StatusCode::kInvalidArgument, "parameter 'x'");
      }
      EXPECT_EQ(kernel.counters().kept_inputs_bytes, 0);
    }
  }
}

TEST_F(KeptInputsTest, LargeNumbersThatAreNoAddressesAreTunedOn) {
  TunedKernel kernel = Create(ByData(In("x", kInt64, {"N"})));
  DeviceBuffer y = Floats(std::vector<float>(4000, 0));
  std::vector<std::int64_t> numbers(4000, 1);
  numbers[1] = 1732500000000000;  // A time in microseconds.
  DeviceBuffer x = *DeviceBuffer::Allocate(stream_->view(), numbers.size() * 8);
  ASSERT_OK(x.CopyFromHost(numbers.data(), x.bytes()));
  ASSERT_OK(kernel.Launch(stream_->get(), TensorView::Contiguous(x.data(), DType::kInt64, {4000}), View(y)));
  EXPECT_OK(kernel.TunePending(stream_->get()));
  EXPECT_EQ(InputsOfRecord(), "caller");
  EXPECT_EQ(observer_->chosen, "FAST=1");
}

TEST_F(KeptInputsTest, CopiesLieAndOverlapAsTheLaunchsTensorsDidSoThatTheSameVariantsSuit) {
  testing::ScaleKernel& scale = scale_;
  auto definition = [&](const Assumption& assumption) {
    KernelDefinition made("two");
    made.Parameters(scale.Definition().parameters()).Space(scale.space);
    made.AddVariant(Variant(scale.Source()).Grid(Grid::OneD({"N", scale.tile})).Assuming({assumption}));
    made.AddVariant(Variant(scale.Source()).Grid(Grid::OneD({"N", scale.tile})));
    return made;
  };
  DeviceBuffer memory = Floats(std::vector<float>(5000, 3));
  auto at = [&](std::size_t offset) {
    return TensorView::Contiguous(static_cast<float*>(memory.data()) + offset, DType::kFloat32, {2000});
  };
  struct Case {
    Assumption assumption;
    TensorView x, y;
    bool suits;
  };
  for (const Case& c :
       {Case{Aligned("x", 16), at(0), at(2500), true}, Case{Aligned("x", 16), at(1), at(2500), false},
        Case{NoOverlap("x", "y"), at(0), at(2000), true}, Case{NoOverlap("x", "y"), at(0), at(0), false}}) {
    auto store = std::make_shared<MemoryStore>();
    policy_.store = store;
    TunedKernel kernel = Create(definition(c.assumption));
    ASSERT_OK(kernel.Launch(stream_->get(), c.x, c.y, 1.0f));
    ASSERT_OK(kernel.TunePending(stream_->get()));
    EXPECT_EQ(kernel.counters().tunes, 1);
    // What was tuned without a variant is stored for such calls alone.
    ASSERT_EQ(store->List()->size(), 1u);
    const std::string key = (*store->List())[0].key.key_text;
    EXPECT_EQ(key.find("without") == std::string::npos, c.suits) << key;
    ASSERT_OK(kernel.Launch(stream_->get(), c.x, c.y, 1.0f));
    EXPECT_EQ(kernel.counters().fallbacks, 1) << "the selection suits the launch that it was made for";
  }
}

TEST_F(KeptInputsTest, ACaptureKeepsNothing) {
  TunedKernel kernel = Create(scale_.Definition());
  DeviceBuffer x = Floats(std::vector<float>(1000, 3));
  DeviceBuffer y = Floats(std::vector<float>(1000, 3));
  ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(y), 2.0f));
  ASSERT_OK(kernel.TunePending(stream_->get()));
  TensorView part = TensorView::Contiguous(x.data(), DType::kFloat32, {999});
  Result<GraphExec> graph = GraphExec::Capture(stream_->view(), [&](CUstream stream) {
    EXPECT_FALSE(kernel.Launch(stream, part, part, 2.0f).ok());
    return Status();
  });
  EXPECT_OK(graph);
  EXPECT_EQ(kernel.counters().kept_inputs_bytes, 0);
  EXPECT_EQ(kernel.counters().pending_keys, 0);
}

TEST_F(KeptInputsTest, WhatWasKeptInAContextThatIsGoneIsGivenUpAndTheKeyIsTunedOnDeclaredData) {
  TunedKernel kernel = Create(ByData(In("x", kFloat32, {"N"}).ForWarmup(5)));
  {
    Context other = *Context::Create(*device_);
    ScopedContext current(other.view());
    Stream stream = *Stream::Create(api());
    DeviceBuffer x = *DeviceBuffer::Allocate(stream.view(), 400);
    DeviceBuffer y = *DeviceBuffer::Allocate(stream.view(), 400);
    ASSERT_OK(x.Fill(0));
    ASSERT_OK(kernel.Launch(stream.get(), View(x), View(y)));
    EXPECT_GT(kernel.counters().kept_inputs_bytes, 0);
    ASSERT_OK(stream.view().Synchronize());
  }
  ASSERT_OK(kernel.TunePending(stream_->get()));
  EXPECT_EQ(InputsOfRecord(), "fill");
  EXPECT_EQ(kernel.counters().kept_inputs_bytes, 0);
}

TEST_F(KeptInputsTest, ThreadsMayMissAndFreezeAtOnce) {
  constexpr int kThreads = 4, kKeys = 6;
  for (bool freezes : {false, true}) {
    TunedKernel kernel = Create(scale_.Definition());
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        ScopedContext current(context_->view());
        Stream stream = *Stream::Create(api());
        DeviceBuffer x = *DeviceBuffer::Allocate(stream.view(), 4 * 100);
        DeviceBuffer y = *DeviceBuffer::Allocate(stream.view(), 4 * 100);
        EXPECT_OK(x.Fill(0));
        for (++ready; ready < kThreads;) std::this_thread::yield();
        for (std::int64_t n = 1; n <= kKeys; ++n) {
          if (freezes && t == 0 && n == 3) kernel.Freeze();
          TensorView from = TensorView::Contiguous(x.data(), DType::kFloat32, {n});
          EXPECT_OK(kernel.Launch(stream.get(), from, TensorView::Contiguous(y.data(), DType::kFloat32, {n}), 2.0f));
        }
        EXPECT_OK(stream.view().Synchronize());
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(kernel.counters().pending_keys, freezes ? 0 : kKeys);
    ASSERT_OK(kernel.TunePending(stream_->get()));
    EXPECT_EQ(kernel.counters().pending_keys, 0);
    EXPECT_EQ(kernel.counters().kept_inputs_bytes, 0);
    EXPECT_EQ(kernel.counters().tunes, freezes ? 0 : kKeys);
    policy_.store = std::make_shared<MemoryStore>();
  }
}

TEST(KeptInputsOfTwoDevicesTest, EachDevicesTunePendingTunesItsOwnKeysOnWhatWasKeptThere) {
  std::shared_ptr<Runtime> runtime = testing::RuntimeIn({{"TUNEONCE_CPU_DEVICES", "2"}});
  Result<Device> first = runtime->OpenDevice("cpu:0"), second = runtime->OpenDevice("cpu:1");
  ASSERT_OK(first);
  ASSERT_OK(second);
  AutotunePolicy policy;
  policy.mode = Mode::kTuneDeferred;
  policy.search.runtime = runtime;
  policy.search.max_rounds = 1;
  policy.store = std::make_shared<MemoryStore>();
  TunedKernel kernel = *TunedKernelOn::Create(*first, testing::ScaleKernel().Definition(), policy);
  std::int64_t kept = 0;
  for (const Device& device : {*first, *second}) {
    Context context = *Context::RetainPrimary(device);
    ScopedContext current(context.view());
    Stream stream = *Stream::Create(device.api());
    DeviceBuffer x = *DeviceBuffer::Allocate(stream.view(), 4000);
    ASSERT_OK(x.Fill(0));
    ASSERT_OK(kernel.Launch(stream.get(), View(x), View(x), 2.0f));
    ASSERT_OK(stream.view().Synchronize());
    EXPECT_GT(kernel.counters().kept_inputs_bytes, kept);
    kept = kernel.counters().kept_inputs_bytes;
  }
  for (std::int64_t left : {1, 0}) {
    Context context = *Context::RetainPrimary(left == 1 ? *second : *first);
    ScopedContext current(context.view());
    Stream stream = *Stream::Create(first->api());
    ASSERT_OK(kernel.TunePending(stream.get()));
    EXPECT_EQ(kernel.counters().pending_keys, left);
  }
  EXPECT_EQ(kernel.counters().kept_inputs_bytes, 0);
}

}  // namespace
}  // namespace tuneonce
