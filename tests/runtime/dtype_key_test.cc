// Two launches whose dtypes differ never run the same code, whatever the key's recipe names.
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "tuneonce/device.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

/// y = x, for numbers of 2 or 4 bytes each: the source has the types.
class DTypeKeyTest : public testing::CpuDeviceTest {
 protected:
  DTypeKeyTest() { policy_.store = std::make_shared<MemoryStore>(); }
  static KernelDefinition Copy() {
    KernelDefinition definition("copy");
    auto source = [](const Config&, const Problem& p) {
      auto type = [&](int parameter) { return p.dtype(parameter) == DType::kInt16 ? "short" : "int"; };
      return KernelSource::CpuCpp(std::string("static void copy(const tuneonce_block&, const ") + type(0) + "* x, " +
                                      type(1) +
                                      "* y, int n) {\n"
                                      "  for (int i = 0; i < n; ++i) y[i] = x[i];\n}\nTUNEONCE_CPU_KERNEL(copy);",
                                  "copy");
    };
    definition.Parameters({In("x", {"N"}), Out("y", {"N"}), DimValue("N")})
        .AddVariant(Variant(source).Grid(Grid::Fixed(1)));
    return definition;
  }
  void ExpectAKernelPerDType(KernelDefinition definition) {
    Result<TunedKernel> kernel = TunedKernel::Create(std::move(definition), policy_);
    ASSERT_OK(kernel);
    DeviceBuffer x = Floats(std::vector<float>(8)), y = Floats(std::vector<float>(8));
    const std::int32_t values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    ASSERT_OK(x.CopyFromHost(values, sizeof(values)));
    TensorView wide_x = TensorView::Contiguous(x.data(), DType::kInt32, {8});
    TensorView wide_y = TensorView::Contiguous(y.data(), DType::kInt32, {8});
    TensorView narrow_y = TensorView::Contiguous(y.data(), DType::kInt16, {8});
    ASSERT_OK(kernel->Launch(stream_->get(), wide_x, wide_y));
    ASSERT_OK(kernel->Launch(stream_->get(), wide_x, narrow_y));
    std::int16_t narrow[8] = {};
    ASSERT_OK(y.CopyToHost(narrow, sizeof(narrow)));
    ASSERT_OK(stream_->view().Synchronize());
    for (int i = 0; i < 8; ++i) EXPECT_EQ(narrow[i], i + 1) << i;
    EXPECT_EQ(kernel->counters().tunes, 2);
    EXPECT_EQ(policy_.store->List()->size(), 2u);
    ASSERT_OK(kernel->Launch(stream_->get(), wide_x, wide_y));
    EXPECT_EQ(kernel->counters().tunes, 2);
  }

  AutotunePolicy policy_;
};

TEST_F(DTypeKeyTest, AnExplicitKeyKeepsDTypesApart) {
  KernelDefinition definition = Copy();
  definition.Key(KeyOf("N"));
  ExpectAKernelPerDType(definition);
}

TEST_F(DTypeKeyTest, AnExplicitKeyThatNamesOneDTypeKeepsTheOthersApart) {
  KernelDefinition definition = Copy();
  definition.Key(KeyOf("N"), DTypeOf("x"));
  ExpectAKernelPerDType(definition);
}

TEST_F(DTypeKeyTest, ABucketKeepsThemApart) {
  KernelDefinition definition = Copy();
  definition.Key(KeyOf("N").NextPow2());
  ExpectAKernelPerDType(definition);
}

}  // namespace
}  // namespace tuneonce
