#include "tuneonce/kernel/split_buffer.h"

#include "testing/device_test.h"
#include "tuneonce/cuda/fault_injection.h"

namespace tuneonce {
namespace {

class SplitBufferTest : public testing::CpuDeviceTest {
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
    definition_.Parameters(parameters)
        .Variant([](const Config&, const Problem&) { return KernelSource(); }, nullptr, Grid::Fixed(1));
    ASSERT_OK(definition_.Validate());
    ASSERT_OK(CallBinder(definition_).Bind(arguments.data(), arguments.size(), &call_));
  }
  CUdeviceptr Trial(const SplitBuffers& split, std::size_t parameter) {
    return reinterpret_cast<CUdeviceptr>(split.trial_call().tensor(parameter).data);
  }

  KernelDefinition definition_{"k", "1"};
  BoundCall call_;
};

TEST_F(SplitBufferTest, OutputsMoveAndInOutsStartFromTheirOriginalBytes) {
  DeviceBuffer in = Floats({1, 2});
  DeviceBuffer inout = Floats({3, 4});
  DeviceBuffer out = Floats({5, 6});
  std::vector<TensorView> views = {TensorView::Raw(in.data(), 8), TensorView::Raw(inout.data(), 8),
                                   TensorView::Raw(out.data(), 8)};
  Bind({Access::kIn, Access::kInOut, Access::kOut}, views);
  Result<SplitBuffers> split = SplitBuffers::Create(definition_, call_, stream_->view());
  ASSERT_OK(split);
  EXPECT_EQ(Trial(*split, 0), in.get()) << "inputs stay where they are";
  EXPECT_NE(Trial(*split, 1), inout.get());
  EXPECT_NE(Trial(*split, 2), out.get());
  EXPECT_TRUE(split->needs_restore());
  // Two trials that spoil their scratch: each starts from the original, and the caller's data is never touched.
  RelaxedDriver driver(api());
  for (int trial = 0; trial < 2; ++trial) {
    ASSERT_OK(split->Restore());
    DeviceBuffer seen = Floats({0, 0});
    ASSERT_OK(seen.CopyFromDevice(Trial(*split, 1), 8));
    EXPECT_EQ(Read(seen), (std::vector<float>{3, 4}));
    ASSERT_EQ(driver->MemsetD8Async(Trial(*split, 1), 0xff, 8, stream_->get()), CUDA_SUCCESS);
    ASSERT_EQ(driver->MemsetD8Async(Trial(*split, 2), 0xff, 8, stream_->get()), CUDA_SUCCESS);
  }
  EXPECT_EQ(Read(inout), (std::vector<float>{3, 4}));
  EXPECT_EQ(Read(out), (std::vector<float>{5, 6}));
}

TEST_F(SplitBufferTest, WhatSharesMemoryKeepsSharingIt) {
  DeviceBuffer all = Floats({1, 2, 3, 4});
  auto at = [&](int floats) { return static_cast<char*>(all.data()) + 4 * floats; };
  std::vector<TensorView> views = {TensorView::Raw(at(0), 8), TensorView::Raw(at(1), 8)};
  Bind({Access::kIn, Access::kOut}, views);
  Result<SplitBuffers> split = SplitBuffers::Create(definition_, call_, stream_->view());
  ASSERT_OK(split);
  EXPECT_NE(Trial(*split, 0), all.get()) << "an input that overlaps an output moves with it";
  EXPECT_EQ(Trial(*split, 1) - Trial(*split, 0), 4u);
  EXPECT_TRUE(split->needs_restore());
}

TEST_F(SplitBufferTest, NothingWrittenMeansNothingMoved) {
  DeviceBuffer in = Floats({1});
  std::vector<TensorView> views = {TensorView::Raw(in.data(), 4), TensorView::Raw(in.data(), 4)};
  Bind({Access::kIn, Access::kIn}, views);
  Result<SplitBuffers> split = SplitBuffers::Create(definition_, call_, stream_->view());
  ASSERT_OK(split);
  EXPECT_EQ(Trial(*split, 1), in.get());
  EXPECT_FALSE(split->needs_restore());
}

TEST_F(SplitBufferTest, AnOutputWithoutASizeIsAnError) {
  DeviceBuffer out = Floats({1});
  std::vector<TensorView> views = {TensorView::Raw(out.data(), 0)};
  Bind({Access::kOut}, views);
  EXPECT_ERROR(SplitBuffers::Create(definition_, call_, stream_->view()), StatusCode::kInvalidArgument,
               "parameter 'p0': an output without a size cannot be tuned: pass {pointer, bytes}");
}

TEST_F(SplitBufferTest, MissingMemoryIsReportedAndNothingLeaks) {
  DeviceBuffer out = Floats({1});
  std::vector<TensorView> views = {TensorView::Raw(out.data(), 4), TensorView::Raw(out.data(), std::size_t{1} << 50)};
  Bind({Access::kOut, Access::kOut}, views);
  EXPECT_ERROR(SplitBuffers::Create(definition_, call_, stream_->view()), StatusCode::kResourceExhausted,
               "out of memory");
}

}  // namespace
}  // namespace tuneonce
