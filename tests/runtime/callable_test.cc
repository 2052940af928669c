// Kernels that the host launches itself, tuned: what else a TunedKernel does meets them as it meets compiled ones.
#include <cudaTypedefs.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "cuda/graph.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/scale_tactics.h"
#include "testing/tools.h"
#include "testing/work_timer.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using testing::View;

class CallableTest : public testing::CpuDeviceTest {
 protected:
  struct Listener : AutotuneObserver {
    void OnTuned(const std::string&, const std::string&, const TuningRecord& result) override {
      best.push_back(result.best.config.ToString());
    }
    void OnTuneFailed(const std::string&, const std::string&, const Status& status) override {
      errors.push_back(status.message());
    }
    std::vector<std::string> best;
    std::vector<std::string> errors;
  };

  void SetUp() override {
    CpuDeviceTest::SetUp();
    tactics_.emplace(*device_);
    policy_.store = std::make_shared<MemoryStore>();
    policy_.observer = observer_;
    policy_.search.quiet = true;
    policy_.search.timer = &timer_;
  }
  TunedKernel Create(const KernelDefinition& definition) {
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  /// A launcher that counts the configs that it launches.
  Variant::LaunchFn Counting() {
    return [this, right = tactics_->Launcher()](CUstream stream, const Config& c, const CallArguments& a) {
      ++(c[tactics_->work] == 1 ? fast_ : slow_);
      return right(stream, c, a);
    };
  }
  Status Launch(TunedKernel& kernel, int n) {
    DeviceBuffer x = Floats(std::vector<float>(static_cast<std::size_t>(n), 3));
    DeviceBuffer y = Floats(std::vector<float>(static_cast<std::size_t>(n), 0));
    TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream_->get(), View(x), View(y), 2.0f));
    EXPECT_EQ(Read(y), std::vector<float>(static_cast<std::size_t>(n), 6));
    return Status();
  }

  testing::WorkTimer timer_;
  std::optional<testing::ScaleTactics> tactics_;
  AutotunePolicy policy_;
  std::shared_ptr<Listener> observer_ = std::make_shared<Listener>();
  int fast_ = 0;
  int slow_ = 0;
};

TEST_F(CallableTest, TunesOncePerKeyAndThenLaunchesTheWinner) {
  TunedKernel kernel = Create(tactics_->Definition(Counting()));
  ASSERT_OK(Launch(kernel, 1000));
  EXPECT_EQ(observer_->best, std::vector<std::string>{"WORK=1"});
  fast_ = slow_ = 0;
  for (int i = 0; i < 3; ++i) ASSERT_OK(Launch(kernel, 1000));
  EXPECT_EQ(fast_, 3);
  EXPECT_EQ(slow_, 0);
  EXPECT_EQ(kernel.counters().hits, 3);
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ(kernel.counters().fallbacks, 0);
  ASSERT_OK(Launch(kernel, 1001));
  EXPECT_EQ(kernel.counters().tunes, 2);
  EXPECT_EQ(kernel.counters().loaded_kernels, 2) << "winner and baseline; keys share them";
}

TEST_F(CallableTest, ARecordServesWithoutASearchAndWithoutAnArtifact) {
  TemporaryFolder folder = *testing::MakeFolder();
  SqliteStoreOptions options;
  options.path = folder.path() + "/cache/store.db";
  policy_.store = *SqliteStore::Open(options);
  {
    TunedKernel kernel = Create(tactics_->Definition(Counting()));
    ASSERT_OK(Launch(kernel, 1000));
  }
  TuningRecord record = (*policy_.store->List())[0];
  EXPECT_EQ(record.best.variant, "callable");
  EXPECT_EQ(record.best.config.ToString(), "WORK=1");
  EXPECT_EQ(record.best.artifact, Fingerprint());
  EXPECT_EQ(record.baseline->variant, "callable");
  policy_.store = *SqliteStore::Open(options);
  fast_ = slow_ = 0;
  TunedKernel again = Create(tactics_->Definition(Counting()));
  ASSERT_OK(Launch(again, 1000));
  EXPECT_EQ(again.counters().stored_hits, 1);
  EXPECT_EQ(again.counters().tunes, 0);
  EXPECT_EQ(fast_, 1);
  EXPECT_EQ(slow_, 0);
  TunedKernel newer = Create(tactics_->Definition(Counting(), DType::kFloat32, "2"));
  ASSERT_OK(Launch(newer, 1000));
  EXPECT_EQ(newer.counters().tunes, 1) << "all that is known of a launcher is its name and version";
  KernelDefinition renamed("scale");
  const KernelDefinition& first = again.definition();
  renamed.DimsInOrder({"N"})
      .Parameters(first.parameters())
      .Space(tactics_->space)
      .AddVariant(Callable(Counting(), "other"));
  TunedKernel other = Create(renamed);
  ASSERT_OK(Launch(other, 1000));
  EXPECT_EQ(other.counters().tunes, 1);
}

TEST_F(CallableTest, GuardsAndBucketsHoldForCallables) {
  tactics_->space.Where("only even", [work = tactics_->work](const Config& c, const Dims& dims) {
    return c[work] == 100 || dims[Dim{0}] % 2 == 0;
  });
  KernelDefinition definition = tactics_->Definition(Counting());
  definition.Key(KeyOf("N").NextPow2());
  TunedKernel kernel = Create(definition);
  ASSERT_OK(Launch(kernel, 4000));
  EXPECT_EQ((*policy_.store->List())[0].tuned_at, "N=4096");
  fast_ = slow_ = 0;
  ASSERT_OK(Launch(kernel, 3998));
  EXPECT_EQ(fast_, 1);
  ASSERT_OK(Launch(kernel, 3999));
  EXPECT_EQ(slow_, 1) << "the bucket's winner does not suit this shape";
  EXPECT_EQ(kernel.counters().fallbacks, 1);
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_F(CallableTest, EachDTypeIsAKey) {
  TunedKernel kernel = Create(tactics_->Definition(tactics_->Launcher(), DType::kAny));
  DeviceBuffer x = Floats(std::vector<float>(100, 3)), y = Floats(std::vector<float>(100, 0));
  for (DType dtype : {DType::kFloat32, DType::kInt32, DType::kFloat32}) {
    TensorView x_view = View(x), y_view = View(y);
    x_view.dtype = y_view.dtype = dtype;
    ASSERT_OK(kernel.Launch(stream_->get(), x_view, y_view, 2.0f));
  }
  EXPECT_EQ(kernel.counters().tunes, 2);
  EXPECT_EQ(kernel.counters().hits, 1);
}

TEST_F(CallableTest, AWarmupByShapeMakesTheLaunchAHit) {
  TunedKernel kernel = Create(tactics_->Definition());
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 1000}}, {{"N", 2000}}}));
  EXPECT_EQ(kernel.counters().tunes, 2);
  ASSERT_OK(Launch(kernel, 2000));
  EXPECT_EQ(kernel.counters().hits, 1);
  EXPECT_EQ(kernel.counters().tunes, 2);
}

TEST_F(CallableTest, ACaptureTakesTheWinnerOnAHitAndTheFallbackOnAMiss) {
  KernelDefinition definition = tactics_->Definition(Counting());
  definition.Key(KeyOf("N").NextPow2());
  policy_.mode = AutotunePolicy::Mode::kFallbackOnly;
  TunedKernel fallback_only = Create(definition);
  ASSERT_OK(Launch(fallback_only, 128));
  EXPECT_EQ(slow_, 1);
  EXPECT_EQ(fast_, 0);
  policy_.mode = AutotunePolicy::Mode::kTuneOnMiss;
  TunedKernel kernel = Create(definition);
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 128}}}));
  DeviceBuffer x = Floats(std::vector<float>(128, 3)), y = Floats(std::vector<float>(128, 0));
  DeviceBuffer z = Floats(std::vector<float>(128, 0));
  fast_ = slow_ = 0;
  Result<GraphExec> graph = GraphExec::Capture(stream_->view(), [&](CUstream stream) -> Status {
    TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream, View(x), View(y), 2.0f));
    return fallback_only.Launch(stream, View(x), View(z), 2.0f);
  });
  ASSERT_OK(graph);
  EXPECT_EQ(fast_, 1);
  EXPECT_EQ(slow_, 1) << "the fallback is a callable, and is captured";
  ASSERT_OK(graph->Launch(stream_->get()));
  EXPECT_EQ(Read(y), std::vector<float>(128, 6));
  EXPECT_EQ(Read(z), std::vector<float>(128, 6));
  DeviceBuffer shorter = Floats(std::vector<float>(50, 3));
  Result<GraphExec> missing = GraphExec::Capture(
      stream_->view(), [&](CUstream stream) { return kernel.Launch(stream, View(shorter), View(shorter), 2.0f); });
  EXPECT_ERROR(missing, StatusCode::kFailedPrecondition, "the stream is capturing and no code is loaded for this key");
  EXPECT_EQ(kernel.counters().tunes, 1);
}

/// A computation of the host's, as an embedder writes one: it knows the driver by Device::DriverFunction alone.
TEST_F(CallableTest, AComputationOfTheHostIsTunedCapturedAndReplayed) {
  struct Call {
    const float* x;
    float* y;
    float factor;
    std::int64_t n, work;
  };
  std::deque<Call> calls;  // A graph's node reads its own at each replay.
  Result<void*> launch = device_->DriverFunction("cuLaunchHostFunc", 10000);
  ASSERT_OK(launch);
  auto compute = [](void* data) {
    const Call& call = *static_cast<const Call*>(data);
    for (std::int64_t work = 0; work < call.work; ++work) {
      for (std::int64_t i = 0; i < call.n; ++i) static_cast<volatile float*>(call.y)[i] = call.x[i] * call.factor;
    }
  };
  Variant::LaunchFn launcher = [&](CUstream stream, const Config& c, const CallArguments& a) -> Status {
    calls.push_back({static_cast<const float*>(a.tensor("x").data), static_cast<float*>(a.tensor("y").data),
                     a.scalar<float>("factor"), a.dim("N"), c[tactics_->work]});
    const CUresult result = reinterpret_cast<PFN_cuLaunchHostFunc_v10000>(*launch)(stream, compute, &calls.back());
    return result == CUDA_SUCCESS ? Status() : InternalError("cuLaunchHostFunc: " + std::to_string(result));
  };
  policy_.search.timer = nullptr;  // By the clock: nothing counts what the host computes.
  TunedKernel kernel = Create(tactics_->Definition(launcher));
  ASSERT_OK(Launch(kernel, 4096));
  EXPECT_EQ(observer_->errors, std::vector<std::string>());
  EXPECT_EQ(observer_->best, std::vector<std::string>{"WORK=1"});

  auto function = [&](const char* name, int version) {
    Result<void*> found = device_->DriverFunction(name, version);
    EXPECT_OK(found);
    return *found;
  };
  auto begin = reinterpret_cast<PFN_cuStreamBeginCapture_v10010>(function("cuStreamBeginCapture", 10010));
  auto end = reinterpret_cast<PFN_cuStreamEndCapture_v10000>(function("cuStreamEndCapture", 10000));
  auto instantiate =
      reinterpret_cast<PFN_cuGraphInstantiateWithFlags_v11040>(function("cuGraphInstantiateWithFlags", 11040));
  auto replay = reinterpret_cast<PFN_cuGraphLaunch_v10000>(function("cuGraphLaunch", 10000));
  auto destroy_exec = reinterpret_cast<PFN_cuGraphExecDestroy_v10000>(function("cuGraphExecDestroy", 10000));
  auto destroy = reinterpret_cast<PFN_cuGraphDestroy_v10000>(function("cuGraphDestroy", 10000));
  DeviceBuffer x = Floats(std::vector<float>(4096, 3)), y = Floats(std::vector<float>(4096, 0));
  Result<Stream> capturing = Stream::Create(api());
  ASSERT_OK(capturing);
  ASSERT_EQ(begin(capturing->get(), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_OK(kernel.Launch(capturing->get(), View(x), View(y), 2.0f));
  CUgraph graph = nullptr;
  ASSERT_EQ(end(capturing->get(), &graph), CUDA_SUCCESS);
  EXPECT_EQ(Read(y)[0], 0) << "it is captured, and did not run";
  CUgraphExec exec = nullptr;
  ASSERT_EQ(instantiate(&exec, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(replay(exec, stream_->get()), CUDA_SUCCESS);
  EXPECT_EQ(Read(y), std::vector<float>(4096, 6));
  EXPECT_EQ(destroy_exec(exec), CUDA_SUCCESS);
  EXPECT_EQ(destroy(graph), CUDA_SUCCESS);
  EXPECT_ERROR(device_->DriverFunction("cuNoSuchFunction", 13000), StatusCode::kNotFound,
               "cannot find 'cuNoSuchFunction': ");
}

TEST_F(CallableTest, AfterFreezeMissesRunTheBaselinesLauncher) {
  TunedKernel kernel = Create(tactics_->Definition(Counting()));
  ASSERT_OK(Launch(kernel, 1000));
  kernel.Freeze();
  fast_ = slow_ = 0;
  ASSERT_OK(Launch(kernel, 1000));
  ASSERT_OK(Launch(kernel, 2000));
  EXPECT_EQ(fast_, 1);
  EXPECT_EQ(slow_, 1);
  EXPECT_EQ(kernel.counters().frozen_misses, 1);
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_F(CallableTest, ALauncherThatFailsInALaunchIsThatLaunchsError) {
  std::function<Status()> failure;
  Variant::LaunchFn right = tactics_->Launcher();
  TunedKernel kernel = Create(tactics_->Definition([&](CUstream stream, const Config& c, const CallArguments& a) {
    Status failed = failure ? failure() : Status();
    return failed.ok() ? right(stream, c, a) : failed;
  }));
  ASSERT_OK(Launch(kernel, 1000));
  failure = [] { return ResourceExhaustedError("no handle"); };
  EXPECT_ERROR(Launch(kernel, 1000), StatusCode::kResourceExhausted,
               "kernel 'scale': the launcher of variant 'callable': no handle");
  failure = []() -> Status { throw std::runtime_error("no luck"); };
  EXPECT_ERROR(Launch(kernel, 1000), StatusCode::kInvalidArgument, "the launcher of variant 'callable' threw: no luck");
  failure = []() -> Status { throw 7; };
  EXPECT_ERROR(Launch(kernel, 1000), StatusCode::kInvalidArgument, "threw something that is not a std::exception");
  failure = nullptr;
  ASSERT_OK(Launch(kernel, 1000));
  EXPECT_EQ(kernel.counters().tunes, 1) << "a failed launch says nothing about the key";
}

TEST_F(CallableTest, WhereEveryLauncherFailsTheErrorSaysWhyAndNothingIsStored) {
  TunedKernel kernel = Create(tactics_->Definition(
      [](CUstream, const Config&, const CallArguments&) { return UnimplementedError("no such tactic"); }));
  EXPECT_ERROR(Launch(kernel, 1000), StatusCode::kInternal, "no such tactic");
  ASSERT_EQ(observer_->errors.size(), 1u);
  EXPECT_TRUE(policy_.store->List()->empty());
}

TEST_F(CallableTest, AStridedTensorIsRefusedUnlessTheKernelTakesItsStride) {
  TunedKernel dense = Create(tactics_->Definition());
  DeviceBuffer x = Floats(std::vector<float>(100, 3)), y = Floats(std::vector<float>(50, 0));
  const std::int64_t shape[] = {50}, strides[] = {2};
  TensorView every_second = TensorView::Strided(x.data(), DType::kFloat32, shape, strides, 1);
  EXPECT_ERROR(dense.Launch(stream_->get(), every_second, View(y), 2.0f), StatusCode::kInvalidArgument, "contiguous");
  std::vector<std::int64_t> seen;
  KernelDefinition strided("strided");
  strided.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), StrideValue("x", 0)})
      .AddVariant(Callable([&, tactics = *tactics_](CUstream stream, const Config&, const CallArguments& a) {
        seen.push_back(a.tensor("x").strides[0]);
        return tactics.Run(stream, 1, a.tensor("x"), a.tensor("y"), 1, a.dim("N"));
      }));
  TunedKernel takes_stride = Create(strided);
  ASSERT_OK(takes_stride.Launch(stream_->get(), every_second, View(y)));
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back(), 2);
}

TEST_F(CallableTest, WorkspacesOfALaunchAreItsOwn) {
  KernelDefinition definition("through_workspace");
  definition
      .Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor"),
                   Workspace("half", [](const Config&, const Problem& p) { return p[Dim{0}] * sizeof(float); })})
      .Space(tactics_->space)
      .AddVariant(Callable([tactics = *tactics_](CUstream stream, const Config& c, const CallArguments& a) -> Status {
        TensorView half = a.tensor("x");
        half.data = a.workspace("half");
        TUNEONCE_RETURN_IF_ERROR(tactics.Run(stream, c[tactics.work], a.tensor("x"), half, 1, a.dim("N")));
        return tactics.Run(stream, c[tactics.work], half, a.tensor("y"), a.scalar<float>("factor"), a.dim("N"));
      }));
  TunedKernel kernel = Create(definition);
  for (int n : {1000, 1000, 500}) ASSERT_OK(Launch(kernel, n));
  EXPECT_EQ(kernel.counters().tunes, 2);
}

TEST_F(CallableTest, ALauncherMayLaunchAnotherTunedKernel) {
  TunedKernel inner = Create(testing::ScaleKernel().Definition("inner"));
  ASSERT_OK(Launch(inner, 1000));
  TunedKernel outer = Create(tactics_->Definition([&](CUstream stream, const Config&, const CallArguments& a) {
    return inner.Launch(stream, a.tensor(0), a.tensor(1), a.scalar<float>(2));
  }));
  ASSERT_OK(Launch(outer, 1000));
  ASSERT_OK(Launch(outer, 1000));
  EXPECT_EQ(outer.counters().hits, 1);
  EXPECT_EQ(inner.counters().tunes, 1);
}

}  // namespace
}  // namespace tuneonce
