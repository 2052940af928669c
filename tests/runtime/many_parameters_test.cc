// Kernels with as many parameters as a definition allows.
#include <string>
#include <vector>

#include "store/memory_store.h"
#include "testing/device_test.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

// y[i] = factor * x[i] + the sum of k * s_k.
constexpr int kScalars = kMaxParameters - 4;

std::string Source() {
  std::string parameters, sum;
  for (int k = 0; k < kScalars; ++k) {
    parameters += ", int s" + std::to_string(k);
    sum += " + " + std::to_string(k) + " * s" + std::to_string(k);
  }
  return "static void k(const tuneonce_block&, const float* x, float* y, float factor, int n" + parameters +
         ") {\n  for (int i = 0; i < n; ++i) y[i] = factor * x[i]" + sum + ";\n}\nTUNEONCE_CPU_KERNEL(k);";
}

KernelDefinition Define(int num_scalars) {
  std::vector<Parameter> parameters = {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor"),
                                       DimValue("N")};
  for (int k = 0; k < num_scalars; ++k) parameters.push_back(Scalar<std::int32_t>("s" + std::to_string(k)));
  std::vector<KeyPart> key = {KeyOf("N")};
  for (int k = 0; k < num_scalars; ++k) key.push_back(ValueOf("s" + std::to_string(k)));
  SearchSpace space;
  IntAxis copy = space.AddAxis("COPY", std::vector<std::int64_t>{0, 1});
  space.SetBaseline({{copy, 0}});
  KernelDefinition definition("many");
  definition.Parameters(parameters).Space(space).Key(key).Grid(Grid::Fixed(1));
  definition.AddVariant(
      Variant([=](const Config& c) { return KernelSource::CpuCpp(Source(), "k").Define("COPY", c[copy]); }));
  return definition;
}

using ManyParametersTest = testing::CpuDeviceTest;

TEST_F(ManyParametersTest, AKernelOfAllThatAreAllowedIsTunedStoredAndLaunched) {
  AutotunePolicy policy;
  policy.store = std::make_shared<MemoryStore>();
  policy.search.max_rounds = 1;
  for (bool is_first : {true, false}) {
    Result<TunedKernel> kernel = TunedKernel::Create(Define(kScalars), policy);
    ASSERT_OK(kernel);
    DeviceBuffer x = Floats({1, -2, 3}), y = Floats({0, 0, 0});
    const float factor = 2;
    std::vector<std::int32_t> scalars(kScalars);
    const TensorView of_x = TensorView::Contiguous(x.data(), kFloat32, {3});
    const TensorView of_y = TensorView::Contiguous(y.data(), kFloat32, {3});
    std::vector<Argument> arguments = {of_x, of_y, factor};
    float sum = 0;
    for (int k = 0; k < kScalars; ++k) {
      scalars[static_cast<std::size_t>(k)] = k % 3 - 1;
      sum += static_cast<float>(k * (k % 3 - 1));
      arguments.emplace_back(scalars[static_cast<std::size_t>(k)]);
    }
    for (int launch = 0; launch < 2; ++launch) {
      ASSERT_OK(kernel->Launch(stream_->get(), arguments));
      EXPECT_EQ(Read(y), (std::vector<float>{2 + sum, -4 + sum, 6 + sum}));
    }
    EXPECT_EQ(kernel->counters().tunes, is_first ? 1 : 0);
    EXPECT_EQ(kernel->counters().stored_hits, is_first ? 0 : 1);
    scalars.back() += 1;  // Another key.
    ASSERT_OK(kernel->Launch(stream_->get(), arguments));
    sum += kScalars - 1;
    EXPECT_EQ(Read(y), (std::vector<float>{2 + sum, -4 + sum, 6 + sum}));
  }
}

TEST_F(ManyParametersTest, OneMoreIsRefusedBeforeAnythingIsCompiled) {
  Result<TunedKernel> kernel = TunedKernel::Create(Define(kScalars + 1), AutotunePolicy());
  ASSERT_FALSE(kernel.ok());
  EXPECT_NE(kernel.status().message().find("the kernel has 129 parameters; at most 128 are possible"),
            std::string::npos)
      << kernel.status().message();
}

}  // namespace
}  // namespace tuneonce
