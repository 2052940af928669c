// Tensors that are passed as tensor maps (TMA): encoded per address and shape, and remembered.
#include <thread>

#include "cuda/driver_api.h"
#include "cuda/graph.h"
#include "launch/tensor_map_cache.h"
#include "runtime/tuned_kernel_on.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "tuneonce/device.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using testing::View;

/// y = 2 x, by boxes of the map; what the map says of a box goes into the element behind y.
constexpr char kTwice[] = R"(
static void twice(const tuneonce_block& block, tuneonce_tensor_map x, float* y, int m, int n) {
  for (unsigned r = block.y * x.box[1]; r < (block.y + 1) * x.box[1] && r < x.extent[1]; ++r) {
    const float* row = (const float*)((const char*)x.address + r * x.stride_bytes[0]);
    for (unsigned c = block.x * x.box[0]; c < (block.x + 1) * x.box[0] && c < x.extent[0]; ++c) {
      y[r * (unsigned)n + c] = row[c] * 2;
    }
  }
}
TUNEONCE_CPU_KERNEL(twice);
)";
constexpr char kGeneral[] = R"(
static void general(const tuneonce_block& block, const float* x, float* y, int m, int n, int stride) {
  if (block.x != 0 || block.y != 0) return;
  for (int r = 0; r < m; ++r) for (int c = 0; c < n; ++c) y[r * n + c] = x[r * stride + c] * 2;
}
TUNEONCE_CPU_KERNEL(general);
)";

int num_encoded = 0;
PFN_cuTensorMapEncodeTiled_v12000 real_encode = nullptr;
CUresult CountingEncode(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                        const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box,
                        const cuuint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                        CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  ++num_encoded;
  return real_encode(map, type, rank, address, extents, strides, box, steps, interleave, swizzle, promotion, fill);
}

class DescriptorTest : public testing::CpuDeviceTest {
 protected:
  DescriptorTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.search.max_rounds = 1;
    space_.SetBaseline({{rows_, 4}, {columns_, 8}});
  }
  void SetUp() override {
    CpuDeviceTest::SetUp();
    DriverTable table = UnguardedTable(api());
    real_encode = table.TensorMapEncodeTiled;
    table.TensorMapEncodeTiled = CountingEncode;
    counting_ = std::make_unique<DriverApi>(table, "counting", true);
    table.TensorMapEncodeTiled = nullptr;
    without_ = std::make_unique<DriverApi>(table, "an older driver", true);
  }
  KernelDefinition Definition(TensorMap map, bool with_general = false) const {
    KernelDefinition definition("twice");
    definition
        .Parameters({In("x", kFloat32, {"M", "N"}), Out("y", kFloat32, {"M", "N"}),
                     Descriptor("x_map", "x", std::move(map)), DimValue("M"), DimValue("N"), StrideValue("x", 0)})
        .Space(space_)
        .Grid(Grid::TileCoverage({{"N", columns_}, {"M", rows_}}))
        .AddVariant(CpuCpp(kTwice, "twice").Named("map").KernelArgs({"x_map", "y", "M", "N"}));
    if (with_general) {
      definition.AddVariant(
          CpuCpp(kGeneral, "general").Named("general").KernelArgs({"x", "y", "M", "N", "x_stride_0"}));
    }
    return definition;
  }
  TensorMap Boxes() const { return TensorMap{{rows_, columns_}}; }
  TunedKernel Create(const KernelDefinition& definition, const DriverApi& on) {
    Result<TunedKernel> kernel = TunedKernelOn::Create(*Device::Get(on, 0), definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  void ExpectTwice(TunedKernel& kernel, const TensorView& x, std::int64_t m, std::int64_t n, float value) {
    DeviceBuffer y = Floats(std::vector<float>(static_cast<std::size_t>(m * n), 0));
    ASSERT_OK(kernel.Launch(stream_->get(), x, TensorView::Contiguous(y.data(), DType::kFloat32, {m, n})));
    EXPECT_EQ(Read(y), std::vector<float>(static_cast<std::size_t>(m * n), 2 * value));
  }

  SearchSpace space_;
  IntAxis rows_ = space_.AddAxis("ROWS", {4, 2});
  IntAxis columns_ = space_.AddAxis("COLUMNS", {8});
  AutotunePolicy policy_;
  std::unique_ptr<DriverApi> counting_, without_;
};

TEST_F(DescriptorTest, IsEncodedOncePerAddressAndShape) {
  TunedKernel kernel = Create(Definition(Boxes()).Key(KeyOf("M").NextPow2(), KeyOf("N")), *counting_);
  DeviceBuffer a = Floats(std::vector<float>(800, 3)), b = Floats(std::vector<float>(800, 5));
  auto view = [](const DeviceBuffer& x, std::int64_t m) {
    return TensorView::Contiguous(x.data(), DType::kFloat32, {m, 20});
  };
  ExpectTwice(kernel, view(a, 9), 9, 20, 3);
  EXPECT_EQ(kernel.counters().tunes, 1);
  ExpectTwice(kernel, view(a, 9), 9, 20, 3);
  num_encoded = 0;
  for (int i = 0; i < 5; ++i) ExpectTwice(kernel, view(a, 9), 9, 20, 3);
  EXPECT_EQ(num_encoded, 0) << "remembered";
  for (int i = 0; i < 3; ++i) {
    ExpectTwice(kernel, view(b, 9), 9, 20, 5);
    ExpectTwice(kernel, view(a, 9), 9, 20, 3);
  }
  EXPECT_EQ(num_encoded, 1) << "another address";
  for (int i = 0; i < 3; ++i) ExpectTwice(kernel, view(a, 16), 16, 20, 3);
  EXPECT_EQ(num_encoded, 2) << "another shape of the bucket";
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_F(DescriptorTest, AGraphHoldsTheMapOfItsTensorWhateverIsLaunchedBesides) {
  TunedKernel kernel = Create(Definition(Boxes()), *counting_);
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"M", 9}, {"N", 20}}}));
  DeviceBuffer a = Floats(std::vector<float>(180, 3)), b = Floats(std::vector<float>(180, 5));
  DeviceBuffer y = Floats(std::vector<float>(180, 0));
  auto view = [](const DeviceBuffer& of) { return TensorView::Contiguous(of.data(), DType::kFloat32, {9, 20}); };
  Result<GraphExec> graph =
      GraphExec::Capture(stream_->view(), [&](CUstream stream) { return kernel.Launch(stream, view(a), view(y)); });
  ASSERT_OK(graph);
  ExpectTwice(kernel, view(b), 9, 20, 5);
  EXPECT_EQ(Read(y), std::vector<float>(180, 0)) << "a capture runs nothing";
  ASSERT_OK(graph->Launch(stream_->get()));
  EXPECT_EQ(Read(y), std::vector<float>(180, 6));
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_F(DescriptorTest, AWarmUpByShapeAndNothingToLaunch) {
  TunedKernel kernel = Create(Definition(Boxes()), *counting_);
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"M", 9}, {"N", 20}}}));
  EXPECT_EQ(kernel.counters().tunes, 1);
  DeviceBuffer x = Floats(std::vector<float>(180, 3));
  ExpectTwice(kernel, TensorView::Contiguous(x.data(), DType::kFloat32, {9, 20}), 9, 20, 3);
  EXPECT_EQ(kernel.counters().tunes, 1);
  TensorView none = TensorView::Contiguous(x.data(), DType::kFloat32, {0, 20});
  num_encoded = 0;
  EXPECT_OK(kernel.Launch(stream_->get(), none, none));
  EXPECT_EQ(num_encoded, 0);
}

TEST_F(DescriptorTest, ATensorThatNoMapDescribesRunsByTheVariantBehind) {
  DeviceBuffer x = Floats(std::vector<float>(1000, 3));
  const std::int64_t shape[] = {9, 20};
  struct Case {
    int first;
    std::int64_t stride;
    bool fits;
    const char* message;
  };
  const Case cases[] = {{0, 20, true, ""},
                        {0, 24, true, ""},
                        {1, 20, false, "'x' is not aligned to 16 bytes"},
                        {0, 21, false, "dimension 0 of 'x' has stride 21, which 4 does not divide"}};
  TunedKernel both = Create(Definition(Boxes(), /*with_general=*/true), *counting_);
  TunedKernel alone = Create(Definition(Boxes()), *counting_);
  for (const Case& each : cases) {
    const std::int64_t strides[] = {each.stride, 1};
    TensorView view =
        TensorView::Strided(static_cast<float*>(x.data()) + each.first, DType::kFloat32, shape, strides, 2);
    ExpectTwice(both, view, 9, 20, 3);
    if (each.fits) {
      ExpectTwice(alone, view, 9, 20, 3);
      continue;
    }
    DeviceBuffer y = Floats(std::vector<float>(180, 0));
    EXPECT_ERROR(alone.Launch(stream_->get(), view, TensorView::Contiguous(y.data(), DType::kFloat32, {9, 20})),
                 StatusCode::kInvalidArgument, each.message);
  }
}

TEST_F(DescriptorTest, WhatNoDefinitionCanHaveIsNamed) {
  struct Case {
    TensorMap map;
    const char* message;
  };
  const Case cases[] = {
      {TensorMap{{rows_}}, "parameter 'x_map': the box of the tensor map has 1 entries, but 'x' has rank 2"},
      {TensorMap{{rows_, "N"}}, "the box of the tensor map must use axes and constants of at most 256, not N"},
      {TensorMap{{rows_, 257}}, "the box of the tensor map must use axes and constants of at most 256, not 257"},
      {TensorMap{{0, 8}}, "box: the constant 0 is too small; at least 1 is possible"},
      {TensorMap{{4, 8}, {1, 9}}, "the steps of the tensor map must use axes and constants of at most 8, not 9"},
      {TensorMap{{4, NumSms()}},
       "the box of the tensor map must use axes and constants of at most 256, not device.num_sms"},
  };
  for (const Case& each : cases) {
    EXPECT_ERROR(TunedKernel::Create(Definition(each.map), policy_), StatusCode::kInvalidArgument, each.message);
  }
  KernelDefinition other = Definition(Boxes());
  std::vector<Parameter> parameters = other.parameters();
  parameters[2].tensor = "z";
  EXPECT_ERROR(TunedKernel::Create(other.Parameters(parameters), policy_), StatusCode::kInvalidArgument,
               "parameter 'x_map': a descriptor needs a tensor with dims, but 'z' has no dims");
}

TEST_F(DescriptorTest, WhatTheConfigOrTheDriverCannotDoIsThatCandidatesFailure) {
  DeviceBuffer x = Floats(std::vector<float>(180, 3)), y = Floats(std::vector<float>(180, 0));
  TensorView in = TensorView::Contiguous(x.data(), DType::kFloat32, {9, 20});
  TensorView out = TensorView::Contiguous(y.data(), DType::kFloat32, {9, 20});
  TensorMap odd{{rows_, 3}};
  EXPECT_ERROR(Create(Definition(odd), *counting_).Launch(stream_->get(), in, out), StatusCode::kInternal,
               "tensor map 'x_map' of 'x': the innermost 3 elements of a box are 12 bytes, which 16 does not divide");
  TensorMap wide{{rows_, 16}};
  wide.swizzle = TensorMap::Swizzle::k32Bytes;
  EXPECT_ERROR(Create(Definition(wide), *counting_).Launch(stream_->get(), in, out), StatusCode::kInternal,
               "are 64 bytes, more than a swizzle of 32");
  EXPECT_ERROR(Create(Definition(Boxes()), *without_).Launch(stream_->get(), in, out), StatusCode::kInternal,
               "this driver has no tensor maps");
  TunedKernel either = Create(Definition(Boxes(), /*with_general=*/true), *counting_);
  EXPECT_OK(either.Launch(stream_->get(), in, out));
}

TEST(TensorMapCacheTest, AReaderNeverGetsHalfOfAMapNorAnothersWhileOthersWrite) {
  TensorMapCache cache(1);
  auto view = [](std::uintptr_t address) {
    return TensorView::Contiguous(reinterpret_cast<void*>(address), DType::kFloat32, {4, 4});
  };
  // Far more addresses than places: they take each other's.
  constexpr std::uintptr_t kAddresses = 2000;
  std::atomic<int> wrong{0};
  auto work = [&](std::uintptr_t first) {
    for (int round = 0; round < 20; ++round) {
      for (std::uintptr_t i = first; i < kAddresses; i += 3) {
        CUtensorMap map;
        if (cache.Find(0, view(i * 16 + 16), &map)) {
          for (cuuint64_t word : map.opaque) wrong += word == i ? 0 : 1;
        } else {
          for (cuuint64_t& word : map.opaque) word = i;
          cache.Put(0, view(i * 16 + 16), &map);
        }
      }
    }
  };
  std::thread a(work, 0), b(work, 1), c(work, 0);
  a.join();
  b.join();
  c.join();
  EXPECT_EQ(wrong, 0);
  CUtensorMap map;
  for (cuuint64_t& word : map.opaque) word = 7;
  cache.Put(0, view(64), &map);
  EXPECT_TRUE(cache.Find(0, view(64), &map));
  EXPECT_FALSE(cache.Find(0, TensorView::Contiguous(reinterpret_cast<void*>(64), DType::kFloat32, {4, 5}), &map));
  EXPECT_FALSE(cache.Find(0, TensorView::Contiguous(reinterpret_cast<void*>(64), DType::kInt32, {4, 4}), &map));
}

TEST_F(DescriptorTest, AWarmUpByShapeMakesAKernelReadyThatTakesATensorMap) {
  TunedKernel kernel =
      *TunedKernelOn::Create(*Device::Get(*counting_, 0), Definition(TensorMap{{rows_, columns_}}), policy_);
  Result<std::vector<WarmedKey>> warmed = WarmupAll(stream_->get(), {{&kernel, {{{"M", 8}, {"N", 16}}}}});
  ASSERT_OK(warmed);
  EXPECT_EQ((*warmed)[0].state, WarmedKey::State::kTuned) << (*warmed)[0].status.ToString();
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"M", 16}, {"N", 16}}}));
  EXPECT_EQ(kernel.counters().tunes, 2);
}

}  // namespace
}  // namespace tuneonce
