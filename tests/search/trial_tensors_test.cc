#include "search/trial_tensors.h"

#include "testing/device_test.h"
#include "testing/fault_injection.h"
#include "tuneonce/device.h"

namespace tuneonce {
namespace {

class TrialTensorsTest : public testing::CpuDeviceTest {
 protected:
  /// Binds raw buffers to parameters with these accesses.
  void Bind(const std::vector<Access>& accesses, const std::vector<TensorView>& views) {
    std::vector<Parameter> parameters;
    std::vector<Argument> arguments;
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      parameters.push_back(In("p" + std::to_string(i), {}));
      parameters.back().access = accesses[i];
      arguments.emplace_back(views[i]);
    }
    definition_.Parameters(parameters).AddVariant(Variant([](const Config&, const Problem&) {
                                                    return KernelSource();
                                                  }).Grid(Grid::Fixed(1)));
    ASSERT_OK(definition_.Validate());
    ASSERT_OK(CallBinder(definition_).Bind(arguments.data(), arguments.size(), &call_));
  }
  CUdeviceptr Trial(const TrialTensors& tensors, std::size_t parameter) {
    return reinterpret_cast<CUdeviceptr>(tensors.trial_call().tensor(parameter).data);
  }

  Result<TrialTensors> Make(std::size_t budget = 0) {
    memory_.emplace(*TrialMemory::Create(api(), budget));
    comparer_.emplace(stream_->view());
    inputs_.emplace(*memory_, *comparer_, stream_->view());
    return TrialTensors::Create(definition_, call_, *memory_, *inputs_, *comparer_, stream_->view());
  }
  void Write(CUdeviceptr address, std::size_t bytes) {
    RelaxedDriver driver(api());
    ASSERT_EQ(driver->MemsetD8Async(address, 0xff, bytes, stream_->get()), CUDA_SUCCESS);
  }

  KernelDefinition definition_{"k"};
  BoundCall call_;
  std::optional<TrialMemory> memory_;
  std::optional<ArrayComparer> comparer_;
  std::optional<InputCopies> inputs_;
};

TEST_F(TrialTensorsTest, OutputsMoveAndInOutsStartFromTheirOriginalBytes) {
  DeviceBuffer in = Floats({1, 2});
  DeviceBuffer inout = Floats({3, 4});
  DeviceBuffer out = Floats({5, 6});
  std::vector<TensorView> views = {TensorView::Raw(in.data(), 8), TensorView::Raw(inout.data(), 8),
                                   TensorView::Raw(out.data(), 8)};
  Bind({Access::kIn, Access::kInOut, Access::kOut}, views);
  Result<TrialTensors> tensors = Make();
  ASSERT_OK(tensors);
  EXPECT_NE(Trial(*tensors, 0), in.get()) << "trials read a copy";
  EXPECT_NE(Trial(*tensors, 1), inout.get());
  EXPECT_NE(Trial(*tensors, 2), out.get());
  EXPECT_TRUE(tensors->needs_restore());
  // Two trials that spoil their scratch: each starts from the original, and the caller's data is never touched.
  RelaxedDriver driver(api());
  for (int trial = 0; trial < 2; ++trial) {
    ASSERT_OK(tensors->Restore());
    DeviceBuffer seen = Floats({0, 0});
    ASSERT_OK(seen.CopyFromDevice(Trial(*tensors, 1), 8));
    EXPECT_EQ(Read(seen), (std::vector<float>{3, 4}));
    ASSERT_EQ(driver->MemsetD8Async(Trial(*tensors, 1), 0xff, 8, stream_->get()), CUDA_SUCCESS);
    ASSERT_EQ(driver->MemsetD8Async(Trial(*tensors, 2), 0xff, 8, stream_->get()), CUDA_SUCCESS);
  }
  EXPECT_EQ(Read(inout), (std::vector<float>{3, 4}));
  EXPECT_EQ(Read(out), (std::vector<float>{5, 6}));
}

TEST_F(TrialTensorsTest, WhatSharesMemoryKeepsSharingIt) {
  DeviceBuffer all = Floats({1, 2, 3, 4});
  auto at = [&](int floats) { return static_cast<char*>(all.data()) + 4 * floats; };
  std::vector<TensorView> views = {TensorView::Raw(at(0), 8), TensorView::Raw(at(1), 8)};
  Bind({Access::kIn, Access::kOut}, views);
  Result<TrialTensors> tensors = Make();
  ASSERT_OK(tensors);
  EXPECT_NE(Trial(*tensors, 0), all.get()) << "an input that overlaps an output moves with it";
  EXPECT_EQ(Trial(*tensors, 1) - Trial(*tensors, 0), 4u);
  EXPECT_TRUE(tensors->needs_restore());
}

TEST_F(TrialTensorsTest, OneTensorHasOneCopy) {
  DeviceBuffer in = Floats({1});
  std::vector<TensorView> views = {TensorView::Raw(in.data(), 4), TensorView::Raw(in.data(), 4)};
  Bind({Access::kIn, Access::kIn}, views);
  Result<TrialTensors> tensors = Make();
  ASSERT_OK(tensors);
  EXPECT_NE(Trial(*tensors, 1), in.get());
  EXPECT_EQ(Trial(*tensors, 1), Trial(*tensors, 0));
  EXPECT_FALSE(tensors->needs_restore());
}

TEST_F(TrialTensorsTest, AnOutputWithoutASizeIsAnError) {
  DeviceBuffer out = Floats({1});
  std::vector<TensorView> views = {TensorView::Raw(out.data(), 0)};
  Bind({Access::kOut}, views);
  EXPECT_ERROR(Make(), StatusCode::kInvalidArgument,
               "parameter 'p0': an output without a size cannot be tuned: pass {pointer, bytes}");
}

TEST_F(TrialTensorsTest, AnOutputOfMoreElementsThanMemoryIsAnError) {
  DeviceBuffer out = Floats({1, 2, 3});
  auto output = [&](std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
    return TensorView::Strided(out.data(), DType::kFloat32, shape.data(), strides.data(), 2);
  };
  auto made = [&](const TensorView& tensor, Access access) {
    definition_ = KernelDefinition("k");
    std::vector<TensorView> views = {tensor};
    Bind({access}, views);
    return Make();
  };
  // Comparing each element would take hours.
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  for (Access access : {Access::kOut, Access::kInOut}) {
    EXPECT_ERROR(made(output({kMany, 2}, {0, 1}), access), StatusCode::kInvalidArgument,
                 "parameter 'p0': float32[1099511627776, 2] has more elements than its 8 bytes: pass an output whose "
                 "elements do not share memory");
  }
  EXPECT_ERROR(made(output({2, 3}, {1, 0}), Access::kOut), StatusCode::kInvalidArgument, "more elements than");
  EXPECT_ERROR(made(output({2, 2}, {1, 1}), Access::kOut), StatusCode::kInvalidArgument, "more elements than");
  EXPECT_OK(made(output({1, 3}, {0, 1}), Access::kOut));
  EXPECT_OK(made(output({2, 3}, {0, 1}), Access::kIn));
}

TEST_F(TrialTensorsTest, MissingMemoryIsReportedAndNothingLeaks) {
  DeviceBuffer out = Floats({1});
  std::vector<TensorView> views = {TensorView::Raw(out.data(), 4), TensorView::Raw(out.data(), std::size_t{1} << 50)};
  Bind({Access::kOut, Access::kOut}, views);
  EXPECT_ERROR(Make(), StatusCode::kResourceExhausted, "exceed the search's memory budget");
}

TEST_F(TrialTensorsTest, TensorsKeepTheirAlignment) {
  DeviceBuffer all = Floats(std::vector<float>(300, 1));
  for (std::size_t offset : {0, 4, 12, 252, 260}) {
    definition_ = KernelDefinition("k");
    std::vector<TensorView> views = {TensorView::Raw(static_cast<char*>(all.data()) + offset, 8),
                                     TensorView::Raw(static_cast<char*>(all.data()) + 512 + offset, 8)};
    Bind({Access::kIn, Access::kOut}, views);
    Result<TrialTensors> tensors = Make();
    ASSERT_OK(tensors);
    for (std::size_t i : {0, 1}) {
      EXPECT_EQ(Trial(*tensors, i) % 256, reinterpret_cast<CUdeviceptr>(views[i].data) % 256) << offset;
    }
  }
}

TEST_F(TrialTensorsTest, WhatATrialWritesBesideItsOutputsIsFoundAndMended) {
  DeviceBuffer in = Floats({1, 2});
  DeviceBuffer out = Floats({5, 6, 7});
  std::vector<TensorView> views = {TensorView::Raw(in.data(), 8), TensorView::Raw(out.data(), 12)};
  Bind({Access::kIn, Access::kOut}, views);
  Result<TrialTensors> tensors = Make();
  ASSERT_OK(tensors);
  CUdeviceptr x = Trial(*tensors, 0), y = Trial(*tensors, 1);
  struct Case {
    CUdeviceptr address;
    std::size_t bytes;
    const char* message;
  };
  constexpr std::size_t kFar = 16 << 10;
  for (const Case& c :
       {Case{y, 12, ""}, Case{y - 1, 1, "it wrote before 'p1'"}, Case{y + 12, 1, "it wrote behind 'p1'"},
        Case{y - kFar, 4, "it wrote before 'p1'"}, Case{y + kFar, 4, "it wrote behind 'p1'"},
        Case{x + 7, 1, "the kernel wrote to its input 'p0'"}, Case{x - 1, 1, "it wrote before input 'p0'"},
        Case{x + kFar, 1, "it wrote behind input 'p0'"}}) {
    Write(c.address, c.bytes);
    Result<std::optional<StrayWrite>> found = tensors->FindStrayWrite(nullptr);
    ASSERT_OK(found);
    EXPECT_EQ(*found ? (*found)->message : "", c.message);
    EXPECT_FALSE(tensors->FindStrayWrite(nullptr)->has_value()) << "it was mended: " << c.message;
  }
  DeviceBuffer seen = Floats({0, 0});
  ASSERT_OK(seen.CopyFromDevice(x, 8));
  EXPECT_EQ(Read(seen), (std::vector<float>{1, 2}));
  EXPECT_EQ(Read(in), (std::vector<float>{1, 2}));
}

TEST_F(TrialTensorsTest, GapsAreLookedAtOnceTheyWereFilledAndAreMendedByTheNextFilling) {
  DeviceBuffer in = Floats({1, 2}), out = Floats(std::vector<float>(12, 5));
  std::int64_t shape[] = {3, 2}, strides[] = {5, 1};
  std::vector<TensorView> views = {TensorView::Raw(in.data(), 8),
                                   TensorView::Strided(out.data(), kFloat32, shape, strides, 2)};
  Bind({Access::kIn, Access::kOut}, views);
  Result<TrialTensors> tensors = Make();
  ASSERT_OK(tensors);
  constexpr unsigned char kFill = ArrayComparer::kPoisons[1];
  ASSERT_OK(tensors->Poison(kFill));
  CUdeviceptr y = Trial(*tensors, 1);
  for (int row : {0, 1, 2}) Write(y + static_cast<CUdeviceptr>(row) * 20, 8);
  EXPECT_FALSE(tensors->FindStrayWrite(nullptr, kFill)->has_value()) << "these are its elements";
  Write(y + 28, 1);
  EXPECT_FALSE(tensors->FindStrayWrite(nullptr)->has_value()) << "what is there is not known";
  Result<std::optional<StrayWrite>> found = tensors->FindStrayWrite(nullptr, kFill);
  ASSERT_TRUE(found.ok() && *found);
  EXPECT_EQ((*found)->kind, OutcomeKind::kOutOfBounds);
  EXPECT_EQ((*found)->message,
            "the kernel wrote between the rows of 'p1': 4 bytes, the first 28 bytes after its beginning");
  ASSERT_OK(tensors->Poison(kFill));
  EXPECT_FALSE(tensors->FindStrayWrite(nullptr, kFill)->has_value());
}

TEST_F(TrialTensorsTest, WithoutMemoryForACopyTrialsRunOnTheOriginal) {
  DeviceBuffer in = Floats(std::vector<float>(1000, 1));
  DeviceBuffer out = Floats({5});
  std::vector<TensorView> views = {TensorView::Raw(in.data(), 4000), TensorView::Raw(out.data(), 4)};
  Bind({Access::kIn, Access::kOut}, views);
  Result<TrialTensors> tensors = Make(/*budget=*/std::size_t{140} << 10);  // Enough for one tensor and its guards.
  ASSERT_OK(tensors);
  EXPECT_EQ(Trial(*tensors, 0), in.get());
  EXPECT_TRUE(inputs_->lacks_copies());
  Write(in.get() + 8, 1);
  Result<std::optional<StrayWrite>> found = tensors->FindStrayWrite(nullptr);
  ASSERT_TRUE(found.ok() && *found);
  EXPECT_EQ((*found)->kind, OutcomeKind::kWroteInput);
  EXPECT_NE((*found)->message.find("the caller's tensor is damaged"), std::string::npos) << (*found)->message;
  EXPECT_EQ(inputs_->damaged(), "'p0'");
  EXPECT_FALSE(tensors->FindStrayWrite(nullptr)->has_value()) << "the next candidate is not blamed";
}

TEST_F(TrialTensorsTest, CopiesThatAreDroppedAreFollowed) {
  DeviceBuffer in = Floats(std::vector<float>(1000, 1));
  std::vector<TensorView> views = {TensorView::Raw(static_cast<char*>(in.data()) + 8, 64),
                                   TensorView::Raw(in.data(), 64)};
  Bind({Access::kIn, Access::kIn}, views);
  Result<TrialTensors> tensors = Make();
  ASSERT_OK(tensors);
  EXPECT_EQ(Trial(*tensors, 0) - Trial(*tensors, 1), 8u);
  EXPECT_GT(inputs_->copied_bytes(), 0u);
  inputs_->Drop();
  tensors->FollowInputs();
  EXPECT_EQ(Trial(*tensors, 0), in.get() + 8);
  EXPECT_EQ(inputs_->copied_bytes(), 0u);
  EXPECT_FALSE(tensors->FindStrayWrite(nullptr)->has_value());
}

TEST_F(TrialTensorsTest, MemoryIsCountedWhileItIsHeld) {
  TrialMemory memory = *TrialMemory::Create(api(), 1000);
  Result<TrialMemory::Block> a = memory.Allocate(stream_->view(), 600);
  ASSERT_OK(a);
  EXPECT_TRUE(memory.Holds(a->buffer.get() + 599));
  EXPECT_FALSE(memory.Holds(a->buffer.get() + 600));
  EXPECT_ERROR(memory.Allocate(stream_->view(), 401), StatusCode::kResourceExhausted, "600 of 1000 bytes are in use");
  {
    Result<TrialMemory::Charge> code = memory.Count(300);
    ASSERT_OK(code);
    EXPECT_ERROR(memory.Count(101), StatusCode::kResourceExhausted, "memory budget");
  }
  CUdeviceptr was = a->buffer.get();
  a = memory.Allocate(stream_->view(), 400);
  EXPECT_FALSE(memory.Holds(was) && was != a->buffer.get());
  EXPECT_OK(memory.Count(600));
  EXPECT_EQ(memory.peak_bytes(), 1000u);
}

}  // namespace
}  // namespace tuneonce
