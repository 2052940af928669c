// A strided tensor goes to a variant that takes strides.
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

class StridedVariantTest : public testing::CpuDeviceTest {
 protected:
  struct Listener : AutotuneObserver {
    void OnTuned(const std::string&, const std::string&, const TuningRecord& result) override {
      variant = result.best.variant;
    }
    std::string variant;
  };

  StridedVariantTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.observer = listener_;
  }

  /// y = 2 x: `fast` for contiguous x and y, `strided` takes the strides of both.
  static KernelDefinition Doubled(bool with_strided, DType stride = DType::kInt32) {
    SearchSpace space;
    auto work = space.AddAxis("WORK", {1, 2});
    space.SetBaseline({{work, 1}});
    KernelDefinition definition("doubled");
    definition
        .Parameters({In("x", kFloat32, {"M", "N"}), Out("y", kFloat32, {"M", "N"}), DimValue("M"), DimValue("N"),
                     StrideValue("x", 0, stride), StrideValue("x", 1, stride), StrideValue("y", 0, stride),
                     StrideValue("y", 1, stride)})
        .Space(space);
    for (bool strided : {false, true}) {
      Variant variant;
      variant.name = strided ? "strided" : "fast";
      std::string type = stride == DType::kInt32 ? "int" : "long long";
      std::string strides = strided ? ", " + type + " x0, " + type + " x1, " + type + " y0, " + type + " y1" : "";
      std::string at = strided ? "y[i * y0 + j * y1] = 2 * x[i * x0 + j * x1];" : "y[i * n + j] = 2 * x[i * n + j];";
      variant.source = [=](const Config& c, const Problem&) {
        return KernelSource::CpuCpp(
                   "static void doubled(const tuneonce_block&, const float* x, float* y, int m, int n" + strides +
                       ") {\n  for (int w = 0; w < WORK; ++w)\n    for (int i = 0; i < m; ++i)" +
                       "\n      for (int j = 0; j < n; ++j) " + at + "\n}\nTUNEONCE_CPU_KERNEL(doubled);",
                   "doubled")
            .Define("WORK", c[work]);
      };
      variant.geometry = Grid::Fixed(1);
      if (!strided) variant.parameters = {"x", "y", "M", "N"};
      if (!strided || with_strided) definition.AddVariant(variant);
    }
    return definition;
  }
  TunedKernel Create(const KernelDefinition& definition) {
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  static TensorView Matrix(const DeviceBuffer& buffer, std::int64_t m, std::int64_t n, std::int64_t row,
                           std::int64_t column, std::int64_t offset = 0) {
    const std::int64_t shape[] = {m, n}, strides[] = {row, column};
    return TensorView::Strided(static_cast<float*>(buffer.data()) + offset, DType::kFloat32, shape, strides, 2);
  }
  /// 0, 1, 2, ... m * n - 1
  DeviceBuffer Counting(int count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>(i);
    return Floats(values);
  }
  /// Launches on all of a 6 x 8 matrix, its left half, and its transpose; checks what comes out.
  void ExpectAllLayoutsWork(TunedKernel& kernel, std::vector<int> order) {
    DeviceBuffer x = Counting(48);
    for (int layout : order) {
      SCOPED_TRACE(layout);
      DeviceBuffer y = Floats(std::vector<float>(48, -1));
      TensorView all = Matrix(x, 6, 8, 8, 1), left = Matrix(x, 6, 4, 8, 1), transposed = Matrix(x, 8, 6, 1, 8);
      TensorView in = layout == 0 ? all : layout == 1 ? left : transposed;
      std::int64_t m = in.shape[0], n = in.shape[1];
      ASSERT_OK(kernel.Launch(stream_->get(), in, Matrix(y, m, n, n, 1)));
      std::vector<float> out = Read(y);
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          EXPECT_EQ(out[static_cast<std::size_t>(i * n + j)],
                    static_cast<float>(2 * (i * in.strides[0] + j * in.strides[1])));
        }
      }
    }
  }

  std::shared_ptr<Listener> listener_ = std::make_shared<Listener>();
  AutotunePolicy policy_;
};

TEST_F(StridedVariantTest, ItStepsInWhateverCameFirst) {
  KernelDefinition bucketed = Doubled(true);
  bucketed.Key(KeyOf("M").NextPow2(), KeyOf("N").NextPow2());
  for (const KernelDefinition& definition : {Doubled(true), bucketed, Doubled(true, DType::kInt64)}) {
    for (const std::vector<int>& order : {std::vector<int>{0, 1, 2, 0, 1, 2}, {2, 1, 0, 2, 1, 0}}) {
      TunedKernel kernel = Create(definition);
      ExpectAllLayoutsWork(kernel, order);
      EXPECT_EQ(kernel.counters().failed_tunes, 0);
    }
  }
  policy_.mode = AutotunePolicy::Mode::kFallbackOnly;
  TunedKernel disabled = Create(Doubled(true));
  ExpectAllLayoutsWork(disabled, {0, 1, 2, 0});
}

TEST_F(StridedVariantTest, TheSameShapeMayComeInBothLayouts) {
  TunedKernel kernel = Create(Doubled(true));
  DeviceBuffer x = Counting(96), y = Floats(std::vector<float>(48, 0));
  TensorView good = Matrix(x, 6, 8, 8, 1), gaps = Matrix(x, 6, 8, 16, 1), out = Matrix(y, 6, 8, 8, 1);
  ASSERT_OK(kernel.Launch(stream_->get(), good, out));
  EXPECT_EQ(listener_->variant, "fast");
  EXPECT_EQ(policy_.store->List()->size(), 1u);
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(kernel.Launch(stream_->get(), gaps, out));
    EXPECT_EQ(Read(y)[8], 32);
    ASSERT_OK(kernel.Launch(stream_->get(), good, out));
    EXPECT_EQ(Read(y)[8], 16);
  }
  EXPECT_EQ(listener_->variant, "strided");
  Counters counters = kernel.counters();
  EXPECT_EQ(counters.tunes, 2) << "one for each layout";
  EXPECT_EQ(counters.hits, 5);
  EXPECT_EQ(counters.fallbacks, 0);
  kernel.Freeze();
  ASSERT_OK(kernel.Launch(stream_->get(), gaps, out));
  EXPECT_EQ(kernel.counters().frozen_misses, 0);
}

TEST_F(StridedVariantTest, ASelectionMadeWithoutTheFastVariantIsStoredForSuchCallsAlone) {
  DeviceBuffer x = Counting(96), y = Floats(std::vector<float>(48, 0));
  TensorView good = Matrix(x, 6, 8, 8, 1), gaps = Matrix(x, 6, 8, 16, 1), out = Matrix(y, 6, 8, 8, 1);
  TunedKernel kernel = Create(Doubled(true));
  ASSERT_OK(kernel.Launch(stream_->get(), gaps, out));
  EXPECT_EQ(listener_->variant, "strided");
  ASSERT_EQ(policy_.store->List()->size(), 1u);
  EXPECT_EQ((*policy_.store->List())[0].key.key_text, "M=6, N=8, x:float32, y:float32, without fast");
  TunedKernel restarted = Create(Doubled(true));
  ASSERT_OK(restarted.Launch(stream_->get(), gaps, out));
  EXPECT_EQ(restarted.counters().stored_hits, 1);
  ASSERT_OK(restarted.Launch(stream_->get(), good, out));
  EXPECT_EQ(restarted.counters().tunes, 1);
  EXPECT_EQ(listener_->variant, "fast");
}

TEST_F(StridedVariantTest, AStridedOutputIsTunedOnScratchAndItsGapsStayTheCallers) {
  TunedKernel kernel = Create(Doubled(true));
  DeviceBuffer x = Counting(48), y = Floats(std::vector<float>(96, 7));
  ASSERT_OK(kernel.Launch(stream_->get(), Matrix(x, 6, 8, 8, 1), Matrix(y, 6, 8, 16, 1)));
  std::vector<float> out = Read(y);
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 16; ++j) {
      EXPECT_EQ(out[16 * i + j], j < 8 ? static_cast<float>(2 * (8 * i + j)) : 7.0f) << i << " " << j;
    }
  }
}

TEST_F(StridedVariantTest, ACaptureTakesTheVariantThatIsLoaded) {
  TunedKernel kernel = Create(Doubled(true));
  DeviceBuffer x = Counting(96), y = Floats(std::vector<float>(48, 0));
  TensorView good = Matrix(x, 6, 8, 8, 1), gaps = Matrix(x, 6, 8, 16, 1), out = Matrix(y, 6, 8, 8, 1);
  ASSERT_OK(kernel.Launch(stream_->get(), good, out));
  auto capture = [&]() -> Status {
    RelaxedDriver driver(api());
    EXPECT_EQ(driver->StreamBeginCapture(stream_->get(), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    Status status = kernel.Launch(stream_->get(), gaps, out);
    CUgraph graph = nullptr;
    EXPECT_EQ(driver->StreamEndCapture(stream_->get(), &graph), CUDA_SUCCESS);
    driver->GraphDestroy(graph);
    return status;
  };
  EXPECT_ERROR(capture(), StatusCode::kFailedPrecondition, "no code is loaded for this key");
  EXPECT_EQ(kernel.counters().capture_misses, 1);
  ASSERT_OK(kernel.Launch(stream_->get(), gaps, out));
  EXPECT_OK(capture());
}

TEST_F(StridedVariantTest, WithoutItTheCallIsAnErrorThatSaysWhatToDo) {
  TunedKernel kernel = Create(Doubled(false));
  DeviceBuffer x = Counting(96), y = Floats(std::vector<float>(48, 0));
  EXPECT_ERROR(kernel.Launch(stream_->get(), Matrix(x, 6, 8, 16, 1), Matrix(y, 6, 8, 8, 1)),
               StatusCode::kInvalidArgument,
               "pass a contiguous copy, or add a variant that takes this stride (StrideValue)");
}

TEST_F(StridedVariantTest, WhatNoVariantCanTakeIsRefused) {
  TunedKernel kernel = Create(Doubled(true));
  DeviceBuffer x = Counting(96), y = Floats(std::vector<float>(48, 0));
  TensorView out = Matrix(y, 6, 8, 8, 1);
  ASSERT_OK(kernel.Launch(stream_->get(), Matrix(x, 6, 8, 16, 1), out));
  for (int i = 0; i < 2; ++i) {
    EXPECT_ERROR(kernel.Launch(stream_->get(), Matrix(x, 6, 8, -8, 1, 40), out), StatusCode::kInvalidArgument,
                 "dimension 0 of 'x' has stride -8");
    ASSERT_OK(kernel.Launch(stream_->get(), Matrix(x, 6, 8, 8, 1), out));
  }
  EXPECT_EQ(Read(y)[47], 94);
}

TEST_F(StridedVariantTest, ABucketIsTunedOnElementsAndNotOnWhatLiesInGaps) {
  // An index out of range would end the context.
  KernelDefinition gather("gather");
  auto source = [](const Config&, const Problem&) {
    return KernelSource::CpuCpp(
        "static void gather(const tuneonce_block&, const int* index, const float* table, float* y, int n, int stride) "
        "{\n"
        "  for (int i = 0; i < n; ++i) y[i] = table[index[i * stride]];\n}\nTUNEONCE_CPU_KERNEL(gather);",
        "gather");
  };
  gather.Key(KeyOf("N").NextPow2(), KeyOf("T"))
      .Parameters({In("index", kInt32, {"N"}), In("table", kFloat32, {"T"}), Out("y", kFloat32, {"N"}), DimValue("N"),
                   StrideValue("index", 0)})
      .AddVariant(Variant(source).Grid(Grid::Fixed(1)));
  TunedKernel kernel = Create(gather);
  std::vector<float> interleaved(2 * 300);
  for (std::size_t i = 0; i < 300; ++i) {
    const int pair[] = {static_cast<int>(i % 4), 1 << 30};
    std::memcpy(&interleaved[2 * i], pair, sizeof(pair));
  }
  DeviceBuffer index = Floats(interleaved), table = Floats({10, 11, 12, 13}), y = Floats(std::vector<float>(300, 0));
  const std::int64_t n = 300, two = 2;
  ASSERT_OK(kernel.Launch(stream_->get(), TensorView::Strided(index.data(), DType::kInt32, &n, &two, 1),
                          testing::View(table), testing::View(y)));
  std::vector<float> out = Read(y);
  for (std::size_t i = 0; i < 300; ++i) EXPECT_EQ(out[i], static_cast<float>(10 + i % 4)) << i;
  EXPECT_EQ(policy_.store->List()->front().tuned_at, "N=512, T=4");
}

TEST_F(StridedVariantTest, AWarmUpOfABucketIsMadeAtItsBoundAndOfDTypesThatFollowAnothers) {
  KernelDefinition definition("copied");
  auto source = [](const Config&, const Problem& p) {
    return KernelSource::CpuCpp(std::string("typedef ") + (p.dtype(0) == DType::kInt16 ? "short" : "int") +
                                    " T;\nstatic void copied(const tuneonce_block&, T* y, const T* x, int n) {\n"
                                    "  for (int i = 0; i < n; ++i) y[i] = x[i];\n}\nTUNEONCE_CPU_KERNEL(copied);",
                                "copied");
  };
  definition.Key(KeyOf("N").NextPow2())
      .Parameters({Out("y", SameDTypeAs("x"), {"N"}), In("x", {"N"}).ForWarmup(1), DimValue("N")})
      .AddVariant(Variant(source).Grid(Grid::Fixed(1)));
  TunedKernel kernel = Create(definition);
  CUstream stream = stream_->get();
  ASSERT_OK(kernel.Warmup(stream, {{{"N", 100}, {"x", kInt16}}}));
  EXPECT_EQ(policy_.store->List()->front().tuned_at, "N=128");
  EXPECT_EQ(policy_.store->List()->front().key.key_text, "N<=128, x:int16");
  DeviceBuffer x = Counting(100), y = Counting(100);
  TensorView in = TensorView::Contiguous(x.data(), DType::kInt16, {100});
  ASSERT_OK(kernel.Launch(stream, TensorView::Contiguous(y.data(), DType::kInt16, {100}), in));
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_ERROR(kernel.Warmup(stream, {{{"N", 100}, {"y", kInt32}, {"x", kInt16}}}), StatusCode::kInvalidArgument,
               "warm-up: parameter 'y' needs a dtype, which must be int16");
  EXPECT_ERROR(kernel.Warmup(stream, {{{"N", 100}}}), StatusCode::kInvalidArgument, "parameter 'y' needs a dtype");
}

}  // namespace
}  // namespace tuneonce
